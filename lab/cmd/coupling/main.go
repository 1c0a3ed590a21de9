// Command coupling makes the figures of the papers, runs the sweeps behind them,
// looks into the store of results, and says what this machine has.
//
//	coupling fig list
//	coupling fig tour/digits --preset quick --format png,pdf
//	coupling sweep grid.yaml --on slurm --time 2:00:00 --array-limit 64
//	coupling runs ls tour/ && coupling runs diff 3fa9 77c1
//	coupling runs serve
//	coupling doctor
//
// Results go to standard output, progress and errors to standard error. coupling help lists the exit codes.
package main

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"reflect"
	"strconv"
	"strings"
	"text/tabwriter"

	"coupling/lab"
	"coupling/lab/device/cpu"
	"coupling/lab/store"
	"coupling/ot"

	"github.com/alecthomas/kong"
)

// Exit codes, which help/description.txt tells.
const (
	exitFailed      = 1
	exitUsage       = 2
	exitUnconverged = 3
	exitClaims      = 4
	exitInterrupted = 130
)

// What each command does is in help/commands.txt.
type cli struct {
	Store  string `placeholder:"DIR"`
	Recall string `default:"any" enum:"any,same" env:"COUPLING_RECALL"`
	Quiet  bool   `short:"q"`

	Fig         figCmd         `cmd:""`
	Sweep       sweepCmd       `cmd:""`
	Experiments experimentsCmd `cmd:""`
	Job         jobCmd         `cmd:""`
	Runs        runsCmd        `cmd:""`
	Solve       solveCmd       `cmd:""`
	Sample      sampleCmd      `cmd:""`
	Epsilon     epsilonCmd     `cmd:""`
	Delta       deltaCmd       `cmd:""`
	Calibrate   calibrateCmd   `cmd:""`
	ADMM        admmCmd        `cmd:"" name:"admm"`
	New         newCmd         `cmd:""`
	Notebook    notebookCmd    `cmd:""`
	Private     privateCmd     `cmd:""`
	Judge       judgeCmd       `cmd:""`
	Doctor      doctorCmd      `cmd:""`
	Version     versionCmd     `cmd:""`
}

type app struct {
	out, err io.Writer
	store    func() (*store.Store, error)
	run      *interrupts
	quiet    bool
}

// printf prints a result. [checkedWriter] remembers an error.
func (a *app) printf(format string, args ...any) { fmt.Fprintf(a.out, format, args...) }

func (a *app) note(format string, args ...any) { fmt.Fprintf(a.err, format, args...) }

// exitError ends the program with a code of its own.
type exitError struct {
	code int
	err  error
}

func (e exitError) Error() string { return e.err.Error() }
func (e exitError) Unwrap() error { return e.err }

// unconverged is the error of a solver that did not converge.
func unconverged(format string, args ...any) error {
	return exitError{exitUnconverged, fmt.Errorf(format, args...)}
}

// usage marks an error as the user's request being wrong; nil stays nil.
func usage(err error) error {
	if err == nil {
		return nil
	}
	return exitError{exitUsage, err}
}

// usagef is [usage] of an error with a text of its own.
func usagef(format string, args ...any) error { return usage(fmt.Errorf(format, args...)) }

// prefix puts the subject before an error; nil stays nil.
func prefix(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

// orUsage returns v. An error ends the command: the user's request was wrong.
func orUsage[T any](v T, err error) T { return lab.Must(v, usage(err)) }

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	var c cli
	out := &checkedWriter{w: stdout}
	parser := newParser(&c, out, stderr)
	helped := false
	parser.Exit = func(int) { helped = true }
	if len(args) > 0 && args[0] == "help" {
		args = append(args[1:], "--help")
	}
	kctx, err := parser.Parse(args)
	if out.err != nil { // of the help
		fmt.Fprintf(stderr, "coupling: %v\n", out.err)
		return exitFailed
	}
	if helped {
		return 0
	}
	if err == nil {
		err = checkNumbers(kctx)
	}
	if err != nil {
		command := "" // as far as it was understood
		if wrong := (*kong.ParseError)(nil); errors.As(err, &wrong) {
			kctx = wrong.Context
		}
		if kctx != nil && kctx.Selected() != nil {
			command = " " + kctx.Selected().Path()
		}
		fmt.Fprintf(stderr, "coupling: %v\ntry: coupling help%s\n", err, command)
		return exitUsage
	}
	if _, err := cpu.Active(); err != nil {
		fmt.Fprintf(stderr, "coupling: %v\n", err)
		return exitUsage
	}
	a := &app{
		out: out, err: stderr, quiet: c.Quiet, run: newInterrupts(stderr),
		store: func() (*store.Store, error) {
			if err := os.Setenv("COUPLING_RECALL", c.Recall); err != nil { // for the programs that this one starts
				return nil, err
			}
			return lab.OpenStore(c.Store)
		},
	}
	if err = execute(kctx, a); out.err != nil && !errors.Is(err, out.err) {
		err = errors.Join(err, out.err)
	}
	return report(err, stderr, a.run)
}

