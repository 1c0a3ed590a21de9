package analytic

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// spread returns the least, the median and the greatest of v. NaN, where a method failed, counts as the greatest.
func spread(v []float64) (lo, mid, hi float64) {
	s := slices.Clone(v)
	for i, x := range s {
		if math.IsNaN(x) {
			s[i] = math.Inf(1)
		}
	}
	slices.Sort(s)
	return s[0], s[len(s)/2], s[len(s)-1]
}

// slope is the least-squares slope of y over x.
func slope(x, y []float64) float64 {
	_, b := stat.LinearRegression(x, y, nil, false)
	return b
}
