package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"text/tabwriter"
	"time"

	"coupling/lab/device"
	"coupling/lab/device/cpu"
)

// A check is one thing that the doctor looked at.
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
	JSON bool `help:"As JSON."`
}

// Run looks at this machine and never changes it.
func (c doctorCmd) Run(a *app) error {
	checks := []check{checkGo(), checkGit(), checkCPU(), checkGPU(), checkStore(a)}
	checks = append(checks, checkData()...)
	checks = append(checks, checkJupyter(a.run.ctx), checkKernel(), checkGoimports())
	if c.JSON {
		if err := writeJSON(a, checks); err != nil {
			return err
		}
	} else if err := printChecks(a, checks); err != nil {
		return err
	}
	for _, c := range checks {
		if c.State == broken {
			return fmt.Errorf("doctor: %s: %s", c.Part, c.Found)
		}
	}
	return nil
}

func printChecks(a *app, checks []check) error {
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	for _, c := range checks {
		fmt.Fprintf(w, "%s\t%s\t%s\n", c.State, c.Part, c.Found)
		if c.Remedy != "" {
			fmt.Fprintf(w, "\t\t→ %s\n", c.Remedy)
		}
	}
	return w.Flush()
}

func checkGo() check {
	c := check{Part: "go", State: good, Found: runtime.Version() + " built this program"}
	path, err := exec.LookPath("go")
	if err != nil {
		c.State, c.Found = absent, c.Found+"; no go on PATH, which notebooks and make need"
		c.Remedy = "https://go.dev/dl, then add /usr/local/go/bin to PATH"
		return c
	}
	if out, err := exec.Command(path, "env", "GOVERSION").Output(); err == nil {
		c.Found += "; on PATH: " + strings.TrimSpace(string(out))
	}
	return c
}

func checkGit() check {
	if _, err := exec.LookPath("git"); err != nil {
		return check{"git", absent, "not on PATH: manifests will not know the commit", "sudo apt-get install git"}
	}
	return check{Part: "git", State: good, Found: "on PATH"}
}

func checkCPU() check {
	c := check{Part: "cpu", State: good, Found: cpu.Describe()}
	c.Found = fmt.Sprintf("%s, %d cores", c.Found, runtime.NumCPU())
	return c
}

// checkGPU opens the first GPU.
func checkGPU() check {
	dev, err := device.CUDA{}.Open()
	if err != nil {
		return check{
			Part: "gpu", State: absent, Found: err.Error() + "; everything runs on the CPU",
			Remedy: "with an NVIDIA GPU: install your distribution's NVIDIA driver",
		}
	}
	info := dev.Info()
	if err := dev.Close(); err != nil {
		return check{Part: "gpu", State: absent, Found: err.Error()}
	}
	return check{Part: "gpu", State: good, Found: info.Name + "; " + info.Detail}
}

func checkStore(a *app) check {
	s, err := a.store()
	if err != nil {
		return check{"store", broken, err.Error(), "set COUPLING_STORE or --store to a folder that can be written"}
	}
	if _, err := os.Stat(s.Dir); errors.Is(err, fs.ErrNotExist) {
		return check{Part: "store", State: good, Found: s.Dir + ", to be created"}
	}
	n := 0
	for _, err := range s.Records("") {
		if err != nil {
			return check{"store", absent, err.Error(), "the cell is computed again when it is asked for"}
		}
		n++
	}
	return check{Part: "store", State: good, Found: fmt.Sprintf("%s, %s", s.Dir, plural(n, "cell"))}
}

func checkJupyter(ctx context.Context) check {
	path, err := exec.LookPath("jupyter")
	if err != nil {
		return check{"jupyter", absent, "not on PATH: no notebooks", "sudo apt-get install jupyter-notebook"}
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, "--version").Output()
	if err != nil {
		return check{"jupyter", broken, path + " --version fails: " + err.Error(), "sudo apt-get install --reinstall jupyter-core jupyter-notebook"}
	}
	return check{Part: "jupyter", State: good, Found: versionsOf(out)}
}

// versionsOf shortens the output of jupyter --version.
func versionsOf(out []byte) string {
	var have []string
	for _, line := range strings.Split(string(bytes.TrimSpace(out)), "\n") {
		name, version, ok := strings.Cut(line, ":")
		version = strings.TrimSpace(version)
		if ok && version != "not installed" {
			have = append(have, strings.TrimSpace(name)+" "+version)
		}
	}
	return strings.Join(have, ", ")
}

// checkKernel looks for the GoNB kernel in the folders that Jupyter reads.
func checkKernel() check {
	var dirs []string
	dirs = append(dirs, filepath.SplitList(os.Getenv("JUPYTER_PATH"))...)
	if home, err := os.UserHomeDir(); err == nil {
		dirs = append(dirs, filepath.Join(home, ".local/share/jupyter"))
	}
	dirs = append(dirs, "/usr/local/share/jupyter", "/usr/share/jupyter")
	for _, dir := range dirs {
		if _, err := os.Stat(filepath.Join(dir, "kernels/gonb/kernel.json")); err == nil {
			return check{Part: "gonb", State: good, Found: filepath.Join(dir, "kernels/gonb")}
		}
	}
	return check{"gonb", absent, "no kernel in " + strings.Join(dirs, ", "), "go install github.com/janpfeifer/gonb@v0.11.4 && \"$(go env GOPATH)/bin/gonb\" --install --force_deps"}
}

func checkGoimports() check {
	if path, err := exec.LookPath("goimports"); err == nil {
		return check{Part: "goimports", State: good, Found: path}
	}
	return check{"goimports", absent, "not on PATH: the GoNB kernel needs it", "go install golang.org/x/tools/cmd/goimports@v0.52.0"}
}
