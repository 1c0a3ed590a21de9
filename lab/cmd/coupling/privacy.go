package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"

	"coupling/dp"
	"coupling/dp/best"
	"coupling/dp/closed"
	"coupling/dp/contour"
	"coupling/dp/pld"
	"coupling/dp/rdp"
	"coupling/lab"
	"coupling/lab/internal/interrupt"
)

// privacyFlags describe a mechanism and who must not be told apart.
type privacyFlags struct {
	Noise      *float64 `placeholder:"SIGMA"`
	Rate       float64  `default:"1"`
	Steps      int      `default:"1" min:"0"`
	Mechanism  string   `default:"gaussian" enum:"rr,${mechanisms}"`
	Truth      float64  `default:"0.75"`
	Sampling   string   `default:"poisson" enum:"poisson,allocation,without-replacement,with-replacement,shuffle"`
	PerEpoch   int      `name:"steps-per-epoch" placeholder:"T"`
	Selected   int      `default:"1" min:"1"`
	Epochs     int      `default:"1" min:"0"`
	Batch      int
	Size       int
	Exchange   float64 `default:"1" min:">0" max:"<Inf"`
	Group      int     `default:"1" min:"1"`
	Relation   string  `default:"auto" enum:"auto,${relations}"`
	Accountant string  `default:"auto" enum:"${accountants}"`
	JSON       bool

	curve []tested // if asked for
}

// event is one run of steps of the mechanism, whose flags were checked.
func (f privacyFlags) event() dp.Event {
	var e dp.Event = dp.RandomizedResponse{Truth: f.Truth}
	if f.Noise != nil {
		e = mechanisms[f.Mechanism].of(*f.Noise / f.Exchange) // which is 1 for poisson
	}
	switch {
	case f.Sampling == "without-replacement":
		e = dp.WithoutReplacement{Batch: f.Batch, Size: f.Size, Event: e}
	case f.Sampling == "with-replacement":
		e = dp.WithReplacement{Batch: f.Batch, Size: f.Size, Event: e}
	case f.Sampling == "allocation":
		return dp.Repeat{Times: f.Epochs, Event: dp.Allocation{Steps: f.PerEpoch, Selected: f.Selected, Event: e}}
	case f.Rate != 1:
		e = dp.Poisson{Rate: f.Rate, Event: e}
	}
	return dp.Repeat{Times: f.Steps, Event: e}
}

func (f privacyFlags) fixed() bool {
	return f.Sampling == "without-replacement" || f.Sampling == "with-replacement"
}

func (f privacyFlags) relation() dp.Relation {
	r := dp.Relation{Kind: relations[f.Relation], Group: f.Group}
	if f.Relation == "auto" && f.fixed() {
		r.Kind = dp.Substitution
	}
	return r
}

// mechanisms are those of one noise that --mechanism names, each with the norm in which the value moves
// by at most 1, and relations and accountants what --relation and --accountant do.
var (
	mechanisms = map[string]struct {
		norm string
		of   func(noise float64) dp.Event
	}{
		"gaussian": {"L2", func(noise float64) dp.Event { return dp.Gaussian{NoiseMultiplier: noise} }},
		"laplace":  {"L1", func(noise float64) dp.Event { return dp.Laplace{Scale: noise} }},
	}
	relations = map[string]dp.RelationKind{
		"add-remove": dp.AddRemove, "insertion": dp.Insertion, "removal": dp.Removal, "substitution": dp.Substitution,
		"exchange": dp.Exchange,
	}
	accountants = map[string]dp.Accountant{
		"auto":  dp.Best{},
		"exact": best.FirstOf{closed.Accountant{}, contour.Accountant{}},
		"pld":   pld.Accountant{},
		"rdp":   rdp.Accountant{},
	}
)

// keys lists the names in a table for the declaration of a flag.
func keys[V any](table map[string]V) string {
	return strings.Join(slices.Sorted(maps.Keys(table)), ",")
}

func (f privacyFlags) check() error {
	switch {
	case f.Mechanism != "rr" && f.Noise == nil:
		return fmt.Errorf("--noise: %s needs it", f.Mechanism)
	case f.Mechanism == "rr" && f.Noise != nil:
		return fmt.Errorf("--noise %g: rr has none; its --truth is given", *f.Noise)
	case f.Mechanism != "rr" && f.Truth != 0.75:
		return fmt.Errorf("--truth %g: it is used only with --mechanism rr", f.Truth)
	case f.Sampling == "shuffle":
		return errors.New(
			"--sampling shuffle: batches cut from a permutation have no known amplification by sampling; " +
				"each record is in one batch an epoch: give --steps EPOCHS and no rate, or draw batches by allocation")
	case !f.fixed() && f.Exchange != 1:
		return fmt.Errorf(
			"--exchange %v: for batches of fixed size; in a sample by %s a record comes and goes without another",
			f.Exchange, f.Sampling)
	case f.Sampling != "poisson" && f.Rate != 1:
		return fmt.Errorf(
			"--rate %v: it is used only with --sampling poisson; without-replacement and with-replacement take "+
				"--batch and --size, "+
				"allocation --steps-per-epoch", f.Rate)
	case !f.fixed() && (f.Batch != 0 || f.Size != 0):
		return errors.New(
			"--batch and --size: they are used only with --sampling without-replacement and with-replacement; " +
				"poisson takes --rate")
	case f.fixed() && (f.Batch <= 0 || f.Size <= 0):
		return fmt.Errorf("--sampling %s, --batch %d, --size %d: give both, positive", f.Sampling, f.Batch, f.Size)
	}
	return f.checkAllocation()
}

