package noise

import "math"

// Grid is the set of multiples of Step, a power of two.
type Grid struct{ Step float64 }

const (
	// inputSteps is the largest multiple that a value is rounded to.
	inputSteps = 1 << 52
	// outputSteps is the largest multiple that is released: all are float64 numbers.
	outputSteps = 1 << 53
	// endless is the number of steps at which noise is cut off: added to any input it leaves the
	// range of outputs, where the output is cut off anyway.
	endless = 1 << 54
)

// Limit is the largest value that can be released: values are rounded to [−Limit, Limit], outputs
// to [−2·Limit, 2·Limit]. It is 2^52 steps.
func (g Grid) Limit() float64 { return inputSteps * g.Step }

// Round returns the multiples of Step next to values, halves upwards, at most Limit in size. Sums
// of them are exact as long as they are below 2·Limit. Round moves neighbours apart by less than a
// step in each coordinate: numbers that differ by x are at most ⌈x/Step⌉ steps apart afterwards.
// Errors: a step that is not a power of two in [2^-960, 2^960], values that are not finite.
func (g Grid) Round(values []float64) ([]float64, error) {
	return g.add(values, func() (int64, error) { return 0, nil })
}

// steps returns rounded values in units of the step.
func (g Grid) steps(values []float64) ([]int64, error) {
	if err := g.check(); err != nil {
		return nil, err
	}
	out := make([]int64, len(values))
	for i, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, bad("values[%d] = %v: must be finite", i, v)
		}
		// the division is exact, unless the result underflows or is cut off
		y := min(max(v/g.Step, -inputSteps), inputSteps)
		k := math.Floor(y)
		if y-k >= 0.5 {
			k++
		}
		out[i] = int64(k)
	}
	return out, nil
}

func (g Grid) check() error {
	if frac, exp := math.Frexp(g.Step); frac != 0.5 || exp < -959 || exp > 961 {
		return bad("Step = %v: must be a power of two in [2^-960, 2^960]", g.Step)
	}
	return nil
}

const (
	finest   = 0x1p-40 // the finest granularity, in units of the scale
	coarsest = 0x1p10  // the coarsest
	usual    = 31      // the default is between 2^-31 and 2^-30
)

// gridFor returns the grid of a mechanism and its scale in steps. name is that of the scale.
func gridFor(name string, scale, granularity float64) (g Grid, inSteps float64, err error) {
	if !(scale >= 0x1p-900 && scale <= 0x1p900) {
		return g, 0, bad("%s = %v: must be positive, in [2^-900, 2^900]", name, scale)
	}
	g.Step = granularity
	if granularity == 0 {
		_, exp := math.Frexp(scale)
		g.Step = math.Ldexp(1, exp-usual)
	}
	if frac, _ := math.Frexp(g.Step); frac != 0.5 || g.Step < finest*scale || g.Step > coarsest*scale {
		return g, 0, bad("Granularity = %v: must be a power of two between %s·2^-40 and %s·2^10 (%s = %v), or 0",
			granularity, name, name, name, scale)
	}
	return g, scale / g.Step, nil
}

// release rounds values to the grid and adds noise. It returns all values or an error.
func release(src Source, g Grid, values []float64, draw func() (int64, error)) ([]float64, error) {
	if src == nil {
		return nil, failed("src = nil")
	}
	return g.add(values, draw)
}

// add is the rounded values with so many steps added to each.
func (g Grid) add(values []float64, draw func() (int64, error)) ([]float64, error) {
	steps, err := g.steps(values)
	if err != nil {
		return nil, err
	}
	out := make([]float64, len(steps))
	for i, k := range steps {
		n, err := draw()
		if err != nil {
			return nil, err
		}
		out[i] = float64(min(max(k+n, -outputSteps), outputSteps)) * g.Step
	}
	return out, nil
}
