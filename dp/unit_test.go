package dp

import (
	"errors"
	"math"
	"slices"
	"testing"
)

// What a batch of 2 of 4 records says, with noise, enumerated: sums of records, one exchanged. The
// claims in the unit that the conventions state are never below, and that of Exchange is attained.
func TestUnitOfFixedBatches(t *testing.T) {
	const noise, eps = 1.3, 0.7
	for _, c := range []struct {
		name   string
		values []float64 // that a record may have
		unit   float64   // what an exchange moves
	}{
		{"records of 0 and 1", []float64{0, 1}, 1},
		{"records clipped to norm 1", []float64{-1, 0, 1}, 2},
	} {
		step := WithoutReplacement{Batch: 2, Size: 4, Event: Gaussian{noise / c.unit}}
		tight := delta(t, step, Relation{Kind: Exchange}, eps).Delta
		relaxed := delta(t, step, Relation{Kind: Substitution}, eps).Delta
		worst := 0.0
		for _, rest := range tuples(c.values, 3) {
			if !slices.IsSorted(rest) {
				continue // sums do not depend on the order
			}
			for _, a := range c.values {
				for _, b := range c.values {
					worst = max(worst, enumerated(append(slices.Clone(rest), a), append(slices.Clone(rest), b),
						noise, eps))
				}
			}
		}
		// The trapezoidal rule of enumerated is good to 1e-6 where the integrand has its kink.
		if worst > tight*(1+1e-5) || worst < tight*(1-1e-5) {
			t.Errorf("%s: δ = %v by enumeration, %v claimed as tight", c.name, worst, tight)
		}
		if relaxed < tight {
			t.Errorf("%s: δ = %v with relaxed distances, below the tight %v", c.name, relaxed, tight)
		}
	}
	// FixedSGD is in units of the norm, of which an exchange moves two.
	got := delta(t, FixedSGD(noise, 2, 4, 1), Relation{Kind: Exchange}, eps).Delta
	if want := delta(t, WithoutReplacement{2, 4, Gaussian{noise / 2}}, Relation{Kind: Exchange}, eps).
		Delta; got != want {
		t.Errorf("FixedSGD: δ = %v, want %v", got, want)
	}
}

// Draws with replacement: a record counts as often as it is drawn.
func TestUnitOfDrawsWithReplacement(t *testing.T) {
	const noise, eps = 1.3, 0.7
	claimed := delta(t, WithReplacement{Batch: 2, Size: 3, Event: Gaussian{noise / 2}},
		Relation{Kind: Substitution}, eps).Delta
	for _, rest := range tuples([]float64{-1, 0, 1}, 2) {
		if !slices.IsSorted(rest) {
			continue // sums do not depend on the order
		}
		for _, a := range []float64{-1, 0, 1} {
			for _, b := range []float64{-1, 0, 1} {
				x, y := append(slices.Clone(rest), a), append(slices.Clone(rest), b)
				if got := hockeyStick(drawSums(x), drawSums(y), noise, eps); got > claimed {
					t.Errorf("%v against %v: δ = %v, claimed %v", x, y, got, claimed)
				}
			}
		}
	}
}

// Exchange has pairs only where they are known, and they are tighter than those of Substitution.
func TestExchange(t *testing.T) {
	r := Relation{Kind: Exchange}
	for _, e := range []Event{Gaussian{1}, Laplace{1}, NormNoise{1, 3}, RandomizedResponse{.7}} {
		for _, e := range []Event{e, WithoutReplacement{50, 100, e}} {
			got := delta(t, e, r, 0.1)
			other := delta(t, e, Relation{Kind: Substitution}, 0.1)
			if !(got.Delta > 0 && got.Delta <= other.Delta) {
				t.Errorf("%v: exchange %v, substitution %v", e, got, other)
			}
		}
	}
	for _, e := range []Event{Poisson{.1, Gaussian{1}}, WithReplacement{3, 10, Gaussian{1}},
		Poisson{.1, NormNoise{1, 2}}, WithReplacement{3, 10, NormNoise{1, 2}}} {
		if _, err := Delta(t.Context(), e, r, 0.3); !errors.Is(err, ErrNoPair) {
			t.Errorf("%v: %v, want ErrNoPair", e, err)
		}
	}
	if _, err := Delta(t.Context(), WithoutReplacement{10, 100, Gaussian{1}}, Relation{Kind: Exchange, Group: 2},
		0.3); !errors.Is(err, ErrNoPair) {
		t.Errorf("groups of 2: %v, want ErrNoPair", err)
	}
}

func delta(t *testing.T, e Event, r Relation, eps float64) Guarantee {
	g := must(Delta(t.Context(), e, r, eps))
	return g
}

// tuples lists all lists of n of the values.
func tuples(values []float64, n int) [][]float64 {
	if n == 0 {
		return [][]float64{nil}
	}
	var out [][]float64
	for _, head := range tuples(values, n-1) {
		for _, v := range values {
			out = append(out, append(slices.Clone(head), v))
		}
	}
	return out
}

// enumerated is the hockey-stick divergence of noisy sums of all pairs of records.
func enumerated(x, y []float64, noise, eps float64) float64 {
	pairs := func(x []float64) (sums []float64) {
		for i := range x {
			for j := range i {
				sums = append(sums, x[i]+x[j])
			}
		}
		return sums
	}
	return hockeyStick(pairs(x), pairs(y), noise, eps)
}

// drawSums lists the sums of two draws with replacement.
func drawSums(x []float64) (sums []float64) {
	for _, a := range x {
		for _, b := range x {
			sums = append(sums, a+b)
		}
	}
	return sums
}

// hockeyStick integrates max(p − e^ε q, 0) of two mixtures with equal weights.
func hockeyStick(p, q []float64, noise, eps float64) float64 {
	density := func(means []float64, x float64) float64 {
		sum := 0.0
		for _, m := range means {
			sum += math.Exp(-(x - m) * (x - m) / (2 * noise * noise))
		}
		return sum / float64(len(means)) / (noise * math.Sqrt(2*math.Pi))
	}
	const step = 0.002
	sum := 0.0
	for x := -14.0; x < 14; x += step {
		sum += max(0, density(p, x)-math.Exp(eps)*density(q, x)) * step
	}
	return sum
}

// One record exchanged in batches of fixed size, of a mechanism of which only (ε, δ) is known:
// never below n/N times the δ of its worst case at 1 + (e^ε′−1)·N/n, which Theorem 9 of Balle,
// Barthe and Gaboardi (2018) says is attained.
func TestExchangeOfAKnownLossCoversItsWorstCase(t *testing.T) {
	const rate, eps, known = .1, 1., 1e-3
	e := WithoutReplacement{5, 50, Approximate{Epsilon: eps, Delta: known}}
	for at := 0.; at < .4; at += .01 {
		inner := math.Log1p(math.Expm1(at) / rate)
		worst := rate * max(known, 1-(1-known)*(1+math.Exp(inner))/(1+math.Exp(eps)))
		if got := delta(t, e, Relation{Kind: Exchange}, at).Delta; got < worst*(1-1e-9) {
			t.Errorf("δ(%v) = %v, but %v is attained", at, got, worst)
		}
	}
}
