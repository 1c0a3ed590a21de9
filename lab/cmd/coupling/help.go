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

// texts returns what help/commands.txt says of commands, flags and arguments, with an example of each command, by
// "admm new", "admm new --out", "admm run dir" and "admm run Example".
func texts() map[string]string {
	out := map[string]string{}
	var commands, about []string
	for line := range strings.Lines(help("commands")) {
		text := strings.TrimSpace(line)
		switch what, rest, _ := strings.Cut(text, ": "); {
		case !strings.HasPrefix(line, " "):
			commands = strings.Split(what, ", ")
			about, text = commands, rest
		case !strings.HasPrefix(line, "   "):
			about, text = nil, rest
			for _, command := range commands {
				about = append(about, command+" "+what)
			}
		}
		for _, key := range about {
			out[key] = strings.TrimSpace(out[key] + " " + text)
		}
	}
	return out
}

// addHelp puts the texts of commands, flags and arguments into their help, with the longer text of a command from
// help/NAME.txt where there is one and its example, calls the values of flags N and X, and says their defaults.
func addHelp(n *kong.Node, texts map[string]string) {
	for _, child := range n.Children {
		addHelp(child, texts)
	}
	name := cmp.Or(n.Path(), "coupling")
	n.Help = cmp.Or(n.Help, texts[name])
	for _, arg := range n.Positional {
		arg.Help = texts[name+" "+arg.Name]
	}
	for _, f := range n.Flags {
		f.Help = strings.ReplaceAll(texts[name+" --"+f.Name], "${enum}", f.Enum)
		f.PlaceHolder = cmp.Or(f.PlaceHolder, map[reflect.Kind]string{reflect.Int: "N",
			reflect.Float64: "X"}[f.Target.Kind()])
		if f.PlaceHolder != "" && f.Default != "" && !strings.Contains(f.Help, "efault") {
			f.Help = strings.TrimSuffix(f.Help, ".") + "; default " + f.Default + "."
		}
	}
	text, _ := helps.ReadFile("help/" + strings.ReplaceAll(n.Path(), " ", "-") + ".txt")
	if n.Detail = string(text); n.Leaf() {
		n.Detail = strings.TrimSpace(n.Detail + "\n\nExample:\n\n    " + texts[name+" Example"])
	}
}

type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish"`
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
