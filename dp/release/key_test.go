package release

import (
	"errors"
	"math"
	"math/bits"
	"runtime"
	"slices"
	"testing"

	"coupling/dp"
	"coupling/lab/must"

	"gonum.org/v1/gonum/stat"
)

// Batches hold each index with the probability that is asked for.
func TestPoisson(t *testing.T) {
	const n, trials = 205, 2000
	for _, rate := range []float64{.002, .3, .6} { // words that are skipped or not, bytes that decide or not
		counts := [n]float64{}
		for k := range trials {
			for _, i := range must.Get(Poisson(SeededKey(5).Source("batch", k), n, rate)) {
				counts[i]++
			}
		}
		all, sd := 0., math.Sqrt(rate*(1-rate)*trials)
		for i, c := range counts {
			if all += c; math.Abs(c-rate*trials) > 5*sd+1 {
				t.Errorf("rate %g: %d is drawn %g times, want %g ± %g", rate, i, c, rate*trials, sd)
			}
		}
		if sd *= math.Sqrt(n); math.Abs(all-n*rate*trials) > 4*sd {
			t.Errorf("rate %g: %g drawn, want %g ± %g", rate, all, n*rate*trials, sd)
		}
	}
	if _, err := Poisson(SeededKey(5).Source("batch", 0), n, 1.5); !errors.Is(err, dp.ErrParameter) {
		t.Errorf("rate 1.5: %v", err)
	}
}

// Noise has the law that is asked for, in every chunk another, and is the same for any number of workers.
func TestNoisy(t *testing.T) {
	values := make([]float64, 3*chunk+5)
	for i := range values {
		values[i] = 7
	}
	key := SeededKey(6)
	draw := func(workers int) []float64 {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(workers))
		return must.Get(key.Noisy(key.Mark("x", 3, values, 2), values, 2, 1))
	}
	one, three := draw(1), draw(3)
	if !slices.Equal(one, three) {
		t.Error("noise depends on the number of workers")
	}
	if slices.Equal(one[:chunk], one[chunk:2*chunk]) {
		t.Error("two chunks have the same noise")
	}
	mean, sd := stat.MeanStdDev(one, nil)
	n := float64(len(one)) // five standard errors of each
	if math.Abs(mean-7) > 5*2/math.Sqrt(n) || math.Abs(sd-2) > 5*2/math.Sqrt(2*n) {
		t.Errorf("mean %g and deviation %g, want 7 and 2", mean, sd)
	}
	if out, err := key.Noisy([32]byte{}, nil, 2, 1); err != nil || len(out) != 0 {
		t.Errorf("no values: %v, %v", out, err)
	}
	values[chunk] = math.NaN()
	if _, err := key.Noisy([32]byte{}, values, 2, 1); !errors.Is(err, dp.ErrParameter) {
		t.Errorf("NaN: %v", err)
	}
}

// Marks tell releases apart that differ in anything, and in nothing else.
func TestMark(t *testing.T) {
	values := make([]float64, 2000)
	of := func(key Key, stream string, step int, v []float64, sigma float64) [32]byte {
		return key.Mark(stream, step, v, sigma)
	}
	same := of(SeededKey(1), "a", 1, values, 1)
	if of(SeededKey(1), "a", 1, values, 1) != same {
		t.Error("a mark is not a function")
	}
	other := slices.Clone(values)
	other[1999] = math.Copysign(0, -1)
	for i, m := range [][32]byte{
		of(SeededKey(2), "a", 1, values, 1), of(SeededKey(1), "b", 1, values, 1), of(SeededKey(1), "a", 2, values, 1),
		of(SeededKey(1), "a", 1, other, 1), of(SeededKey(1), "a", 1, values, 2),
		of(SeededKey(1), "a", 1, values[:1999], 1),
	} {
		if m == same {
			t.Errorf("change %d is not seen", i)
		}
	}
}

// A mark stands for the noise that comes of it: where this fails the noise of a mark has changed,
// and scheme must be raised with the numbers here, which are what it gave when they were written.
func TestScheme(t *testing.T) {
	key, values := SeededKey(8), make([]float64, 128) // as many as for which strips are made
	out := must.Get(key.Noisy([32]byte{1}, values, 1, 1))
	if want := []float64{-0.7751320330426097, 2.0931009389460087,
		1.7196670034900308}; scheme != "noise of release 4\n" || !slices.Equal(out[:3], want) {
		t.Errorf("%q gives %v, want %v", scheme, out[:3], want)
	}
}

// Each record is in exactly three of seven batches, and all 35 choices are equally likely, within
// five standard deviations.
func TestAllocate(t *testing.T) {
	const n = 35_000
	batches := must.Get(Allocate(SeededKey(4).Source("epoch", 0), n, 7, 3))
	of := make([]uint, n)
	for k, batch := range batches {
		for _, i := range batch {
			of[i] |= 1 << k
		}
	}
	count := map[uint]int{}
	for _, set := range of {
		count[set]++
	}
	for set, c := range count {
		if bits.OnesCount(set) != 3 || math.Abs(float64(c)-1000) > 5*math.Sqrt(1000) {
			t.Errorf("batches %b: %d records, want some 1000", set, c)
		}
	}
	if len(count) != 35 {
		t.Errorf("%d different choices, want 35", len(count))
	}
	if _, err := Allocate(SeededKey(4).Source("epoch", 0), n, 3, 4); !errors.Is(err, dp.ErrParameter) {
		t.Errorf("four of three: %v", err)
	}
}
