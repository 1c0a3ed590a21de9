package main

import (
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"coupling/dp/synth"
	"coupling/dp/synth/suggest"
	"coupling/lab"

	"github.com/alecthomas/kong"
)

// Each command, flag and argument has a text, with each word that the flag takes, no text is of
// anything else, and each command takes its example.
func TestTexts(t *testing.T) {
	parser, left := newParser(&cli{}, os.Stdout, os.Stderr), texts()
	used := func(key string) {
		if left[key] == "" {
			t.Errorf("help/commands.txt: no text for %s", key)
		}
		delete(left, key)
	}
	var walk func(n *kong.Node, name string)
	walk = func(n *kong.Node, name string) {
		for _, f := range n.Flags {
			used(name + " --" + f.Name)
			for _, word := range strings.Split(f.Enum, ",") {
				if !regexp.MustCompile(`(^|[^\w-])` + regexp.QuoteMeta(word) + `($|[^\w-])`).MatchString(f.Help) {
					t.Errorf("%s --%s: its help lacks %q", name, f.Name, word)
				}
			}
		}
		for _, arg := range n.Positional {
			used(name + " " + arg.Name)
		}
		for _, child := range n.Children {
			used(child.Path())
			walk(child, child.Path())
		}
		if !n.Leaf() {
			return
		}
		line, _, _ := strings.Cut(left[name+" Example"], " && ")
		line, _, _ = strings.Cut(line, " >")
		if ctx, err := parser.Parse(strings.Fields(line)[1:]); err != nil || ctx.Selected() != n {
			t.Errorf("%s: %v", line, err)
		}
		used(name + " Example")
	}
	walk(parser.Model.Node, "coupling")
	delete(left, "coupling")
	if len(left) > 0 {
		t.Errorf("help/commands.txt: texts of nothing: %q", slices.Sorted(maps.Keys(left)))
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

// Each word that private --method takes stands for a method.
func TestMethods(t *testing.T) {
	p := synth.Public{Records: 600, Classes: []string{"a"}, Channels: 1, Height: 28, Width: 28}
	tag, _ := reflect.TypeFor[privateCmd]().FieldByName("Method")
	for _, name := range strings.Split(tag.Tag.Get("enum"), ",") {
		if m, err := (suggest.Request{Name: name, Eps: 1}).Method(p); err != nil || m == nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
