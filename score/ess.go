package score

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat"
)

// ESS returns how many independent draws the values of m chains of n steps are worth for their mean, and R̂, the ratio of
// the standard deviation of all values to that within the chains, which is near 1 where the chains tell the same story.
// Autocorrelations are summed until a pair of them is not positive, each pair no larger than the one before (Geyer 1992);
// variances within and between chains are combined as by Vehtari et al. (2021), equations 1–4 and 10–13, without splitting
// or ranks. chains[c][t] are at least 2×4 values; constant ones have an ESS of NaN. Cost m·n·(lags summed).
func ESS(chains [][]float64) (ess, rhat float64, err error) {
	m := len(chains)
	if m < 2 || len(chains[0]) < 4 {
		return 0, 0, fmt.Errorf("score: %d chains: at least 2 of at least 4 values: %w", m, ErrShape)
	}
	n := len(chains[0])
	means, within := make([]float64, m), 0.0
	for c, x := range chains {
		if len(x) != n {
			return 0, 0, fmt.Errorf("score: chains[%d] has %d values, the first %d: %w", c, len(x), n, ErrShape)
		}
		var v float64
		means[c], v = stat.MeanVariance(x, nil)
		within += v / float64(m)
	}
	all := within*float64(n-1)/float64(n) + stat.Variance(means, nil)
	if !(within > 0) {
		return math.NaN(), math.NaN(), nil
	}
	rho := func(lag int) float64 {
		if lag >= n {
			return -1
		}
		sum := 0.0
		for c, x := range chains {
			for t := range n - lag {
				sum += (x[t] - means[c]) * (x[t+lag] - means[c])
			}
		}
		return 1 - (within-sum/float64(n*m))/all
	}
	tau, before := -1.0, math.Inf(1)
	for lag := 0; lag < n; lag += 2 {
		pair := rho(lag) + rho(lag+1)
		if !(pair > 0) {
			break
		}
		before = min(before, pair)
		tau += 2 * before
	}
	total := float64(n * m)
	return total / max(tau, 1/math.Log10(total)), math.Sqrt(all / within), nil
}
