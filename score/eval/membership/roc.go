package membership

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"coupling/dp/audit"
	"coupling/lab/root"
)

// ErrArgument is wrapped by every error about an argument.
var ErrArgument = errors.New("bad argument")

// Result measures how well scores separate members from others.
type Result struct {
	Members, Others int
	AUC             float64 // probability that a member scores higher than another example, ties counted half
	Lo, Hi          float64 // 95% interval of the AUC
	ROC             []Point // from (0, 0) to (1, 1), one for each threshold that changes a rate
}

// Point is a point of the curve: the rates if everybody with a score of at least some threshold is called a member.
type Point struct {
	FPR, TPR float64 // rates of false and of true positives
}

// Rate is the largest rate of true positives with at most so many false ones among the others.
type Rate struct {
	Bound  float64 // on the rate of false positives
	TPR    float64
	Lo, Hi float64 // 95% interval of TPR for this threshold (Clopper and Pearson 1934)
}

// String returns the AUC, and the rates at no more than 0.1%, 1% and 10% false positives.
func (r *Result) String() string {
	s := fmt.Sprintf("AUC %.3f (95%%: %.3f–%.3f)", r.AUC, r.Lo, r.Hi)
	for _, bound := range []float64{.001, .01, .1} {
		p := r.At(bound)
		s += fmt.Sprintf("; TPR %.3f (%.3f–%.3f) at FPR ≤ %g", p.TPR, p.Lo, p.Hi, p.Bound)
	}
	return s
}

// Measure compares the scores of members with those of others, higher meaning "member". Infinite
// scores are in order, NaN is not. O(N log N).
func Measure(members, others []float64) (*Result, error) {
	if len(members) == 0 || len(others) == 0 {
		return nil, fmt.Errorf("membership: %d members, %d others: must be > 0: %w", len(members), len(others),
			ErrArgument)
	}
	type score struct {
		value  float64
		member bool
	}
	var all []score
	for k, set := range [][]float64{members, others} {
		for i, v := range set {
			if math.IsNaN(v) {
				return nil, fmt.Errorf("membership: score %d of %s = NaN: %w", i, []string{"members", "others"}[k],
					ErrArgument)
			}
			all = append(all, score{v, k == 0})
		}
	}
	slices.SortFunc(all, func(a, b score) int { return cmp.Compare(b.value, a.value) })
	n, m := float64(len(members)), float64(len(others))
	r := &Result{Members: len(members), Others: len(others), ROC: []Point{{}}}
	tp, fp := 0., 0.
	for i := 0; i < len(all); {
		j, newTP, newFP := i, tp, fp
		for ; j < len(all) && all[j].value == all[i].value; j++ {
			if all[j].member {
				newTP++
			} else {
				newFP++
			}
		}
		r.AUC += (newFP - fp) * (tp + newTP) / 2 // the trapezoid counts ties half
		tp, fp = newTP, newFP
		r.ROC = append(r.ROC, Point{FPR: fp / m, TPR: tp / n})
		i = j
	}
	r.AUC /= n * m
	r.Lo, r.Hi = interval(r.AUC, n, m)
	return r, nil
}

// At returns the rate of true positives with at most this rate of false ones among the others. With
// fewer than 1/bound others that means none.
func (r *Result) At(bound float64) Rate {
	best := Rate{Bound: bound}
	for _, p := range r.ROC {
		if p.FPR <= bound {
			best.TPR = p.TPR
		}
	}
	hits := int(math.Round(best.TPR * float64(r.Members)))
	best.Lo, best.Hi, _ = audit.ClopperPearson(hits, r.Members, .95) // its arguments are in range
	return best
}

// interval solves |θ − auc| = z √V(θ) with the variance of Hanley and McNeil (1982) as Newcombe (2006) balances it,
//
//	V(θ) = θ(1−θ)/(nm) · (1 + ((n+m)/2 − 1)·((1−θ)/(2−θ) + θ/(1+θ))),
//
// his method 5. The interval stays in [0, 1] and has a width at 0 and 1, where DeLong's has none.
func interval(auc, n, m float64) (lo, hi float64) {
	const z = 1.959963984540054
	outside := func(θ float64) bool {
		v := θ * (1 - θ) / (n * m) * (1 + ((n+m)/2-1)*((1-θ)/(2-θ)+θ/(1+θ)))
		return (θ-auc)*(θ-auc) > z*z*v
	}
	// At the ends V is 0: they are outside but for an auc that is at one.
	return 1 - root.Bisect(func(up float64) bool { return outside(1 - up) }, 1-auc, 1),
		root.Bisect(outside, auc, 1)
}