func (f privacyFlags) checkAllocation() error {
	switch allocation := f.Sampling == "allocation"; {
	case !allocation && (f.PerEpoch != 0 || f.Selected != 1 || f.Epochs != 1):
		return errors.New("--steps-per-epoch, --selected and --epochs: they are used only with --sampling allocation")
	case allocation && f.Steps != 1:
		return fmt.Errorf("--steps %d: allocation takes --epochs, whole ones, and --steps-per-epoch", f.Steps)
	case allocation && f.PerEpoch < f.Selected:
		return fmt.Errorf("--steps-per-epoch %d: must be given, and at least --selected %d", f.PerEpoch, f.Selected)
	}
	return nil
}

// answer is what --json prints.
type answer struct {
	spending
	Lower    float64  `json:"lower"` // what ε, or δ, is at least; 0 if that is not known
	Event    string   `json:"event"` // with steps and rate
	Relation string   `json:"relation"`
	Unit     string   `json:"unit"` // what the noise is in units of
	Curve    []tested `json:"curve,omitempty"`
}

// tested is what a test for a record errs by: β at least, at α.
type tested struct {
	TypeI  float64 `json:"type_1"`
	TypeII float64 `json:"type_2"`
}

func (f privacyFlags) answer(e dp.Event, g dp.Guarantee) answer {
	return answer{
		spending: spent(g),
		Lower:    g.Lower,
		Event:    fmt.Sprint(e),
		Relation: g.Relation.String(),
		Unit:     f.unit(),
		Curve:    f.curve,
	}
}

// unit names what moves the value by at most one.
func (f privacyFlags) unit() string {
	switch {
	case f.Mechanism == "rr":
		return "bit"
	case !f.fixed() && f.Relation != "exchange":
		return "record"
	case f.Exchange != 1:
		return fmt.Sprintf("exchange/%g", f.Exchange)
	}
	return "exchange"
}

func (f privacyFlags) print(a *app, e dp.Event, g dp.Guarantee) error {
	if f.JSON {
		return writeJSON(a, f.answer(e, g))
	}
	a.printf("%v\nε = %s at δ = %s: %s\n\n%s\n", e, dp.FormatUp(g.Epsilon, 8),
		dp.FormatUp(g.Delta, 8), kindInWords(g), f.meaning(g))
	if f.curve != nil {
		a.printf("\nA test that tells such data sets apart with a type I error of α has a type II error of " +
			"at least β:\n\n     α       β\n")
	}
	for _, c := range f.curve { // rounded down
		a.printf("%6.3f  %6.4f\n", c.TypeI, math.Floor(c.TypeII*1e4)/1e4)
	}
	return nil
}

func kindInWords(g dp.Guarantee) string {
	switch g.Kind {
	case dp.Exact:
		return fmt.Sprintf("exact, by the %s accountant", g.Accountant)
	case dp.UpperBound:
		s := fmt.Sprintf("an upper bound, by the %s accountant", g.Accountant)
		if g.Lower > 0 {
			s += "; the least value is at least " + strings.TrimPrefix(dp.FormatUp(-g.Lower, 8), "-") // rounded down
		}
		return s
	}
	return "no guarantee"
}

// meaning is the promise of (ε, δ) in words, with what it takes for granted.
func (f privacyFlags) meaning(g dp.Guarantee) string {
	switch {
	case math.IsInf(math.Exp(g.Epsilon), 0):
		return "An ε of this size protects nothing."
	case g.Delta >= 1:
		return "A δ of 1 promises nothing."
	}
	return fmt.Sprintf(
		"%s\nIt holds for every data set and for an observer of all steps, provided that the sampling and the "+
			"noise are as said,\n"+
			"that %s,\nand that nothing else about the data is released.%s",
		g.Sentence("record"), f.sensitivity(g), f.caution())
}

// sensitivity is what the number assumes of the value that noise is added to.
func (f privacyFlags) sensitivity(g dp.Guarantee) string {
	norm := mechanisms[f.Mechanism].norm + " norm"
	switch f.unit() {
	case "bit":
		return "the value is one bit"
	case "record":
		return "one record added to or removed from a batch moves the value by at most 1 in the " + norm
	}
	s := fmt.Sprintf("exchanging one record of a batch for another moves the value by at most %g in the %s",
		f.Exchange, norm)
	if g.Relation.Kind == dp.Substitution {
		return s + "\n(an old record for its replacement: by twice that, which the bound allows for)"
	}
	return s
}

