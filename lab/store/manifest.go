package store

import (
	"context"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"coupling/lab/device"
	"coupling/lab/device/cpu"
)

// A Manifest records when, where and by what a result was computed. Nothing in it is part of the key.
type Manifest struct {
	Start   time.Time `json:"start"`
	Seconds float64   `json:"seconds"` // wall time of Run
	Commit  string    `json:"commit,omitzero"`
	Dirty   bool      `json:"dirty,omitzero"` // the working tree differed from Commit
	Go      string    `json:"go"`
	System  string    `json:"system"` // GOOS/GOARCH
	CPU     string    `json:"cpu,omitzero"`
	ISA     string    `json:"isa,omitzero"` // instruction set of the kernels: last digits differ between them
	Cores   int       `json:"cores"`        // GOMAXPROCS
	Device  string    `json:"device"`       // that the cell opened, with its precision
	Host    string    `json:"host,omitzero"`
}

func newManifest() Manifest {
	m := environment()
	m.Start = time.Now().UTC()
	m.Cores = runtime.GOMAXPROCS(0)
	return m
}

// environment is the part of a manifest that is constant in a process, read once.
var environment = sync.OnceValue(func() Manifest {
	m := Manifest{
		Go:     runtime.Version(),
		System: runtime.GOOS + "/" + runtime.GOARCH,
		ISA:    cpu.Name(),
	}
	m.Host, _ = os.Hostname()
	if processor, err := (device.CPU{}).Open(); err == nil {
		m.CPU = processor.Info().Name
		_ = processor.Close()
	}
	if m.Commit, m.Dirty = stampedCommit(); m.Commit == "" {
		m.Commit, m.Dirty = commitHere()
	}
	return m
})

// stampedCommit is the commit that the Go tool wrote into the program.
func stampedCommit() (commit string, dirty bool) {
	set := map[string]string{}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			set[s.Key] = s.Value
		}
	}
	return set["vcs.revision"], set["vcs.modified"] == "true"
}

// commitHere asks git about the working directory, where the source of a test or `go run` is.
func commitHere() (commit string, dirty bool) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, "git", "rev-parse", "HEAD").Output()
	if err != nil {
		return "", false
	}
	commit = strings.TrimSpace(string(out))
	out, err = exec.CommandContext(ctx, "git", "--no-optional-locks", "status", "--porcelain").Output()
	for line := range strings.Lines(string(out)) {
		if !strings.HasPrefix(line, "??") || strings.HasSuffix(strings.TrimSpace(line), ".go") {
			dirty = true
		}
	}
	return commit, dirty || err != nil
}
