// Package kernel builds the GoNB kernel that a checkout pins and installs it into the checkout, and
// into the user's home only by [Checkout.Register]:
//
//	bin/gonb, bin/goimports             built from the tool lines of go.mod
//	.coupling/jupyter/data/kernels/gonb   what Jupyter reads
//
// The modules must be in Go's cache once; then nothing needs the network.
package kernel

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"coupling/lab/durable"
)

// Name is the name of the kernel in notebooks, and of GoNB where it is installed elsewhere.
const Name = "gonb"

// Tools are the programs that notebooks need: GoNB and what it calls.
var Tools = []string{"gonb", "goimports"}

// A Checkout is the folder of the module whose packages notebooks import.
type Checkout struct {
	Root string // absolute
}

// Find returns the checkout that dir ("" for the working directory) lies in:
// the nearest folder going up whose go.mod has tool lines for GoNB.
func Find(dir string) (Checkout, error) {
	root, ok := durable.Nearest(dir, func(at string) bool {
		mod, err := os.ReadFile(filepath.Join(at, "go.mod"))
		return err == nil && strings.Contains(string(mod), "janpfeifer/gonb\n")
	})
	if !ok {
		here, _ := filepath.Abs(dir)
		return Checkout{}, fmt.Errorf("kernel: no checkout at or above %s: no go.mod there has GoNB as a tool; "+
			"fix: go into a checkout of Coupling, or a project that coupling new made", here)
	}
	return Checkout{root}, nil
}

// Path returns the path of a file of the checkout.
func (c Checkout) Path(names ...string) string {
	return filepath.Join(append([]string{c.Root}, names...)...)
}

// Bin returns the folder of built tools.
func (c Checkout) Bin() string { return c.Path("bin") }

// GoNB returns the path of the kernel's program.
func (c Checkout) GoNB() string { return filepath.Join(c.Bin(), "gonb") }

// Jupyter returns the folder of all that Jupyter keeps for this checkout.
func (c Checkout) Jupyter() string { return c.Path(".coupling", "jupyter") }

// Spec returns the file that describes the kernel to Jupyter.
func (c Checkout) Spec() string {
	return filepath.Join(c.Jupyter(), "data", "kernels", Name, "kernel.json")
}

// Env returns what a process needs in its environment, beside the usual, to find the
// tools and to have Jupyter keep its files in the checkout.
func (c Checkout) Env() []string {
	return []string{
		"GOFLAGS=" + goFlags(context.Background(), c.Root), "GOWORK=",
		"PATH=" + c.Bin() + string(os.PathListSeparator) + os.Getenv("PATH"),
		"JUPYTER_DATA_DIR=" + filepath.Join(c.Jupyter(), "data"),
		"JUPYTER_CONFIG_DIR=" + filepath.Join(c.Jupyter(), "config"),
		"JUPYTER_RUNTIME_DIR=" + filepath.Join(c.Jupyter(), "runtime"),
		"IPYTHONDIR=" + filepath.Join(c.Jupyter(), "ipython"), // or it makes one in the home
	}
}

// goFlags are the user's flags for the go command as they suit cells: without
// debugging information, which halves the time to link one, and without -mod, which a workspace refuses.
func goFlags(ctx context.Context, dir string) string {
	cmd := exec.CommandContext(ctx, "go", "env", "GOFLAGS")
	cmd.Dir = dir
	out, _ := cmd.Output() // without go, the build reports it
	var keep []string
	for _, f := range strings.Fields(string(out)) {
		if !strings.HasPrefix(f, "-mod=") && !strings.HasPrefix(f, "-ldflags=") {
			keep = append(keep, f)
		}
	}
	return strings.Join(append(keep, "-ldflags=-w"), " ")
}

// Arguments returns those of GoNB beside the connection file: packages of the
// checkout are importable from cells, and errors are text, which every front end and nbconvert show.
func (c Checkout) Arguments() []string { return []string{"-raw_error", "-go_work=" + c.Root} }

// Build builds the tools, which is quick when they are there and up to date, and gets the modules that a cell may
// need: its workspace looks at more of them than the build of the project does.
func (c Checkout) Build(ctx context.Context) error {
	if out, err := c.tool(ctx, "install", "tool"); err != nil {
		return fmt.Errorf("kernel: cannot build GoNB (go install tool, in %s): %w\n%s", c.Root, err, out)
	}
	// Without a network, the cell itself reports missing modules.
	_, _ = c.tool(ctx, "mod", "download")
	return ctx.Err()
}

func (c Checkout) tool(ctx context.Context, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = c.Root
	cmd.Env = append(os.Environ(), "GOBIN="+c.Bin(), "CGO_ENABLED=0", "GOWORK=off")
	return cmd.CombinedOutput()
}

// Install builds the tools and writes the kernel's specification.
func (c Checkout) Install(ctx context.Context) error {
	if err := c.Build(ctx); err != nil {
		return err
	}
	page := filepath.Join(c.Jupyter(), "config", "custom", "custom.js") // Notebook 6 loads it
	if err := durable.Write(page, fmt.Appendf(nil, pageScript, noDeclaration, Hint(noDeclaration))); err != nil {
		return fmt.Errorf("kernel: %w", err)
	}
	return c.write(ctx, c.Spec(), "Go (gonb)")
}

