package lab

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"time"
)

// A Manifest says how a result came about. Nothing in it is part of the key.
type Manifest struct {
	Start   time.Time `json:"start"`
	Seconds float64   `json:"seconds"` // wall time of Run
	Commit  string    `json:"commit,omitzero"`
	Dirty   bool      `json:"dirty,omitzero"` // the working tree differed from Commit
	Modules string    `json:"modules,omitzero"`
	Go      string    `json:"go"`
	System  string    `json:"system"` // GOOS/GOARCH
	CPU     string    `json:"cpu,omitzero"`
	Cores   int       `json:"cores"` // GOMAXPROCS
	Device  string    `json:"device"`
	Host    string    `json:"host,omitzero"`
}

func newManifest() Manifest {
	m := environment()
	m.Start = time.Now().UTC()
	m.Cores = runtime.GOMAXPROCS(0)
	if m.Device = os.Getenv("COUPLING_DEVICE"); m.Device == "" {
		m.Device = "cpu"
	}
	return m
}

// environment asks once a process for what does not change in it. Git is asked
// at run time because a notebook cell or `go run` carries no build stamp.
var environment = sync.OnceValue(func() Manifest {
	m := Manifest{
		Go:      runtime.Version(),
		System:  runtime.GOOS + "/" + runtime.GOARCH,
		CPU:     cpuModel(),
		Modules: moduleSum(),
	}
	m.Host, _ = os.Hostname()
	if out, err := exec.Command("git", "rev-parse", "HEAD").Output(); err == nil {
		m.Commit = strings.TrimSpace(string(out))
		out, err = exec.Command("git", "status", "--porcelain", "--untracked-files=no").Output()
		m.Dirty = err != nil || len(out) > 0
	}
	return m
})

// moduleSum is a digest of the versions of all modules in this program.
func moduleSum() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	h := sha256.New()
	for _, d := range info.Deps {
		if d.Replace != nil {
			d = d.Replace
		}
		fmt.Fprintf(h, "%s %s %s\n", d.Path, d.Version, d.Sum)
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// cpuModel is what Linux calls the processor; elsewhere it stays empty.
func cpuModel() string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if name, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
