package solve

import "math"

// relaxation chooses the over-relaxation ω. Plain Sinkhorn's error falls by a factor θ a step, the
// largest squared singular value below 1 of the plan between its marginals; the best ω is
// 2/(1+√(1−θ)) (Lehmann et al. 2022), which reduces the number of steps to its square root. θ is
// estimated from the errors of plain steps; over-relaxation stops if the error then grows.
type relaxation struct {
	fixed  float64 // the user's ω; 0 is to be estimated
	omega  float64
	steps  int
	last   float64 // error of the last step
	theta  float64 // its ratio to the one before
	at     float64 // error when ω was set
	failed int
}

// observe notes the error, so many steps after that of the last call, and updates omega.
func (o *relaxation) observe(err float64, steps int) {
	if o.fixed != 0 {
		o.omega = o.fixed
		return
	}
	o.steps += steps
	ratio := math.Pow(err/o.last, 1/float64(steps))
	o.last = err
	if o.omega > 1 {
		if err > 4*o.at || o.steps > 500 && ratio > 1 {
			*o = relaxation{omega: 1, last: err, failed: o.failed + 1}
		} else if o.steps%50 < steps {
			o.at = err
		}
		return
	}
	// Plain steps: wait until the ratio is steady, longer after each failure.
	if o.steps > 8<<o.failed && o.failed < 6 && math.Abs(ratio-o.theta) < 0.05*(1-o.theta) && ratio < 1 {
		o.omega = min(1.99, 2/(1+math.Sqrt(1-ratio)))
		o.at, o.steps = err, 0
	}
	o.theta = ratio
}
