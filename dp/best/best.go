// Package best tries several accountants and takes the sharpest answer.
package best

import (
	"context"
	"math"
	"slices"

	"coupling/dp/closed"
	"coupling/dp/contour"
	"coupling/dp/internal/check"
	"coupling/dp/pair"
	"coupling/dp/pld"
	"coupling/dp/rdp"
)

var bad = check.In("best").Bad

// FirstOf tries accountants in turn and takes the first answer.
type FirstOf []pair.Accountant

// Name is "first of several"; an answer has the name of the accountant that gave it.
func (FirstOf) Name() string { return "first of several" }

// Bound returns the first answer, or all errors.
func (f FirstOf) Bound(ctx context.Context, steps []pair.Step, q pair.Question) (pair.Answer, error) {
	if len(f) == 0 {
		return pair.Answer{}, bad("FirstOf: must have an accountant")
	}
	var errs []error
	for _, a := range f {
		v, err := a.Bound(ctx, steps, q)
		if err == nil || ctx.Err() != nil {
			return v, err
		}
		errs = append(errs, err)
	}
	return pair.Answer{}, check.All(errs...)
}

// Accountant tries the other accountants, the sharpest first, until the number is sharp: closed
// forms, contours (exact), privacy-loss distributions (an interval) and Rényi divergences (an upper
// bound).
type Accountant struct {
	// Width is how wide, relative to the number, an enclosure may be; 0 means as narrow as can be
	// had in about a second: 1e-11 from contours, 1e-6 or so from privacy-loss distributions.
	// Widths of a per cent take some ten milliseconds.
	Width float64
}

// Name is "auto".
func (Accountant) Name() string { return "auto" }

const (
	// contourWork and gridWork are the usual work of contours (a sixth of a second) and of
	// distributions; retryFactor is the factor by which contours may take longer if distributions were
	// not sharp.
	contourWork = 5_000_000
	gridWork    = 8_000_000
	retryFactor = 8
	// fineGrid is the width asked of distributions, roughGrid that for one of many branches.
	fineGrid  = 1.2e-6
	roughGrid = 1e-4
	// sharp is the relative width at which no further accountant is tried, and rough that for one
	// of many branches.
	sharp = 1e-5
	rough = 1e-3
	// manyBranches is the share of the work for each of many branches.
	manyBranches = 0.1
	// renyi is the least width of an interval that a Rényi divergence may narrow.
	renyi = 1e-2
	// rounded is a δ that a closed form may have left of 0, as at the largest loss: no accountant is
	// sharper there.
	rounded = 1e-14
)

// stage is an accountant with its question.
type stage struct {
	by    pair.Accountant
	q     pair.Question
	above bool // it has upper bounds only
}

// stages lists the accountants by sharpness, and the width of an answer that ends the list.
func (a Accountant) stages(q pair.Question, enclosed bool) (list []stage, enough float64) {
	if q.Width == 0 {
		q.Width = a.Width
	}
	exact, grid := q, q
	enough = max(rough, q.Width)
	patient := false
	switch {
	case q.Against > 0:
		exact.Effort, grid.Effort, grid.Width = 0.06, 0.0375, 1e-3
		enough = roughGrid // distributions can hardly be narrower
	case q.Width > 0:
		exact.Effort = 0.06
		if q.Effort > 0 {
			grid.Effort = q.Effort / 4
		}
	case q.Effort > 0:
		exact.Effort, grid.Effort, grid.Width = max(0.3, q.Effort), q.Effort/4, roughGrid
	default:
		grid.Width, enough, patient = fineGrid, sharp, true
	}
	list = []stage{{by: closed.Accountant{}, q: q}, {by: contour.Accountant{Work: contourWork}, q: exact},
		{by: pld.Accountant{Work: gridWork}, q: grid}}
	if patient {
		list = append(list, stage{by: contour.Accountant{Work: retryFactor * contourWork}, q: exact})
	}
	at := len(list)
	// of small groups it takes a tenth of the time of distributions, and decides often enough
	if q.Against > 0 && !enclosed && q.Effort > manyBranches {
		at = 2
	}
	list = slices.Insert(list, at, stage{rdp.Accountant{}, q, true})
	if by := q.Like.By; by != "" { // others would take longer and hardly be sharper
		found := false
		list = slices.DeleteFunc(list, func(s stage) bool {
			is := s.by.Name() == by
			found = found || is
			return !is && s.by != (closed.Accountant{}) && !(s.above && !found)
		})
	}
	return list, enough
}

// Bound tries the accountants in turn and takes the least upper bound. It skips those that refused
// a similar question, but not the closed form, which may know that δ is 0 and is quick to refuse.
func (a Accountant) Bound(ctx context.Context, steps []pair.Step, q pair.Question) (pair.Answer, error) {
	if !(a.Width >= 0 && a.Width < 1) {
		return pair.Answer{}, bad("Width = %v: must be in [0, 1)", a.Width)
	}
	enclosed := slices.ContainsFunc(steps, func(s pair.Step) bool { _, is := pair.Under(s.Pair); return is })
	list, enough := a.stages(q, enclosed)
	if enclosed {
		enough = 1 // no accountant is sharper than the enclosure
	}
	best := pair.Answer{Interval: pair.Interval{Upper: math.Inf(1)}}
	var errs []error
	for _, s := range list {
		name := s.by.Name()
		if s.above && best.By != "" && best.Within(renyi) {
			continue
		}
		if s.by != (closed.Accountant{}) && slices.Contains(q.Like.Refused, name) {
			if !slices.Contains(best.Refused, name) {
				best.Refused = append(best.Refused, name)
			}
			continue
		}
		v, err := s.by.Bound(ctx, steps, s.q)
		switch {
		case ctx.Err() != nil:
			return pair.Answer{}, ctx.Err()
		case err != nil:
			errs = append(errs, err)
			best.Refused = append(best.Refused, name)
			continue
		}
		best.Lower = max(best.Lower, v.Lower)
		if v.Upper < best.Upper {
			best.Upper, best.By, best.Order = v.Upper, v.By, v.Order
		}
		if q.Decides(best.Interval, enough) || q.Delta && s.by == (closed.Accountant{}) && best.Upper <= rounded {
			break
		}
	}
	switch {
	case best.By == "" && len(q.Like.Refused) > 0: // the question was not similar enough
		q.Like.Refused = nil
		return a.Bound(ctx, steps, q)
	case best.By == "":
		return pair.Answer{}, check.All(errs...)
	}
	best.Lower = min(best.Lower, best.Upper)
	return best, nil
}
