package contour

import (
	"fmt"
	"math"
	"slices"
)

// A choice is where the contour crosses the real axis, and the period W = 2π/h of its nodes.
type choice struct {
	at      alias
	width   float64
	aliases []alias // the other abscissae that bound the aliases of the period
}

// period is the W for which Chernoff's bound at b keeps the aliases of a contour through a, at ε, below e^goal.
func period(a, b alias, eps, goal float64) float64 {
	return (excess(b.s) + b.k - b.s*eps - goal + 2) / math.Abs(b.s-a.s)
}

// atSaddle puts the contour through the saddle point s.
func atSaddle(parts []part, s alias, eps, goal, scale float64) choice {
	p := choice{at: s, width: math.Inf(1), aliases: []alias{{0, 0}}}
	below := period(s, alias{0, 0}, eps, goal)
	above := math.Inf(1)
	for _, side := range [...]float64{1, -1} {
		best := math.Inf(1)
		for d := 3 / scale; d > 0 && d < 1e6*(s.s+1/scale); d *= 2 {
			if s.s+side*d <= 0 {
				break
			}
			b, err := axis(parts, s.s+side*d)
			if err != nil {
				break
			}
			p.aliases = append(p.aliases, b.alias)
			w := period(s, b.alias, eps, goal)
			if w > best {
				break
			}
			best = w
		}
		if side > 0 {
			above = best
		} else {
			below = min(below, best)
		}
	}
	p.width = max(above, below)
	return p
}

// leftOf puts the contour at or to the left of the saddle point s, where the period is shortest
// while the integrand is at most e² times as large. This is for heavy-tailed losses: right of their
// saddle ΣT·K rises very steeply.
func leftOf(parts []part, s alias, eps, goal float64) choice {
	ratios := [...]float64{0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 1, 1.01, 1.03, 1.1, 1.2, 1.35, 1.6, 2}
	known := []alias{{0, 0}}
	for _, r := range ratios {
		b, err := axis(parts, s.s*r)
		if err != nil {
			break
		}
		known = append(known, b.alias)
	}
	best := choice{at: s, width: math.Inf(1), aliases: known}
	for _, a := range known {
		if a.s == 0 || a.s > s.s || a.k-a.s*eps > s.k-s.s*eps+2 {
			continue
		}
		above, below := math.Inf(1), math.Inf(1)
		for _, b := range known {
			switch {
			case b.s > a.s:
				above = min(above, period(a, b, eps, goal))
			case b.s < a.s:
				below = min(below, period(a, b, eps, goal))
			}
		}
		if w := max(above, below); w < best.width {
			best.at, best.width = a, w
		}
	}
	best.aliases = slices.DeleteFunc(known, func(b alias) bool { return b == best.at })
	return best
}

// chooseContour chooses the abscissa of the contour, given the saddle point s for ε, so that
// aliases are below e^goal.
func chooseContour(parts []part, s alias, eps, goal, scale float64) (choice, error) {
	p := atSaddle(parts, s, eps, goal, scale)
	if p.width > 2*period(s, alias{0, 0}, eps, goal) {
		if q := leftOf(parts, s, eps, goal); q.width < p.width {
			p = q
		}
	}
	if p.width = max(p.width, 1e-3*scale); math.IsInf(p.width, 0) || math.IsNaN(p.width) {
		return p, fmt.Errorf("contour: no period bounds the aliases at ε = %v: %w", eps, ErrCost)
	}
	return p, nil
}
