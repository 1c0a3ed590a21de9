package amplification

import (
	"context"
	"math"

	"coupling/dp"
	"coupling/dp/contour"
	"coupling/dp/pair"
	"coupling/dp/pld"
	"coupling/lab"
)

// composedParams asks for δ(ε) of many steps for a group, the worst over all splits.
type composedParams struct {
	Setting setting `json:"setting"`
	Group   int     `json:"group"`
	Eps     float64 `json:"eps"`
	Width   float64 `json:"width"` // of the enclosures wanted, relative
	Steps   []int   `json:"steps"` // increasing
}

// composedOut encloses δ for each number of steps. Where δ is below floor no more is known.
type composedOut struct {
	Upper   []float64 `json:"upper"`
	Lower   []float64 `json:"lower"`
	Removed []int     `json:"removed"` // of the group, in the worst split
}

// floor is the least δ that figures show.
const floor = 1e-13

var composedOf = lab.Experiment[composedParams, composedOut]{
	Name: "amplification/composed", Version: 1,
	Run: func(ctx context.Context, c *lab.Cell, p composedParams) (composedOut, error) {
		n := len(p.Steps)
		out := composedOut{Upper: make([]float64, n), Lower: make([]float64, n), Removed: make([]int, n)}
		below := false
		for i := n - 1; i >= 0; i-- { // δ rises with the number of steps: once below the floor it stays there
			out.Upper[i], out.Removed[i] = floor, p.Group
			if below {
				continue
			}
			if err := ctx.Err(); err != nil {
				return out, err
			}
			v, removed, err := p.worst(p.Steps[i])
			if err != nil {
				return out, err
			}
			if below = v.Upper < floor; !below {
				out.Upper[i], out.Lower[i], out.Removed[i] = v.Upper, v.Lower, removed
			}
			c.Progress(n-i, n)
		}
		return out, nil
	},
}

// worst encloses the largest δ over all splits.
func (p composedParams) worst(steps int) (worst pair.Interval, removed int, err error) {
	branches, err := dp.Branches(dp.Repeat{Times: steps, Event: p.Setting.event()}, dp.Relation{Group: p.Group})
	if err != nil {
		return worst, 0, err
	}
	for i, b := range branches {
		v, err := p.enclose(b.Steps)
		if err != nil {
			return worst, 0, err
		}
		if i == 0 || v.Upper > worst.Upper {
			worst.Upper, removed = v.Upper, b.Removed
		}
		worst.Lower = max(worst.Lower, v.Lower)
	}
	return worst, removed, nil
}

// enclose asks the exact accountants where they apply, else privacy-loss distributions as fine as the width asks, and does no work for a
// δ that no figure shows. Where the group is likely to be in no batch at all, the loss nearly has an atom, and the contour is not tried.
func (p composedParams) enclose(steps []pair.Step) (pair.Interval, error) {
	exact := []dp.Accountant{dp.Profile{}}
	if p.Setting.Kind == "gaussian" && p.Setting.Rate*float64(p.Group*steps[0].Times) > 20 {
		exact = append(exact, contour.Accountant{Tol: 1e-6, Work: 1e5})
	}
	for _, a := range exact {
		if v, err := a.Delta(steps, p.Eps); err == nil {
			return v, nil
		}
	}
	rough, roughErr := dp.RDP{}.Delta(steps, p.Eps)
	if roughErr == nil && rough.Upper < floor {
		return rough, nil
	}
	v, err := pld.Accountant{Width: p.Width, Bins: 1 << 18}.Delta(steps, p.Eps)
	if err != nil && roughErr == nil {
		return rough, nil
	}
	return v, err
}

// logWeight is log Σ_{k<K} e^{kε/K}, which post-hoc group privacy multiplies δ(ε/K) by.
func logWeight(group int, eps float64) float64 {
	sum := 0.0
	for k := range group {
		sum += math.Exp(float64(k) * eps / float64(group))
	}
	return math.Log(sum)
}
