package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"coupling/lab/device"
	"coupling/lab/durable"
)

// Report is the file that gpucheck writes.
type Report struct {
	Date     time.Time `json:"date"`
	Device   About     `json:"device"`
	Warnings []string  `json:"warnings,omitempty"`
	Suites   []Suite   `json:"suites"`
}

// About is the machine and the program.
type About struct {
	device.Info
	MemoryFree  int64
	MemoryTotal int64
	Go          string
	Commit      string // with "+" where the tree was changed
}

func about(i device.Info, free, total int64) About {
	return About{
		Info:        i,
		MemoryFree:  free,
		MemoryTotal: total,
		Go:          runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH,
		Commit:      commit(),
	}
}

// commit is the revision that Go recorded when it built the program.
func commit() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	revision, changed := "unknown", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			changed = "+"
		}
	}
	return revision + changed
}

func (r Report) failed() (n int) {
	for _, s := range r.Suites {
		n += len(s.Failed)
	}
	return n
}

var unsafe = regexp.MustCompile(`[^a-z0-9]+`)

// name is the report's file name without its ending: date and device.
func (r Report) name() string {
	name := strings.Trim(unsafe.ReplaceAllString(strings.ToLower(r.Device.Name), "-"), "-")
	return r.Date.Format("2006-01-02-150405") + "-" + name
}

// write writes both forms of the report, each whole or not at all.
func (r Report) write(dir string) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	path := filepath.Join(dir, r.name())
	if err := durable.Write(path+".json", append(data, '\n')); err != nil {
		return err
	}
	return durable.Write(path+".md", []byte(r.markdown()))
}

func (r Report) markdown() string {
	var b strings.Builder
	d := r.Device
	fmt.Fprintf(&b, "# %s, %s\n\n", d.Name, r.Date.Format("2 January 2006, 15:04 MST"))
	fmt.Fprintf(&b, "%s; %.1f of %.1f GiB free; %s; commit %s\n\n", d.Detail, gib(d.MemoryFree), gib(d.MemoryTotal),
		d.Go, d.Commit)
	for _, w := range r.Warnings {
		fmt.Fprintf(&b, "**WARNING: %s**\n\n", w)
	}
	b.WriteString("| suite | passed | failed | skipped | seconds |\n|--|--|--|--|--|\n")
	for _, s := range r.Suites {
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %.1f |\n", s.Package, s.Passed, len(s.Failed), len(s.Skipped), s.Seconds)
	}
	for _, s := range r.Suites {
		for _, f := range s.Failed {
			fmt.Fprintf(&b, "\n## Failed: %s\n\n```\n%s\n```\n", f.Test, strings.TrimSpace(f.Output))
		}
	}
	peaks := r.peaks()
	for _, s := range r.Suites {
		if len(s.Benchmarks) > 0 {
			fmt.Fprintf(&b, "\n## Benchmarks: %s\n\n| benchmark | time | | share |\n|--|--|--|--|\n", s.Package)
		}
		for _, m := range s.Benchmarks {
			fmt.Fprintf(&b, "| %s | %v | %s | %s |\n", m.Name, time.Duration(m.Metrics["ns/op"]), m.others(),
				peaks.share(m))
		}
	}
	return b.String() + peaks.String()
}

// others lists what a benchmark reports beside its time.
func (m Benchmark) others() string {
	var list []string
	for unit, v := range m.Metrics {
		if unit != "ns/op" && !strings.HasSuffix(unit, "/call") {
			list = append(list, fmt.Sprintf("%.4g %s", v, unit))
		}
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}

func gib(bytes int64) float64 { return float64(bytes) / (1 << 30) }