// caution warns users of clipped sums, where the unit of fixed batches is easily mistaken.
func (f privacyFlags) caution() string {
	if f.unit() != "exchange" || !f.fixed() {
		return ""
	}
	return "\nA sum of records clipped to norm 1 moves by 2 when one is exchanged: for such a sum say --exchange 2."
}

// interruptible ends a computation at the first interrupt; the second kills.
func interruptible(a *app) (context.Context, context.CancelFunc) {
	return interrupt.Context(a.run.ctx, os.Interrupt)
}

// ask has the accountant answer and prints what it says, with the trade-off curve if that is wanted.
func (f privacyFlags) ask(a *app, curve bool, by func(context.Context, dp.Accountant, dp.Event, dp.Relation,
	float64) (dp.Guarantee, error), at float64) error {
	lab.Check(usage(f.check()))
	e := f.event()
	ctx, stop := interruptible(a)
	defer stop()
	g, err := by(ctx, accountants[f.Accountant], e, f.relation(), at)
	lab.Check(blame(err))
	if curve {
		c, err := g.TradeOff(ctx, 101)
		lab.Check(blame(err))
		for _, alpha := range []float64{.001, .01, .02, .05, .1, .2, .3, .4, .5, .6, .7, .8, .9} {
			f.curve = append(f.curve, tested{alpha, c.At(alpha)})
		}
	}
	return f.print(a, e, g)
}

type epsilonCmd struct {
	Delta float64 `required:""`
	Curve bool
	privacyFlags
}

func (c epsilonCmd) Run(a *app) error { return c.ask(a, c.Curve, dp.EpsilonBy, c.Delta) }

type deltaCmd struct {
	Eps float64 `required:""`
	privacyFlags
}

func (c deltaCmd) Run(a *app) error { return c.ask(a, false, dp.DeltaBy, c.Eps) }

type calibrateCmd struct {
	Find  string  `default:"noise" enum:"noise,rate,steps"`
	Eps   float64 `required:""`
	Delta float64 `required:""`
	privacyFlags
}

// calibrated is what --json prints.
type calibrated struct {
	Find  string  `json:"find"`
	Value float64 `json:"value"`
	answer
}

func (c calibrateCmd) Run(a *app) error {
	if c.Find == "noise" && c.Noise != nil {
		return usagef("--noise %g: it cannot be given with --find noise, which computes it", *c.Noise)
	}
	if c.Find == "noise" && c.Mechanism == "rr" {
		return usagef("--find noise: rr has none; its --truth is given")
	}
	if c.Find == "rate" && c.Sampling != "poisson" {
		return usagef("--find rate: only --sampling poisson has a rate, not %s", c.Sampling)
	}
	if c.Find == "noise" {
		one := 1.0
		c.Noise = &one // stands for what is looked for
	}
	lab.Check(usage(c.check()))
	value, e, g := c.search(a)
	if c.JSON {
		return writeJSON(a, calibrated{c.Find, value, c.answer(e, g)})
	}
	// All digits: a noise rounded to fewer may exceed the budget.
	a.printf("%s = %v meets ε ≤ %v at δ = %v\n", c.Find, value, c.Eps, c.Delta)
	return c.print(a, e, g)
}

// search returns the value, the event with it and what that spends.
func (c calibrateCmd) search(a *app) (value float64, e dp.Event, g dp.Guarantee) {
	b := dp.Budget{Epsilon: c.Eps, Delta: c.Delta, Relation: c.relation(), Accountant: accountants[c.Accountant]}
	ctx, stop := interruptible(a)
	defer stop()
	at := func(x float64) dp.Event {
		f := c.privacyFlags
		switch c.Find {
		case "noise":
			f.Noise = &x
		case "rate":
			f.Rate = x
		default:
			if f.Steps = int(x); f.Sampling == "allocation" {
				f.Steps, f.Epochs = 1, int(x)
			}
		}
		return f.event()
	}
	var steps int
	var err error
	switch c.Find {
	case "noise":
		value, g, err = dp.MinNoise(ctx, b, at)
	case "rate":
		value, g, err = dp.MaxRate(ctx, b, at)
	default:
		steps, err = dp.MaxSteps(ctx, b, func(n int) dp.Event { return at(float64(n)) })
		if err == nil && steps == 0 {
			err = fmt.Errorf("calibrate: not even one step meets ε ≤ %g at δ = %g", c.Eps, c.Delta)
		}
		lab.Check(blame(err))
		value = float64(steps)
		g, err = dp.EpsilonBy(ctx, b.Accountant, at(value), b.Relation, c.Delta)
	}
	lab.Check(blame(err))
	return value, at(value), g
}
