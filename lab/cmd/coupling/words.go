package main

import (
	"cmp"
	"errors"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"coupling/dp"
	"coupling/dp/admm"
	"coupling/dp/admm/account"
	"coupling/dp/synth"
	"coupling/lab/durable"
	"coupling/lab/nn/train"
	"coupling/ot"
	"coupling/ot/exact"
	"coupling/score"
	"coupling/score/scones"

	"github.com/alecthomas/kong"
)

// faults are the errors by which packages say that the request or its data are wrong.
var faults = []error{
	ot.ErrShape, ot.ErrWeights, ot.ErrCost, ot.ErrParameter, ot.ErrUnsupported, ot.ErrInfeasible, exact.ErrUnbalanced,
	scones.ErrShape, scones.ErrParameter, score.ErrShape, score.ErrParameter, dp.ErrParameter, dp.ErrUnreachable,
	dp.ErrNoPair, synth.ErrParameter, synth.ErrOccupied, admm.ErrParameter, admm.ErrInfeasible, admm.ErrBudget,
	account.ErrParameter, durable.ErrForeign,
}

// blame words an error for who gave flags, and marks it as a wrong request where its package says so or it is one of
// more; nil stays nil.
func blame(err error, more ...error) error {
	is := func(kind error) bool { return errors.Is(err, kind) }
	switch {
	case err == nil:
		return nil
	case is(dp.ErrUnbounded):
		return usage(worded{err, "the loss is unbounded at this δ, so that no ε bounds it; " +
			"fix: give a --delta > 0 that is large enough"})
	case is(train.ErrMismatch), is(train.ErrCorrupt):
		return usagef("%w: remove the file to begin anew", err)
	case slices.ContainsFunc(slices.Concat(faults, more), is):
		return usage(inFlags(err))
	}
	return inFlags(err)
}

// ownPackages begin their errors with their names, which say nothing to who gave flags.
var ownPackages = regexp.MustCompile(`(^|: )(?:(?:` +
	`ot/exact|ot|dp|closed|contour|rdp|pld|best|account|admm|files|synth|data|scones|score|kernel): )+`)

// plainly returns the text of an error without the names of packages and kinds.
func plainly(err error) string {
	text := ownPackages.ReplaceAllString(err.Error(), "$1")
	return strings.ReplaceAll(text, ": parameter out of range", "")
}

// worded is an error in other words.
type worded struct {
	error
	text string
}

func (w worded) Error() string { return w.text }
func (w worded) Unwrap() error { return w.error }

// flagWords are names of parameters in errors of packages, and the flags of commands that they come from.
var flagWords = strings.NewReplacer(
	"Problem.A", "--a", "Problem.B", "--b",
	"Eps = ", "--eps ", "eps = ", "--eps ", "Delta = ", "--delta ", "delta = ", "--delta ",
	"Tol = ", "--tol ", "MaxIter = ", "--max-iter ",
	"use LBFGS", "use --solver lbfgs", "use exact transport", "use --solver exact",
	"noise multiplier = ", "--noise ", "rate = ", "--rate ",
	"Alpha = ", "--alpha ", "Rounds = ", "--rounds ", "Adapt: ", "--adapt: ", "Eta = ", "--eta ",
	"Slope = ", "--slope ", "Relax = ", "--relax ",
	"substitution bounds it", "--relation substitution bounds it",
	"Lambda = ", "--lambda ", "Bandwidth = ", "--bandwidth ", "Steps = ", "--steps ",
)

// inFlags words an error for who gave flags.
func inFlags(err error) error { return worded{err, flagWords.Replace(err.Error())} }

// given returns what a flag was given, or the zero value, which stands for a default.
func given[T any](flag *T) (v T) {
	if flag != nil {
		v = *flag
	}
	return v
}

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
