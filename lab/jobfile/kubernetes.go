package jobfile

import (
	_ "embed"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/template"
)

// Kubernetes writes the manifest of an indexed Job (batch/v1, Kubernetes 1.29 or
// later for a limit of retries an index). It is for people to apply; whether the
// cells are there, the store tells.
type Kubernetes struct {
	Name     string   // of the Job: lower-case letters, digits and dashes
	Image    string   // has the command
	Command  []string // does a line, inside the image; FILE INDEX --stride N are appended
	File     string   // the job file, as the pods see it
	Tasks    int      // completions
	Parallel int      // pods at a time; 0: as many as tasks, at most 64
	Retries  int      // an index
	Claim    string   // the PersistentVolumeClaim that holds the store
	Mount    string   // where the pods see it
	CPUs     int      // a pod; 0: 1
	Memory   string   // a pod, "4Gi"; may be empty
	GPUs     int      // a pod
	Seconds  int      // a pod may take; 0: no limit
	Device   string   // COUPLING_DEVICE of the pods
}

//go:embed job.yaml.tmpl
var manifestText string

var manifest = template.Must(template.New("manifest").Funcs(template.FuncMap{"q": strconv.Quote}).Parse(manifestText))

// Write writes the manifest. The error names a field that is missing or wrong.
func (k Kubernetes) Write(w io.Writer) error {
	switch {
	case k.Name == "" || len(k.Name) > 52 || strings.Trim(k.Name, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" || strings.Trim(k.Name, "-") != k.Name:
		return fmt.Errorf("jobfile: kubernetes: name %q: want at most 52 lower-case letters, digits and dashes", k.Name)
	case k.Image == "":
		return fmt.Errorf("jobfile: kubernetes: image %q: want one that has the command", k.Image)
	case k.Claim == "":
		return fmt.Errorf("jobfile: kubernetes: claim %q: want the PersistentVolumeClaim of the store", k.Claim)
	case k.Tasks < 1 || k.Tasks > 100_000:
		return fmt.Errorf("jobfile: kubernetes: %d tasks: want 1 to 100000", k.Tasks)
	case len(k.Command) == 0 || k.File == "" || !strings.HasPrefix(k.Mount, "/"):
		return fmt.Errorf("jobfile: kubernetes: command %q, file %q, mount %q: none may be empty", k.Command, k.File, k.Mount)
	}
	if k.Parallel <= 0 {
		k.Parallel = min(k.Tasks, 64)
	}
	return manifest.Execute(w, struct {
		Kubernetes
		Words []string
		CPU   string
	}{k, escape(words(k.Command, k.File, "\x00", k.Tasks)), strconv.Itoa(max(1, k.CPUs))})
}

// escape keeps Kubernetes from expanding $(…) in any word but the index, which
// is marked by a zero byte.
func escape(words []string) []string {
	for i, w := range words {
		words[i] = strings.ReplaceAll(w, "$(", "$$(")
		if w == "\x00" {
			words[i] = "$(INDEX)"
		}
	}
	return words
}
