package main

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// links lists the modules of the packages that a package links, itself apart.
func links(t *testing.T, pkg string) []string {
	t.Helper()
	out, err := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", pkg).Output()
	if err != nil {
		t.Skipf("go list: %v", err)
	}
	all := strings.Fields(string(out))
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(m string) bool { return m == ownModule })
}

// A program that imports ot or dp alone links gonum and golang.org/x. With ot comes purego, which
// opens the GPU's driver (lab/device); the build tag nocuda leaves it out.
func TestScienceIsLight(t *testing.T) {
	for pkg, also := range map[string]string{"coupling/ot": "github.com/ebitengine/purego", "coupling/dp": ""} {
		for _, m := range links(t, pkg) {
			if m != "gonum.org/v1/gonum" && !strings.HasPrefix(m, "golang.org/x/") && m != also {
				t.Errorf("%s links %s", pkg, m)
			}
		}
	}
}

// The command does not link what only programs of their own need: tensors with Arrow (data/tensors), the notebook
// kernel, the browser of tests.
func TestCommandIsLight(t *testing.T) {
	for _, m := range links(t, "coupling/lab/cmd/coupling") {
		for _, heavy := range []string{"arrow", "gorgonia", "gogo/protobuf", "klauspost", "nats-io", "gonb",
			"chromedp"} {
			if strings.Contains(m, heavy) {
				t.Errorf("the command links %s", m)
			}
		}
	}
}
