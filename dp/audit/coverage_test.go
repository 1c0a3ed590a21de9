package audit

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"coupling/dp/noise"
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
		found, err := answers(0.75, 1, 400, confidence).Epsilon(context.Background(), rng, 0)
		if err != nil {
			t.Fatal(err)
		}
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

// oneResponse audits randomised response on every canary.
func oneResponse(truth float64, canaries, guesses int, confidence float64) OneRun {
	return OneRun{
		Run: func(_ context.Context, rng *rand.Rand, included []bool) ([]float64, error) {
			out, err := noise.Response{Truth: truth}.Tell(noise.Seeded(rng), included)
			scores := make([]float64, len(out))
			for i, yes := range out {
				scores[i] = Response([]bool{yes})
			}
			return scores, err
		},
		Canaries: canaries, Guesses: guesses, Confidence: confidence,
	}
}

// SNJ's bound is attained by randomised response: false alarms come about as often as they may, not less than half as
// often (the number of correct guesses is an integer), and not more.
func TestFalseAlarmsOneRun(t *testing.T) {
	const audits, confidence = 2000, 0.9
	rng := rand.New(rand.NewPCG(5, 5))
	for _, guesses := range []int{100, 40} {
		alarms := 0.0
		for range audits {
			found, err := oneResponse(0.75, 100, guesses, confidence).Epsilon(context.Background(), rng, 0)
			if err != nil {
				t.Fatal(err)
			}
			if found.Refutes(math.Log(3)) {
				alarms++
			}
		}
		t.Logf("%d guesses: %v false alarms in %d", guesses, alarms, audits)
		if alarms > mostAlarms(audits, 1-confidence) {
			t.Errorf("%d guesses: %v false alarms in %d audits at confidence %v", guesses, alarms, audits, confidence)
		}
		if alarms < audits*(1-confidence)/3 {
			t.Errorf("%d guesses: %v false alarms in %d audits: the bound is not sharp", guesses, alarms, audits)
		}
	}
}

// A mechanism that publishes everything with probability δ is (0, δ)-private, and the term in δ covers it.
func TestFalseAlarmsWithDelta(t *testing.T) {
	const audits, confidence, delta, m = 2000, 0.9, 0.01, 50
	rng := rand.New(rand.NewPCG(6, 6))
	audit := OneRun{
		Run: func(_ context.Context, rng *rand.Rand, included []bool) ([]float64, error) {
			scores := make([]float64, len(included))
			all := rng.Float64() < delta
			for i, in := range included {
				scores[i] = rng.Float64() - 0.5
				if all {
					scores[i] = Response([]bool{in})
				}
			}
			return scores, nil
		},
		Canaries: m, Guesses: m, Confidence: confidence,
	}
	alarms := 0.0
	for range audits {
		found, err := audit.Epsilon(context.Background(), rng, delta)
		if err != nil {
			t.Fatal(err)
		}
		if found.Refutes(0) {
			alarms++
		}
	}
	if alarms > mostAlarms(audits, 1-confidence) {
		t.Errorf("%v false alarms in %d audits", alarms, audits)
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
					mass := math.Exp(logMass(k, n, math.Log(p/(1-p))))
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

// Response returns the strongest score for answers of randomised response where the bit is true in world true: the number
// of true answers minus the number of false ones. It does not depend on the probability of a true answer.
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
