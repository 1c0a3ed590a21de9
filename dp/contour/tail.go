package contour

import "math"

// A tail bounds what the nodes beyond some frequency would add, from the decay of each loss.
type tail struct {
	c      *contour
	ratio  float64 // of successive frequencies at which the decay is bounded
	fewest int     // nodes of the grid that the decay is read off
	lines  []*line // if already there
	decays []*decay
}

// beyond bounds h·Σ|e^{ΣT·(K(z)−K(s))}|/|z(z+1)| over the nodes above y, by the integral of a
// decreasing majorant. Far below goal the bound need not be sharp.
func (t *tail) beyond(y, goal float64) (float64, error) {
	if t.decays == nil {
		if t.lines == nil {
			var err error
			if t.lines, err = t.c.lines(0, t.fewest); err != nil {
				return 0, err
			}
		}
		for _, l := range t.lines {
			t.decays = append(t.decays, newDecay(l))
		}
	}
	sum := 0.0
	for y < 1e200 && sum < 1e6 {
		next := y * t.ratio
		inner, outer := 0.0, 0.0
		enough := math.Log(goal*y) - 12
		for i, d := range t.decays {
			times := t.c.parts[i].times
			far := d.beyond(y)
			outer += times * far
			inner += times * d.between(y, next, far, enough/times)
		}
		// |z(z+1)| ≥ y², whose reciprocal integrates to 1/y.
		final := math.Exp(outer) / y
		if final <= max(1e-3*sum, 1e-6*goal, 1e-300) {
			return (sum + final) * (1 + 1e-9), nil
		}
		sum += math.Exp(inner) * (1/y - 1/next)
		y = next
	}
	return math.Inf(1), nil
}
