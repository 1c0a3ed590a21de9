package main

import (
	"regexp"
	"strings"
)

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

// inFlags words an error for who gave flags; nil stays nil.
func inFlags(err error) error {
	if err == nil {
		return nil
	}
	return worded{err, flagWords.Replace(err.Error())}
}

// given returns what a flag was given, or the zero value, which stands for a default.
func given[T any](flag *T) (v T) {
	if flag != nil {
		v = *flag
	}
	return v
}
