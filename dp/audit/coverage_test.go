package audit

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"coupling/dp/pair"
	"coupling/lab/must"
)

// mostAlarms is a bound on the false alarms of n audits at level alpha: 4 standard deviations more than expected.
func mostAlarms(n int, alpha float64) float64 {
	return float64(n)*alpha + 4*math.Sqrt(float64(n)*alpha*(1-alpha))
}

// Randomised response has ε = log 3 exactly. No more than 1 − Confidence of many audits may find more.
func TestFalseAlarmsTwoWorlds(t *testing.T) {
	const audits, confidence = 400, 0.8
	rng := rand.New(rand.NewPCG(4, 4))
	alarms, mean := 0.0, 0.0
	for range audits {
		found := must.Get(answers(0.75, 1, 400, confidence).Epsilon(context.Background(), rng, 0))
		if found.Refutes(math.Log(3)) {
			alarms++
		}
		mean += found.Epsilon / audits
	}
	t.Logf("%v false alarms in %d, mean bound %.3f of %.3f", alarms, audits, mean, math.Log(3))
	if alarms > mostAlarms(audits, 1-confidence) {
		t.Errorf("%v false alarms in %d audits at confidence %v", alarms, audits, confidence)
	}
	if mean < 0.6*math.Log(3) { // log(0.68/0.32) = 0.75 at 200 runs a world: three quarters less sampling error
		t.Errorf("mean bound %v", mean)
	}
}

// By enumeration: for every probability the interval misses it with at most the probability that it says, on each side.
func TestClopperPearsonCovers(t *testing.T) {
	for _, n := range []int{1, 5, 40} {
		for _, confidence := range []float64{0.5, 0.9, 0.99} {
			lo, hi := make([]float64, n+1), make([]float64, n+1)
			for k := range n + 1 {
				var err error
				if lo[k], hi[k], err = ClopperPearson(k, n, confidence); err != nil {
					t.Fatal(err)
				}
			}
			for p := 0.005; p < 1; p += 0.005 {
				below, above := 0.0, 0.0
				for k := range n + 1 {
					mass := math.Exp(pair.LogBinomial(n, k) + float64(k)*math.Log(p) + float64(n-k)*math.Log1p(-p))
					if p < lo[k] {
						below += mass
					}
					if p > hi[k] {
						above += mass
					}
				}
				if tail := (1-confidence)/2 + 1e-12; below > tail || above > tail { // rounding of the sum
					t.Errorf("n = %d, p = %v, confidence %v: misses %v below, %v above", n, p, confidence, below, above)
				}
			}
		}
	}
}

// Response returns the strongest score for answers of randomised response where the bit is true in
// world true: the number of true answers minus the number of false ones. It does not depend on the
// probability of a true answer.
func Response(answers []bool) float64 {
	sum := 0.0
	for _, yes := range answers {
		if yes {
			sum++
		} else {
			sum--
		}
	}
	return sum
}