// execute runs the command, which lab.Must and lab.Check may end: its helpers that return no error do so.
func execute(kctx *kong.Context, a *app) (err error) {
	defer lab.End(&err)
	return kctx.Run(a)
}

func newParser(c *cli, stdout, stderr io.Writer) *kong.Kong {
	parser, err := kong.New(c, kong.Name("coupling"), kong.Description(help("description")),
		kong.Writers(stdout, stderr),
		kong.KindMapper(reflect.Int, kong.MapperFunc(realNumber)),
		kong.KindMapper(reflect.Float64, kong.MapperFunc(realNumber)),
		kong.Vars{
			"mechanisms": keys(mechanisms), "relations": keys(relations), "accountants": keys(accountants),
			"costs": keys(solveCmd{}.costs()), "solvers": keys(solveCmd{}.solvers(0, ot.Control{})),
		},
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}))
	if err != nil {
		panic(err) // the declaration above is wrong
	}
	addHelp(parser.Model.Node, texts())
	return parser
}

// realNumber takes the next word of the command line whatever it looks like: it may begin with a minus sign.
func realNumber(ctx *kong.DecodeContext, to reflect.Value) error {
	word := ctx.Scan.Pop().String()
	v, err := strconv.ParseFloat(word, 64)
	switch whole := to.CanInt(); { // 10000, or 1e4
	case err != nil:
		return fmt.Errorf("%q is not a number", word)
	case whole && (v != math.Trunc(v) || math.Abs(v) >= 1<<53):
		return fmt.Errorf("%q is not a whole number", word)
	case whole:
		to.SetInt(int64(v))
	default:
		to.SetFloat(v)
	}
	return nil
}

// checkNumbers checks numbers of the command line against their tags min and max, as those of parameters are.
func checkNumbers(ctx *kong.Context) error {
	for _, f := range ctx.Flags() {
		number := store.Param{Name: "--" + f.Name, Min: f.Tag.Get("min"), Max: f.Tag.Get("max")}
		if v := reflect.Indirect(f.Target); v.IsValid() { // it is not where a flag without a default was not given
			if err := number.Check(v); err != nil {
				return err
			}
		}
	}
	return nil
}

func report(err error, stderr io.Writer, in *interrupts) int {
	var e exitError
	switch {
	case err == nil && in.drained():
		return exitInterrupted
	case err == nil:
		return 0
	case in.drained() || errors.Is(err, context.Canceled):
		fmt.Fprintf(stderr, "coupling: interrupted: %s\n", plainly(err))
		return exitInterrupted
	}
	fmt.Fprintf(stderr, "coupling: %s\n", plainly(err))
	if errors.As(err, &e) {
		return e.code
	}
	return exitFailed
}

// checkedWriter remembers that writing failed: a full disk is no success.
type checkedWriter struct {
	w   io.Writer
	err error
}

func (c *checkedWriter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	if err != nil && c.err == nil {
		c.err = fmt.Errorf("output: %w", err)
	}
	if err != nil {
		err = c.err
	}
	return n, err
}

//go:embed help
var helps embed.FS

func help(name string) string {
	b, err := helps.ReadFile("help/" + name + ".txt")
	if err != nil {
		panic(err) // it is in the program
	}
	return strings.TrimSpace(string(b))
}

func table(w io.Writer) *tabwriter.Writer { return tabwriter.NewWriter(w, 0, 0, 2, ' ', 0) }

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
