package main

import (
	"cmp"
	"reflect"
	"strings"

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
