package figures

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"coupling/figures/figtest"
	"coupling/figures/internal/kit"
	"coupling/lab"
	"coupling/lab/must"
)

// readsClock are the files below the figures, outside of package lab/store, that read a clock, and why it
// decides no result.
var readsClock = map[string]string{
	"figures/internal/kit/clock.go":    "the clocks of figures, which TestNoClockDecides slows",
	"figures/admm/convergence.go":      "stores times",
	"figures/analytic/convergence.go":  "stores times",
	"figures/analytic/generator.go":    "stores times",
	"figures/analytic/problem.go":      "stores times",
	"data/internal/fetch/client.go":    "downloads: the data's checksum is known",
	"data/network.go":                  "whether there is a server: the data are a parameter",
	"ot/internal/solve/run.go":         "passes the time to Trace",
	"lab/internal/code/program.go":     "whether a file is newer than the program",
	"ot/freg/newton.go":                "passes the time to Trace",
	"ot/freg/solver.go":                "passes the time to Trace",
	"score/langevin.go":                "how often a device is waited for",
	"score/stored.go":                  "how often a chain is saved, which continues to the bit",
	"figures/amplification/recipes.go": "stores times",
	"figures/dpsinkhorn/methods.go":    "stores times",
}

// A file that starts to read a clock must say here why that decides no result.
func TestWhoReadsAClock(t *testing.T) {
	const files = "{{if .Module}}{{if .Module.Main}}{{$d := .Dir}}{{range .GoFiles}}{{$d}}/{{.}}\n{{end}}{{end}}{{end}}"
	list, err := exec.Command("go", "list", "-deps", "-f", files, "coupling/figures").Output()
	root, rootErr := filepath.Abs("..")
	if err != nil || rootErr != nil {
		t.Fatal(err, rootErr)
	}
	clock := regexp.MustCompile(
		`\btime\.(Now|Since|Until|After\w*|New\w+|Tick)\b|context\.With(Timeout|Deadline)|(CPU|Process|Wall)Seconds\(`)
	found := map[string]bool{}
	for _, file := range strings.Fields(string(list)) {
		name := strings.TrimPrefix(filepath.ToSlash(file), filepath.ToSlash(root)+"/")
		text := must.Get(os.ReadFile(file))
		if found[name] = clock.Match(text); found[name] && readsClock[name] == "" && filepath.Dir(name) != "lab/store" {
			t.Errorf("%s reads a clock", name)
		}
	}
	for name := range readsClock {
		if !found[name] {
			t.Errorf("%s reads no clock", name)
		}
	}
}

// On a busy machine whose clocks say that all takes ten times as long, the cells of the figures
// that measure time differ in times alone, and no claim's verdict changes. A limit in seconds would
// change both.
func TestNoClockDecides(t *testing.T) {
	if testing.Short() {
		t.Skip("keeps all cores busy")
	}
	for _, name := range []string{"analytic/convergence", "analytic/scaling", "analytic/backward", "analytic/generator",
		"admm/convergence"} {
		t.Run(name, func(t *testing.T) {
			f := lab.Must(Select(name))[0]
			idle, idleVerdicts := timeless(t, f)
			defer kit.SlowClocks(10)()
			defer load()()
			busy, busyVerdicts := timeless(t, f)
			if !reflect.DeepEqual(idle, busy) {
				t.Errorf("cells on an idle machine:\n%v\non a busy one:\n%v", idle, busy)
			}
			if !reflect.DeepEqual(idleVerdicts, busyVerdicts) {
				t.Errorf("verdicts on an idle machine: %v, on a busy one: %v", idleVerdicts, busyVerdicts)
			}
		})
	}
}

// load keeps the cores busy until stop is called.
func load() (stop func()) {
	var idle atomic.Bool
	for range 9 * runtime.GOMAXPROCS(0) {
		go func() {
			for !idle.Load() {
			}
		}()
	}
	return func() { idle.Store(true) }
}

// timeless computes a figure in a store of its own, and returns its cells without their times, and
// its verdicts.
func timeless(t *testing.T, f lab.Figure) (cells []any, verdicts map[string]lab.Verdict) {
	t.Helper()
	store := figtest.Store(t)
	for _, j := range figtest.Compute(t, store, f) {
		r, err := j.Recall(store)
		var value any
		if err != nil || json.Unmarshal(r.Value, &value) != nil {
			t.Fatal(err, string(r.Value))
		}
		cells = append(cells, withoutTimes(value))
	}
	verdicts = map[string]lab.Verdict{}
	for _, c := range figtest.Claims(t, store, f) {
		verdicts[c.What] = c.Verdict()
	}
	return cells, verdicts
}

// withoutTimes removes the members that hold seconds, and bytes allocated, to which other
// goroutines add.
func withoutTimes(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name := range v {
			switch name {
			case "seconds", "forward", "bytes":
				delete(v, name)
			default:
				withoutTimes(v[name])
			}
		}
	case []any:
		for _, x := range v {
			withoutTimes(x)
		}
	}
	return v
}
