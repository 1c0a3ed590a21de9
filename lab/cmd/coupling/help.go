package main

import (
	"cmp"
	"fmt"
	"reflect"
	"strings"

	"coupling/figures"

	"github.com/alecthomas/kong"
)

// examples has an example for each command, which ends its help. A test parses them.
var examples = map[string]string{
	"fig list":         "coupling fig list",
	"fig all":          "coupling fig all --preset smoke --out out",
	"fig make":         "coupling fig tour/digits --format png,pdf --check",
	"sweep":            "coupling sweep rate.yaml --dry-run",
	"experiments":      "coupling experiments scones/rate",
	"job":              "coupling job jobs.jsonl 0 --stride 8",
	"runs ls":          "coupling runs ls scones/",
	"runs show":        "coupling runs show 3fa9",
	"runs diff":        "coupling runs diff 3fa9 77c1",
	"runs serve":       "coupling runs serve",
	"runs export":      "coupling runs export scones/ --format csv -o scones.csv",
	"runs rm":          "coupling runs rm 3fa9",
	"runs gc":          "coupling runs gc --dry-run",
	"solve":            "coupling solve --x x.npy --y y.csv --eps 0.01 --out plan",
	"sample":           "coupling sample --x x.csv --y y.csv --each 10 --out samples",
	"epsilon":          "coupling epsilon --noise 1.1 --rate 0.01 --steps 1e4 --delta 1e-5",
	"delta":            "coupling delta --noise 1.1 --rate 0.01 --steps 1e4 --eps 5",
	"calibrate":        "coupling calibrate --eps 2 --delta 1e-5 --rate 0.01 --steps 1000",
	"admm new":         "coupling admm new --out market",
	"admm solve":       "coupling admm solve market --out plan.csv",
	"admm run":         "coupling admm run market --spawn --out plan.csv",
	"admm node":        "coupling admm node market/nodes/target-0.json --join market/join.json",
	"admm epsilon":     "coupling admm epsilon --alpha 0.5 --rounds 20 --degree 4",
	"admm eavesdrop":   "coupling admm eavesdrop quiet",
	"new":              "coupling new ../bias && cd ../bias && go test ./... && coupling sweep sweep/main.go && go run ./figure",
	"notebook open":    "coupling notebook dp-sinkhorn",
	"notebook run":     "coupling notebook run sweep --out executed --html",
	"notebook diff":    "coupling notebook diff sweep",
	"notebook reset":   "coupling notebook reset sweep",
	"notebook install": "coupling notebook install --prefix ~/venv",
	"private":          "coupling private --images photos --size 32 --eps 5 --out synthetic",
	"judge":            "coupling judge synthetic --data mnist --classifiers logistic,cnn",
	"doctor":           "coupling doctor",
	"completion":       "coupling completion bash > ~/.local/share/bash-completion/completions/coupling",
	"version":          "coupling version",
}

// addExamples ends the help of each command with its example, and calls the values of flags N and X.
func addExamples(model *kong.Application) {
	for _, n := range model.Leaves(true) {
		for _, f := range n.Flags {
			f.PlaceHolder = cmp.Or(f.PlaceHolder, map[reflect.Kind]string{reflect.Int: "N", reflect.Float64: "X"}[f.Target.Kind()])
		}
		n.Detail = strings.TrimSpace(n.Detail + "\n\nExample:\n\n    " + examples[n.Path()])
	}
}

type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

// completions are the shells' scripts, which ask coupling complete for what may come next.
var completions = map[string]string{
	"bash": `_coupling() { COMPREPLY=($(compgen -W "$(coupling complete "${COMP_WORDS[@]:1:COMP_CWORD-1}")" -- "${COMP_WORDS[COMP_CWORD]}")); }
complete -o default -F _coupling coupling`,
	"zsh": `#compdef coupling
_coupling() { local -a next; next=(${(f)"$(coupling complete ${words[2,CURRENT-1]})"}); compadd -a next; _files; }
compdef _coupling coupling`,
	"fish": `complete -c coupling -a '(coupling complete (commandline -opc)[2..])'`,
}

// Run prints the script.
func (c completionCmd) Run(a *app) error {
	_, err := fmt.Fprintln(a.out, completions[c.Shell])
	return err
}

// complete returns what may follow the words: commands, flags, a flag's values, names of figures.
func complete(model *kong.Application, words []string) (next []string) {
	node := model.Node
	var open *kong.Flag // whose value comes next
	for _, w := range words {
		for _, child := range node.Children {
			if child.Name == w {
				node = child
				break
			}
		}
		open = nil
		for _, f := range allFlags(node) {
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
	for _, f := range allFlags(node) {
		next = append(next, "--"+f.Name)
	}
	return next
}

func allFlags(n *kong.Node) (out []*kong.Flag) {
	for _, group := range n.AllFlags(true) {
		out = append(out, group...)
	}
	return out
}
