package main

import (
	"errors"
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
)

// faults are the errors by which packages say that the request or its data are wrong.
var faults = []error{
	ot.ErrShape, ot.ErrWeights, ot.ErrCost, ot.ErrParameter, ot.ErrUnsupported, ot.ErrInfeasible, exact.ErrUnbalanced,
	scones.ErrShape, scones.ErrParameter, score.ErrShape, score.ErrParameter, dp.ErrParameter, dp.ErrUnreachable,
	synth.ErrParameter, synth.ErrOccupied, admm.ErrParameter, admm.ErrInfeasible, admm.ErrBudget, account.ErrParameter,
	durable.ErrForeign,
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

// ownPackages are the packages of this module that begin their errors with their names, which say
// nothing to who gave flags.
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
