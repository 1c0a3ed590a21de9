package contour

import (
	"context"

	"coupling/dp/pair"
)

// LogDelta bounds log δ(ε), for δ below the range of float64, and for any finite ε, negative too. Lower may be −Inf.
func (a Accountant) LogDelta(steps []pair.Step, eps float64) (pair.Interval, error) {
	if err := pair.DeltaAt(0).Check("contour", steps); err != nil {
		return pair.Interval{}, err
	}
	lo, hi, _, err := a.logDelta(context.Background(), steps, trimAt(steps, eps), eps, 0)
	return pair.Interval{Lower: lo, Upper: min(hi, 0)}, err
}
