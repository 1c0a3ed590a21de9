package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"coupling/lab"
)

// Each command has an example in its help, which is one that the command takes.
func TestExamples(t *testing.T) {
	parser := newParser(&cli{}, os.Stdout, os.Stderr)
	leaves := parser.Model.Leaves(true)
	if example := examples(); len(leaves) != len(example) {
		t.Errorf("%d commands, %d examples", len(leaves), len(example))
	}
	for _, n := range leaves {
		line, _, _ := strings.Cut(examples()[n.Path()], " && ")
		line, _, _ = strings.Cut(line, " >")
		fields := strings.Fields(line)
		if len(fields) < 2 {
			t.Errorf("%s: no example", n.Path())
			continue
		}
		if ctx, err := parser.Parse(fields[1:]); err != nil || ctx.Selected() != n {
			t.Errorf("%s: %v", line, err)
		}
	}
}

func TestComplete(t *testing.T) {
	for words, want := range map[string]string{
		"": "solve", "runs": "diff", "solve --solver": "newton", "solve --x": "", "fig": "tour/digits",
		"notebook run": "--pages",
	} {
		var out strings.Builder
		if code := run(append([]string{"complete"}, strings.Fields(words)...), &out, os.Stderr); code != 0 {
			t.Errorf("%q: code %d", words, code)
		}
		if got := strings.Fields(out.String()); want != "" && !slices.Contains(got, want) ||
			want == "" && len(got) > 0 {
			t.Errorf("after %q: %q", words, got)
		}
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		var out strings.Builder
		if code := run([]string{"completion", shell}, &out, os.Stderr); code != 0 ||
			!strings.Contains(out.String(), exe+`" complete`) {
			t.Errorf("%s: %s", shell, out.String())
		}
	}
}

// help COMMAND is COMMAND --help, and says the defaults of numbers.
func TestHelp(t *testing.T) {
	var help, flag, sample strings.Builder
	if run([]string{"help", "sample"}, &sample, os.Stderr); !strings.Contains(sample.String(),
		"Samples of each; default 1.") {
		t.Error(sample.String())
	}
	run([]string{"help", "runs", "diff"}, &help, os.Stderr)
	run([]string{"runs", "diff", "--help"}, &flag, os.Stderr)
	if help.String() != flag.String() || !strings.Contains(help.String(), "Example:") {
		t.Error(help.String())
	}
	if _, err := os.Stat(filepath.Join("template", "go.mod")); err == nil {
		t.Error("template/go.mod takes the template out of this module")
	}
}

// The figure of coupling new, mean and standard error over seeds, is at most 25 lines of code beside its imports.
func TestTemplateIsShort(t *testing.T) {
	text := string(lab.Must(template.ReadFile("template/bias/bias.go")))
	_, code, _ := strings.Cut(text, "\n)\n")
	lines := regexp.MustCompile(`(?m)^\s*[^\s/].*$`).FindAllString(code, -1)
	if len(lines) > 25 || !strings.Contains(code, "style.Over(") || !strings.Contains(code, "Seeds:") {
		t.Errorf("%d lines", len(lines))
	}
}
