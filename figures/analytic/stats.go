package analytic

import (
	"iter"
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

// groupBy yields the runs of v with equal keys, in order.
func groupBy[T any, K comparable](v []T, key func(T) K) iter.Seq[[]T] {
	return func(yield func([]T) bool) {
		for len(v) > 0 {
			n := 1
			for n < len(v) && key(v[n]) == key(v[0]) {
				n++
			}
			if !yield(v[:n]) {
				return
			}
			v = v[n:]
		}
	}
}

// nanMax is the greater of two, NaN if one is.
func nanMax(a, b float64) float64 {
	if math.IsNaN(a) || math.IsNaN(b) {
		return math.NaN()
	}
	return max(a, b)
}

// slope is the least-squares slope of y over x.
func slope(x, y []float64) float64 {
	_, b := stat.LinearRegression(x, y, nil, false)
	return b
}