// noDeclaration is how the compiler's error begins where a cell has statements without a line %%.
const noDeclaration = "expected declaration, found"

// Hint returns what to do about a cell's error, "" where the error says so itself.
func Hint(message string) string {
	if strings.Contains(message, noDeclaration) {
		return "fix: begin the cell with a line %%; statements stand below it"
	}
	return ""
}

// pageScript shows the hint below such errors in Jupyter Notebook 6, where neither GoNB nor the kernel's messages have
// a place for it. Other front ends show the error as it is.
const pageScript = `require(["notebook/js/outputarea"], ({OutputArea}) => {
	const append = OutputArea.prototype.append_error
	OutputArea.prototype.append_error = function (error) {
		if ((error.evalue || "").includes(%q)) {
			error = {...error, traceback: [...error.traceback, %q]}
		}
		return append.call(this, error)
	}
})
`

// Register registers the installed kernel with the user's own Jupyter: it writes
// share/kernels/gonb/kernel.json, where share is Jupyter's data folder, see [UserData]. If another
// project has that name, the kernel is called gonb-PROJECT; display is how Jupyter lists it. A
// specification that is not this checkout's is never overwritten.
func (c Checkout) Register(ctx context.Context, share string) (file, display string, err error) {
	project := filepath.Base(c.Root)
	for _, name := range []string{Name, Name + "-" + unnamed.ReplaceAllString(project, "-")} {
		if display = "Go (gonb)"; name != Name {
			display = "Go (gonb, " + project + ")"
		}
		file = filepath.Join(share, "kernels", name, "kernel.json")
		b, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) || bytes.Contains(b, c.mark()) {
			return file, display, c.write(ctx, file, display)
		} else if err != nil {
			return "", "", fmt.Errorf("kernel: %w", err)
		}
	}
	return "", "", fmt.Errorf("kernel: %s is another project's: remove it, or give another folder with --prefix", file)
}

// unnamed matches characters that the name of a kernel must not have.
var unnamed = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// mark is in a kernel.json of this checkout.
func (c Checkout) mark() []byte {
	root, _ := json.Marshal(c.Root) // strings always have a form
	return append([]byte(`"coupling": `), root...)
}

// UserData returns the folder where the user's Jupyter looks for kernels; see "Common
// directories" in the manual of Jupyter.
func UserData() (string, error) {
	if dir := os.Getenv("JUPYTER_DATA_DIR"); dir != "" {
		return dir, nil
	}
	home, err := os.UserHomeDir()
	if runtime.GOOS == "darwin" {
		return filepath.Join(home, "Library", "Jupyter"), err
	}
	if dir := os.Getenv("XDG_DATA_HOME"); dir != "" {
		return filepath.Join(dir, "jupyter"), nil
	}
	return filepath.Join(home, ".local", "share", "jupyter"), err
}

// withParent is the command before GoNB's that ends the kernel with the Jupyter that started it:
// setpriv of util-linux, where it is installed. A Jupyter that is killed does not always end its
// kernels, and GoNB does not look for its parent.
func withParent() []string {
	setpriv, err := exec.LookPath("setpriv")
	if err != nil || runtime.GOOS != "linux" {
		return nil
	}
	return []string{setpriv, "--pdeathsig", "TERM"}
}

// write writes a kernel.json; see "Kernel specs" in the manual of jupyter_client.
func (c Checkout) write(ctx context.Context, file, display string) error {
	b, err := json.MarshalIndent(map[string]any{
		"argv": slices.Concat(withParent(), []string{c.GoNB(), "--kernel", "{connection_file}"},
			c.Arguments()),
		"display_name":   display,
		"language":       "go",
		"interrupt_mode": "message",
		"env": map[string]string{
			"PATH":    c.Bin() + string(os.PathListSeparator) + "${PATH}",
			"GOFLAGS": goFlags(ctx, c.Root),
			"GOWORK":  "",
		},
		"metadata": map[string]string{"coupling": c.Root},
	}, "", "  ")
	if err == nil {
		err = durable.Write(file, append(b, '\n'))
	}
	if err != nil {
		return fmt.Errorf("kernel: %w", err)
	}
	return nil
}

// Check returns an error if the kernel's specification, or a program that it names, is not there.
func (c Checkout) Check() error {
	var spec struct{ Argv []string }
	b, err := os.ReadFile(c.Spec())
	if err == nil {
		err = json.Unmarshal(b, &spec)
	}
	if err != nil {
		return fmt.Errorf("kernel: %s is not installed, or damaged: %w", c.Spec(), err)
	}
	if !slices.Contains(spec.Argv, c.GoNB()) {
		return fmt.Errorf("kernel: %s does not name %s: the checkout was moved", c.Spec(), c.GoNB())
	}
	for _, t := range Tools {
		if _, err := os.Stat(filepath.Join(c.Bin(), t)); err != nil {
			return fmt.Errorf("kernel: %s is not built: %w", t, err)
		}
	}
	return nil
}
