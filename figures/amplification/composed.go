package amplification

import (
	"context"
	"math"

	"coupling/dp"
	"coupling/dp/pair"
	"coupling/dp/rdp"
	"coupling/lab"
)

// ComposedParams asks for δ(ε) of many steps for a group, the worst over all splits.
type ComposedParams struct {
	Setting Mechanism `json:"setting"`
	Group   int       `json:"group" min:"1" doc:"records in which data sets differ"`
	Eps     float64   `json:"eps" min:"0" doc:"ε"`
	Width   float64   `json:"width" min:">0" doc:"of the enclosures wanted, relative"`
	Steps   []int     `json:"steps" min:"1" doc:"composed, increasing"`
}

// ComposedOut encloses δ for each number of steps. Where δ is below floor no more is known.
type ComposedOut struct {
	Upper   []float64 `json:"upper"`
	Lower   []float64 `json:"lower"`
	Removed []int     `json:"removed"` // of the group, in the worst split
}

// floor is the least δ that figures show.
const floor = 1e-13

var composedOf = lab.Experiment[ComposedParams, ComposedOut]{
	Name: "amplification/composed", Version: 2,
	Run: func(ctx context.Context, c *lab.Cell, p ComposedParams) (ComposedOut, error) {
		n := len(p.Steps)
		out := ComposedOut{Upper: make([]float64, n), Lower: make([]float64, n), Removed: make([]int, n)}
		below := false
		for i := n - 1; i >= 0; i-- { // δ rises with the number of steps: once below the floor it stays there
			out.Upper[i], out.Removed[i] = floor, p.Group
			if below {
				continue
			}
			v, removed := p.worst(ctx, p.Steps[i])
			if below = v.Upper < floor; !below {
				out.Upper[i], out.Lower[i], out.Removed[i] = v.Upper, v.Lower, removed
			}
			c.Progress(n-i, n)
		}
		return out, nil
	},
}

// worst encloses the largest δ over all splits, and does no work for a δ that no figure shows.
func (p ComposedParams) worst(ctx context.Context, steps int) (pair.Interval, int) {
	event, relation := dp.Repeat{Times: steps, Event: p.Setting.event()}, dp.Relation{Group: p.Group}
	branches := lab.Must(dp.Branches(event, relation))
	if v, ok := negligible(branches, p.Eps); ok {
		return v, branches[0].Removed
	}
	g := lab.Must(dp.DeltaBy(ctx, dp.Best{Width: p.Width}, event, relation, p.Eps))
	return pair.Interval{Lower: g.Lower, Upper: g.Delta}, g.Removed
}

// coarseOrders are enough to tell what is far below the floor.
var coarseOrders = logSpace(1.25, 1e4, 14)

// negligible bounds δ by Rényi divergences and reports whether it is below the floor at every split.
func negligible(branches []dp.Branch, eps float64) (worst pair.Interval, ok bool) {
	for _, b := range branches {
		v, err := rdp.Accountant{Orders: coarseOrders}.Bound(context.Background(), b.Steps, pair.DeltaAt(eps))
		if err != nil || v.Upper >= floor {
			return worst, false
		}
		worst.Upper = max(worst.Upper, v.Upper)
	}
	return worst, true
}

// logWeight is log Σ_{k<K} e^{kε/K}, which post-hoc group privacy multiplies δ(ε/K) by.
func logWeight(group int, eps float64) float64 {
	sum := 0.0
	for k := range group {
		sum += math.Exp(float64(k) * eps / float64(group))
	}
	return math.Log(sum)
}
