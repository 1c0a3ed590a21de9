package main

import (
	"cmp"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"

	"coupling/figures"

	"github.com/alecthomas/kong"
)

// examples returns an example for each command, which ends its help. A test parses them.
func examples() map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(help("examples")) {
		command, example, _ := strings.Cut(strings.TrimSpace(line), ": ")
		out[command] = example
	}
	return out
}

// addHelp puts the text of each command, from help/NAME.txt where there is one, and its example
// into its help, calls the values of flags N and X, and says their defaults.
func addHelp(n *kong.Node, example map[string]string) {
	for _, child := range n.Children {
		addHelp(child, example)
	}
	for _, f := range n.Flags {
		f.PlaceHolder = cmp.Or(f.PlaceHolder, map[reflect.Kind]string{reflect.Int: "N",
			reflect.Float64: "X"}[f.Target.Kind()])
		if f.PlaceHolder != "" && f.Default != "" && !strings.Contains(f.Help, "efault") {
			f.Help = strings.TrimSuffix(f.Help, ".") + "; default " + f.Default + "."
		}
	}
	text, _ := helps.ReadFile("help/" + strings.ReplaceAll(n.Path(), " ", "-") + ".txt")
	if n.Detail = string(text); n.Leaf() {
		n.Detail = strings.TrimSpace(n.Detail + "\n\nExample:\n\n    " + example[n.Path()])
	}
}

type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

// Run prints the shell's script, which asks this program for what may come next.
func (c completionCmd) Run(a *app) error {
	exe, err := os.Executable()
	if err == nil {
		_, err = fmt.Fprintln(a.out, strings.ReplaceAll(help("completion."+c.Shell), "PROGRAM", exe))
	}
	return err
}

// complete returns what may follow the words: commands, flags, a flag's values, names of figures.
func complete(model *kong.Application, words []string) (next []string) {
	node := model.Node
	var open *kong.Flag // whose value comes next
	for _, w := range words {
		if i := slices.IndexFunc(node.Children, func(n *kong.Node) bool { return n.Name == w }); i >= 0 {
			node = node.Children[i]
		}
		open = nil
		for _, f := range slices.Concat(node.AllFlags(true)...) {
			if w == "--"+f.Name && !f.IsBool() {
				open = f
			}
		}
	}
	if open != nil {
		return strings.FieldsFunc(open.Enum, func(r rune) bool { return r == ',' })
	}
	for _, child := range node.Children {
		next = append(next, child.Name)
	}
	if path := node.Path(); strings.HasPrefix(path, "fig") || path == "sweep" {
		for _, f := range figures.All() {
			next = append(next, f.Name)
		}
	}
	for _, f := range slices.Concat(node.AllFlags(true)...) {
		next = append(next, "--"+f.Name)
	}
	return next
}
