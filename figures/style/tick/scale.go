package tick

import (
	"math"

	"gonum.org/v1/plot"
)

// LinearScale is plot.LinearScale for ranges whose length overflows too.
type LinearScale struct{}

// LogScale is plot.LogScale without its panic: a value that is not positive has no place, NaN or −Inf.
type LogScale struct{}

var (
	_ plot.Normalizer = LinearScale{}
	_ plot.Normalizer = LogScale{}
)

// Normalize returns the place of x between lo, 0, and hi, 1.
func (LinearScale) Normalize(lo, hi, x float64) float64 { return (x/2 - lo/2) / (hi/2 - lo/2) }

// Normalize returns the place of x between lo, 0, and hi, 1.
func (LogScale) Normalize(lo, hi, x float64) float64 {
	l := log10(lo)
	return (log10(x) - l) / (log10(hi) - l)
}

// log10 is math.Log10 for subnormal numbers too, which the assembly behind it on amd64 takes for about 10⁻³⁰⁸.
func log10(x float64) float64 {
	if x > 0 && x < 1e-300 {
		return math.Log10(x*1e300) - 300
	}
	return math.Log10(x)
}
