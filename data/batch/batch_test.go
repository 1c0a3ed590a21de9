package batch

import (
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
	"pgregory.net/rapid"

	_ "coupling/lab/draws"
)

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }

func must(t testing.TB) func(iter.Seq2[int, []int], error) iter.Seq2[int, []int] {
	return func(batches iter.Seq2[int, []int], err error) iter.Seq2[int, []int] {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return batches
	}
}

// chiSquare compares counts with the probabilities of a law. A correct sampler
// fails with probability 1e-6 for a random seed; the seeds here are fixed.
func chiSquare(t *testing.T, what string, counts []int, probabilities []float64) {
	t.Helper()
	total := 0
	for _, c := range counts {
		total += c
	}
	var x2, sum float64
	cells := 0
	for i, p := range probabilities {
		sum += p
		want := p * float64(total)
		if want == 0 {
			if counts[i] > 0 {
				t.Errorf("%s: outcome %d has probability 0 and came %d times", what, i, counts[i])
			}
			continue
		}
		d := float64(counts[i]) - want
		x2 += d * d / want
		cells++
	}
	if math.Abs(sum-1) > 1e-9 {
		t.Fatalf("%s: the test's probabilities add up to %v", what, sum)
	}
	if limit := (distuv.ChiSquared{K: float64(cells - 1)}).Quantile(1 - 1e-6); x2 > limit {
		t.Errorf("%s: chi-square %.1f of %d cells: want at most %.1f", what, x2, cells, limit)
	}
}

func values[K comparable](counts map[K]int) []int {
	var out []int
	for _, c := range counts {
		out = append(out, c)
	}
	return out
}

func TestEpochs(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n, size := rapid.IntRange(1, 50).Draw(rt, "n"), rapid.IntRange(1, 60).Draw(rt, "size")
		seen := map[int][]int{}
		for epoch, indices := range must(t)(Epochs(newRand(6), n, size)) {
			if epoch == 3 {
				break
			}
			if len(indices) != size && len(seen[epoch])+len(indices) != n {
				rt.Fatalf("a batch of %d in the middle of an epoch: want %d", len(indices), size)
			}
			seen[epoch] = append(seen[epoch], indices...)
		}
		for epoch := range 3 {
			slices.Sort(seen[epoch])
			if !slices.Equal(seen[epoch], All(n)) {
				rt.Fatalf("epoch %d holds %v", epoch, seen[epoch])
			}
		}
	})
	orders := map[[4]int]int{}
	for epoch, indices := range must(t)(Epochs(newRand(7), 4, 4)) {
		if epoch == 24_000 {
			break
		}
		orders[[4]int(indices)]++
	}
	chiSquare(t, "orders", values(orders), slices.Repeat([]float64{1.0 / 24}, 24))
}

func TestSplit(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(0, 60).Draw(rt, "n")
		a := rapid.IntRange(0, n).Draw(rt, "a")
		b := rapid.IntRange(0, n-a).Draw(rt, "b")
		parts, err := Split(newRand(rapid.Uint64().Draw(rt, "seed")), n, a, b)
		if err != nil {
			rt.Fatal(err)
		}
		if len(parts) != 2 || len(parts[0]) != a || len(parts[1]) != b {
			rt.Fatalf("parts %v: want sizes %d and %d", parts, a, b)
		}
		all := slices.Sorted(slices.Values(slices.Concat(parts...)))
		if len(slices.Compact(all)) != a+b || (a+b > 0 && (all[0] < 0 || all[a+b-1] >= n)) {
			rt.Fatalf("parts %v: want %d different indices below %d", parts, a+b, n)
		}
	})
}

func TestBadArguments(t *testing.T) {
	rng := newRand(9)
	_, epochs := Epochs(rng, 5, 0)
	_, empty := Epochs(rng, 0, 5)
	_, subset := Subset(rng, 5, 6)
	_, split := Split(rng, 5, 3, 3)
	_, overflow := Split(rng, 5, math.MaxInt, math.MaxInt)
	for i, test := range []struct {
		err  error
		want string
	}{
		{epochs, "batch: size = 0: must be positive"},
		{empty, "batch: n = 0: must be positive"},
		{subset, "batch: k = 6: must be in [0, n = 5]"},
		{split, "batch: sizes = [3 3]: must not be negative, nor add up to more than n = 5"},
	} {
		if test.err == nil || test.err.Error() != test.want {
			t.Errorf("case %d: error %v: want %q", i, test.err, test.want)
		}
	}
	if overflow == nil {
		t.Error("sizes whose sum overflows were accepted")
	}
}
