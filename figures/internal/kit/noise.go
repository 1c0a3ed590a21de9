package kit

import (
	"math"

	"coupling/lab"
)

// Noise sums the squares of released numbers that should be nothing but Gaussian noise, in units of the variance that
// was accounted for.
type Noise struct {
	Squares float64 `json:"squares"`
	Values  int     `json:"values"` // how many they are
}

// Add adds numbers whose noise has standard deviation sigma.
func (n *Noise) Add(values []float64, sigma float64) {
	for _, v := range values {
		n.Squares += v * v / (sigma * sigma)
	}
	n.Values += len(values)
}

// Mean is the mean square; NaN of no numbers.
func (n Noise) Mean() float64 { return n.Squares / float64(n.Values) }

// off is by how many standard errors the mean square is from 1.
func (n Noise) off() float64 { return math.Abs(n.Mean()-1) / math.Sqrt(2/float64(n.Values)) }

// AsAccounted is the claim, not asked where skip gives a reason, that noise has the variance that was accounted for:
// of several trainings or none.
func AsAccounted(skip, source string, seen []Noise, why string, null lab.Null) lab.Claim {
	off := math.Inf(-1)
	for _, n := range seen {
		off = max(off, n.off())
	}
	return AtMostUnless(skip, "mean square of what was released over the variance that was accounted for, less 1, in "+
		"standard errors, largest", source, off, 5, why, null)
}
