package batch

import (
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
	"pgregory.net/rapid"
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

// Every one of the 2^5 subsets comes with its probability: the law itself, not
// only its marginals.
func TestPoissonLaw(t *testing.T) {
	const n, draws = 5, 200_000
	for _, rate := range []float64{0.05, 0.3, 0.5, 0.9} {
		counts := make([]int, 1<<n)
		for step, indices := range must(t)(Poisson(newRand(1), n, rate)) {
			if step == draws {
				break
			}
			counts[mask(indices)]++
		}
		probabilities := make([]float64, 1<<n)
		for set := range probabilities {
			p := 1.0
			for i := range n {
				if set>>i&1 == 1 {
					p *= rate
				} else {
					p *= 1 - rate
				}
			}
			probabilities[set] = p
		}
		chiSquare(t, "subsets", counts, probabilities)
	}
}

func mask(indices []int) int {
	set := 0
	for _, i := range indices {
		set |= 1 << i
	}
	return set
}

// At the sizes of DP-Sinkhorn on MNIST: batch sizes are Binomial(n, q), every
// example is equally likely, consecutive batches are uncorrelated.
func TestPoissonAtScale(t *testing.T) {
	const n, draws = 60_000, 40_000
	const rate = 50.0 / n
	sizes := make([]int, 150)
	places := make([]int, 60)
	var previous int
	var products float64
	for step, indices := range must(t)(Poisson(newRand(2), n, rate)) {
		if step == draws {
			break
		}
		if !slices.IsSorted(indices) || len(slices.Compact(slices.Clone(indices))) != len(indices) {
			t.Fatal("indices do not ascend strictly")
		}
		sizes[len(indices)]++
		for _, i := range indices {
			places[i/1000]++
		}
		if step > 0 {
			products += float64(len(indices)-50) * float64(previous-50)
		}
		previous = len(indices)
	}

	binomial := distuv.Binomial{N: n, P: rate}
	counts, probabilities := make([]int, 0, 64), make([]float64, 0, 64)
	below, above := 0, 0 // tails are lumped, so that every cell expects some 30
	for size, c := range sizes {
		switch {
		case size < 28:
			below += c
		case size > 74:
			above += c
		default:
			counts, probabilities = append(counts, c), append(probabilities, binomial.Prob(float64(size)))
		}
	}
	counts = append(counts, below, above)
	probabilities = append(probabilities, binomial.CDF(27), 1-binomial.CDF(74))
	chiSquare(t, "batch sizes", counts, probabilities)

	uniform := slices.Repeat([]float64{1.0 / 60}, 60)
	chiSquare(t, "places", places, uniform)

	// The mean of draws-1 products of two independent deviations has standard
	// deviation n·q(1-q)/√draws.
	if z := products / (draws - 1) / (n * rate * (1 - rate) / math.Sqrt(draws)); math.Abs(z) > 5 {
		t.Errorf("consecutive batch sizes correlate: z = %.1f", z)
	}
}

func TestPoissonEdges(t *testing.T) {
	for _, test := range []struct {
		n    int
		rate float64
		want int
	}{{0, 0.5, 0}, {0, 1, 0}, {7, 0, 0}, {7, 1, 7}, {7, 1e-300, 0}, {7, math.SmallestNonzeroFloat64, 0}} {
		for step, indices := range must(t)(Poisson(newRand(3), test.n, test.rate)) {
			if len(indices) != test.want {
				t.Errorf("n = %d, rate = %v: %d indices, want %d", test.n, test.rate, len(indices), test.want)
			}
			if step == 10 {
				break
			}
		}
	}
}

// All 20 subsets of 3 out of 6 are equally likely, in all 6 orders, and so are
// pairs of consecutive batches.
func TestWithoutReplacementLaw(t *testing.T) {
	const n, size, draws = 6, 3, 120_000
	arrangements := map[[size]int]int{}
	pairs := map[[2]int]int{}
	last := -1
	for step, indices := range must(t)(WithoutReplacement(newRand(4), n, size)) {
		if step == draws {
			break
		}
		arrangements[[size]int(indices)]++
		if last >= 0 {
			pairs[[2]int{last, mask(indices)}]++
		}
		last = mask(indices)
	}
	flat := func(counts []int, cells int) {
		t.Helper()
		if len(counts) != cells {
			t.Fatalf("%d different outcomes: want %d", len(counts), cells)
		}
		chiSquare(t, "outcomes", counts, slices.Repeat([]float64{1 / float64(cells)}, cells))
	}
	flat(values(arrangements), 120)
	flat(values(pairs), 400)
}

func values[K comparable](counts map[K]int) []int {
	var out []int
	for _, c := range counts {
		out = append(out, c)
	}
	return out
}

func TestWithReplacementLaw(t *testing.T) {
	const n, size, draws = 4, 3, 64_000
	counts := make([]int, n*n*n)
	for step, indices := range must(t)(WithReplacement(newRand(5), n, size)) {
		if step == draws {
			break
		}
		counts[indices[0]*16+indices[1]*4+indices[2]]++
	}
	chiSquare(t, "triples", counts, slices.Repeat([]float64{1.0 / 64}, 64))
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
			if !slices.Equal(seen[epoch], identity(n)) {
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

func TestDeterminism(t *testing.T) {
	draw := func() (out []int) {
		for step, indices := range must(t)(Poisson(newRand(8), 1000, 0.01)) {
			if step == 20 {
				return out
			}
			out = append(out, indices...)
		}
		return out
	}
	if a, b := draw(), draw(); !slices.Equal(a, b) {
		t.Error("the same seed gave different batches")
	}
}

func TestBadArguments(t *testing.T) {
	rng := newRand(9)
	_, negative := Poisson(rng, -1, 0.5)
	_, above := Poisson(rng, 5, 1.5)
	_, below := Poisson(rng, 5, -0.1)
	_, nan := Poisson(rng, 5, math.NaN())
	_, big := WithoutReplacement(rng, 5, 6)
	_, none := WithReplacement(rng, 0, 1)
	_, minus := WithReplacement(rng, 5, -1)
	_, epochs := Epochs(rng, 5, 0)
	_, empty := Epochs(rng, 0, 5)
	_, subset := Subset(rng, 5, 6)
	_, split := Split(rng, 5, 3, 3)
	_, overflow := Split(rng, 5, math.MaxInt, math.MaxInt)
	for i, test := range []struct {
		err  error
		want string
	}{
		{negative, "batch: n = -1: must not be negative"},
		{above, "batch: rate = 1.5: must be in [0, 1]"},
		{below, "batch: rate = -0.1: must be in [0, 1]"},
		{nan, "batch: rate = NaN: must be in [0, 1]"},
		{big, "batch: size = 6: must be in [0, n = 5]"},
		{none, "batch: n = 0: must be positive"},
		{minus, "batch: size = -1: must not be negative"},
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

func BenchmarkPoisson(b *testing.B) {
	for _, n := range []int{60_000, 6_000_000} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			batches := must(b)(Poisson(newRand(1), n, 50/float64(n)))
			next, stop := iter.Pull2(batches)
			defer stop()
			for b.Loop() {
				next()
			}
		})
	}
}
