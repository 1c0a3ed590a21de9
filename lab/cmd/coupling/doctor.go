package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"coupling/data"
	"coupling/lab"
	"coupling/lab/device"
	"coupling/lab/device/cpu"
	"coupling/lab/nb/jupyter"
	"coupling/lab/nb/kernel"
	"coupling/score/eval/inception"
)

type check struct {
	Part   string `json:"part"`
	State  state  `json:"state"`
	Found  string `json:"found"`
	Remedy string `json:"remedy,omitzero"` // the line that mends it
}

type state string

const (
	good   state = "ok"
	absent state = "absent" // optional: something is not possible without it
	broken state = "broken" // the command cannot do its work
)

type doctorCmd struct {
	JSON bool
}

// Run looks at this machine and leaves nothing behind.
func (c doctorCmd) Run(a *app) error {
	cores := found("cpu", "%s, %d cores", cpu.Describe(), runtime.NumCPU())
	checks := []check{checkGo(), checkGit(), cores, checkGPU(), checkInception(), checkStore(a)}
	checks = append(checks, checkData()...)
	checks = append(checks, checkNotebooks(a.run.ctx)...)
	if c.JSON {
		lab.Check(writeJSON(a, checks))
	} else {
		lab.Check(printChecks(a, checks))
	}
	for _, c := range checks {
		if c.State == broken {
			return fmt.Errorf("doctor: %s: %s", c.Part, c.Found)
		}
	}
	return nil
}

func found(part, format string, args ...any) check {
	return check{part, good, fmt.Sprintf(format, args...), ""}
}

func printChecks(a *app, checks []check) error {
	w := table(a.out)
	for _, c := range checks {
		found, _, _ := strings.Cut(c.Found, "; looked for ") // --json has the paths
		fmt.Fprintf(w, "%s\t%s\t%s\n", c.State, c.Part, found)
		if c.Remedy != "" {
			fmt.Fprintf(w, "\t\t→ %s\n", c.Remedy)
		}
	}
	return w.Flush()
}

func checkGo() check {
	c := found("go", "%s built this program", runtime.Version())
	path, err := exec.LookPath("go")
	if err != nil {
		c.State, c.Found = absent, c.Found+"; no go on PATH, which notebooks and make need"
		c.Remedy = "https://go.dev/dl, then add /usr/local/go/bin to PATH"
		return c
	}
	c.Found += "; on PATH: " + path
	return c
}

func checkGit() check {
	path, err := exec.LookPath("git")
	if err != nil {
		return check{"git", absent, "not on PATH: manifests will not know the commit", "sudo apt-get install git"}
	}
	return found("git", "%s", path)
}

func checkGPU() check {
	dev, err := device.CUDA{}.Open()
	if err != nil {
		return check{"gpu", absent, "everything runs on the CPU: " + err.Error(),
			"with an NVIDIA GPU: install your distribution's NVIDIA driver"}
	}
	info := dev.Info()
	if err := dev.Close(); err != nil {
		return check{Part: "gpu", State: absent, Found: err.Error()}
	}
	return found("gpu", "%s; %s", info.Name, info.Detail)
}

func checkInception() check {
	const remedy = "make it of pytorch-fid's weights by the four lines of `go doc coupling/score/eval/inception`, " +
		"then set COUPLING_INCEPTION to its path"
	file := os.Getenv(inception.Variable)
	if file == "" {
		return check{"inception", absent,
			"COUPLING_INCEPTION names no file: figures print FD-LeNet in place of FID and KID", remedy}
	}
	name, err := inception.Name(file)
	if err != nil {
		return check{"inception", broken, err.Error(), remedy}
	}
	if distance := inception.Distance(name); distance != "FID" {
		return check{"inception", absent, fmt.Sprintf("%s has a narrow network, whose distances are %s and no FID",
			file, distance), remedy}
	}
	return found("inception", "%s: names, shapes and values are right (%s)", file, name)
}

func checkStore(a *app) check {
	s, err := a.store()
	if err == nil {
		err = s.Writable()
	}
	if err != nil {
		return check{"store", broken, err.Error(), "set COUPLING_STORE or --store to a folder that can be written"}
	}
	if _, err := os.Stat(s.Dir); errors.Is(err, fs.ErrNotExist) {
		return found("store", "%s, to be created", s.Dir)
	}
	n := 0
	for _, err := range s.Records("") {
		if err != nil {
			return check{"store", absent, err.Error(), "the cell is computed again when it is asked for"}
		}
		n++
	}
	return found("store", "%s, %s", s.Dir, plural(n, "cell"))
}

func checkData() []check {
	var out []check
	for _, p := range data.Status(data.From{}) {
		c := check{"data: " + p.Name, absent, "missing: " + strings.Join(p.Missing, ", "), p.Fix}
		switch {
		case p.Complete():
			c.State, c.Found = good, filepath.Dir(p.Found[0])
		case p.Subset:
			c.Found += "; figures use the subset in " + filepath.Dir(p.Found[0])
		case p.Name != "celeba":
			c.Found += "; figures use the sample inside the program unless it can be downloaded"
		}
		out = append(out, c)
	}
	return out
}

// checkNotebooks looks at each part that notebooks alone need.
func checkNotebooks(ctx context.Context) []check {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	out := []check{checkJupyter(ctx)}
	c, err := kernel.Find("")
	if err != nil {
		return append(out, check{"gonb", absent, err.Error(), "run it inside a checkout of Coupling"})
	}
	if c.Check() != nil {
		return append(out, found("gonb", "to be built, with goimports, when a notebook is first opened"))
	}
	return append(out, found("gonb", "%s", filepath.Dir(c.Spec())))
}

func checkJupyter(ctx context.Context) check {
	have, err := jupyter.Find(ctx)
	if err != nil {
		return check{"jupyter", absent, "no notebooks in a browser: " + strings.TrimPrefix(err.Error(), "jupyter: "),
			jupyter.Remedy}
	}
	return found("jupyter", "%s %s", filepath.Base(have.Program), have.Version)
}

// version is set by the Makefile from git.
var version = "unreleased"

type versionCmd struct{}

func (versionCmd) Run(a *app) error {
	module := ""
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Path != "" {
		module = info.Main.Path + " "
	}
	a.printf("%s%s %s %s/%s\n", module, version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return nil
}
