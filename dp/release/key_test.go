package release

import (
	"errors"
	"math"
	"testing"

	"coupling/dp"
)

// Batches hold each index with the probability that is asked for.
func TestPoisson(t *testing.T) {
	const n, rate, trials = 200, .3, 400
	total := 0
	for k := range trials {
		got, err := Poisson(SeededKey(5).Source("batch", k), n, rate)
		if err != nil {
			t.Fatal(err)
		}
		total += len(got)
	}
	mean, sd := n*rate*trials, math.Sqrt(n*rate*(1-rate)*trials)
	if math.Abs(float64(total)-mean) > 5*sd {
		t.Errorf("%d drawn, want %g ± %g", total, mean, sd)
	}
	if _, err := Poisson(SeededKey(5).Source("batch", 0), n, 1.5); !errors.Is(err, dp.ErrParameter) {
		t.Errorf("rate 1.5: %v", err)
	}
}
