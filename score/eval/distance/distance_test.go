package distance_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"pgregory.net/rapid"

	"coupling/data"
	_ "coupling/lab/draws"
	"coupling/lab/must"
	"coupling/ot/gaussian"
	"coupling/score/eval/distance"
)

func seed(n uint64) *rand.Rand { return rand.New(rand.NewPCG(n, 11)) }

// normal is n rows of N(mean, scale²) in d dimensions.
func normal(rng *rand.Rand, n, d int, mean, scale float64) *mat.Dense {
	x := mat.NewDense(n, d, nil)
	x.Apply(func(int, int, float64) float64 { return mean + scale*rng.NormFloat64() }, x)
	return x
}

// Two points of mean 0 and variance 2, and the same moved by 3: the Gaussians differ by their means alone.
func ExampleFrechet() {
	x := mat.NewDense(2, 1, []float64{-1, 1})
	y := mat.NewDense(2, 1, []float64{2, 4})
	d, err := distance.Frechet(x, y)
	fmt.Println(d, err)
	// Output: 9 <nil>
}

// Real points everywhere, generated ones in the left half: all of them precise, half of the real ones recalled.
func ExampleNeighbours_Coverage() {
	real := mat.NewDense(8, 1, []float64{0, 1, 2, 3, 100, 101, 102, 103})
	generated := mat.NewDense(4, 1, []float64{.4, 1.4, 2.4, 3.4})
	c, err := distance.Neighbours{K: 1}.Coverage(context.Background(), real, generated)
	fmt.Printf("%.3g %.3g %.3g %.3g %v\n", c.Precision, c.Recall, c.Density, c.Coverage, err)
	// Output: 1 0.5 1.75 0.5 <nil>
}

// Between diagonal covariances the distance is Σ (m − m')² + (σ − σ')².
func TestFrechetOfGaussians(t *testing.T) {
	// Exact means and covariances: columns orthogonal and scaled. Signs of a 4×4 Hadamard matrix.
	h := mat.NewDense(4, 2, []float64{1, 1, 1, -1, -1, 1, -1, -1})
	var k mat.Dense
	k.Scale(3, h)
	// variances 4/3 and 9·4/3: (√12 − √(4/3))² = 16/3 in both dimensions
	if got, err := distance.Frechet(h, &k); err != nil || math.Abs(got-32./3) > 1e-12 {
		t.Errorf("Frechet = %v, %v, want 32/3", got, err)
	}
}

// It is what package ot/gaussian makes of the two covariances, whose square roots lose half of the
// digits where they are singular; of more and of fewer rows than columns.
func TestFrechetIsWasserstein(t *testing.T) {
	for _, n := range []int{4, 9, 10, 11, 40} {
		x, y := normal(seed(1), n, 10, 0, 1), normal(seed(2), 25, 10, .5, 2)
		p, err1 := gaussian.Empirical(x, nil)
		q, err2 := gaussian.Empirical(y, nil)
		want, err3 := gaussian.Wasserstein(p, q)
		got, err4 := distance.Frechet(x, y)
		must.Do(errors.Join(err1, err2, err3, err4))
		tol := 1e-12
		if n <= 10 {
			tol = 1e-6
		}
		if math.Abs(got-want) > tol*want {
			t.Errorf("n = %d: Frechet = %v, Wasserstein %v", n, got, want)
		}
	}
}

// Fewer rows than dimensions: covariances of rank 4 in 50 dimensions. Samples in orthogonal subspaces share nothing, so
// the distance is that of the means plus both traces; and that of a sample to itself is rounding.
func TestFrechetSingular(t *testing.T) {
	const n, d = 5, 50
	x, y := mat.NewDense(n, d, nil), mat.NewDense(n, d, nil)
	rng := seed(3)
	for i := range n {
		for j := range d / 2 {
			x.Set(i, j, rng.NormFloat64())
			y.Set(i, d/2+j, rng.NormFloat64())
		}
	}
	want := 0.
	for _, s := range []*mat.Dense{x, y} {
		for j := range d {
			mean, variance := stat.MeanVariance(mat.Col(nil, j, s), nil)
			want += mean*mean + variance
		}
	}
	if got, err := distance.Frechet(x, y); err != nil || math.Abs(got-want) > 1e-10*want {
		t.Errorf("Frechet = %v, %v, want %v", got, err, want)
	}
	if got, err := distance.Frechet(x, x); err != nil || got > 1e-12*want {
		t.Errorf("Frechet(x, x) = %v, %v", got, err)
	}
}

// KID is its definition, summed up in two loops.
func TestKIDDefinition(t *testing.T) {
	x, y := normal(seed(1), 70, 5, 0, 1), normal(seed(2), 1100, 5, .3, 1)
	kernel := func(a, b []float64) float64 {
		s := 0.
		for i, v := range a {
			s += v * b[i]
		}
		return math.Pow(s/float64(len(a))+1, 3)
	}
	mean := func(a, b *mat.Dense) (s float64) {
		n, _ := a.Dims()
		m, _ := b.Dims()
		count := 0
		for i := range n {
			for j := range m {
				if a != b || i != j {
					s += kernel(a.RawRowView(i), b.RawRowView(j))
					count++
				}
			}
		}
		return s / float64(count)
	}
	want := mean(x, x) + mean(y, y) - 2*mean(x, y)
	got, err := distance.KID(t.Context(), x, y)
	if err != nil || math.Abs(got.Value-want) > 1e-12*mean(x, x) {
		t.Errorf("KID = %v, %v, want %v", got.Value, err, want)
	}
}

// Over many samples of equal distributions the mean of KID is 0 within its error, and the standard error is between the
// spread and √2 times the spread; with different distributions it is the spread. Of 400 samples the spread is known to
// 1/√800 = 3.5%, more where tails are heavy; bounds are four times that.
func TestKIDUnbiased(t *testing.T) {
	rounds := 400 // the spread of them is known to 4 %, to 5 % in short
	if testing.Short() {
		rounds = 200
	}
	for _, c := range []struct{ shift, lo, hi float64 }{{0, .86, 1.42 * 1.14}, {.8, .86, 1.14}} {
		values, squares := make([]float64, rounds), 0.
		for i := range rounds {
			k := must.Get(distance.KID(t.Context(), normal(seed(uint64(2*i)), 50, 4, 0, 1),
				normal(seed(uint64(2*i+1)), 60, 4, c.shift, 1)))
			values[i] = k.Value
			squares += k.StdError * k.StdError / float64(rounds)
		}
		mean, std := stat.MeanStdDev(values, nil)
		if c.shift == 0 && math.Abs(mean) > 4*std/math.Sqrt(float64(rounds)) {
			t.Errorf("mean of KID of equal distributions = %v ± %v", mean, std/math.Sqrt(float64(rounds)))
		}
		if ratio := math.Sqrt(squares) / std; ratio < c.lo || ratio > c.hi {
			t.Errorf("shift %v: standard error is %v of the spread, want %v to %v", c.shift, ratio, c.lo, c.hi)
		}
	}
}

// Distances do not change when rows are reordered, of one of two equal samples too, nor precision and its kin when all
// is scaled by a power of two, translated by integers or has its columns exchanged.
func TestInvariance(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := seed(rapid.Uint64().Draw(t, "seed"))
		n, m, d := rapid.IntRange(5, 20).Draw(t, "n"), rapid.IntRange(5, 20).Draw(t, "m"),
			rapid.IntRange(1, 5).Draw(t, "d")
		x, y := normal(rng, n, d, 0, 1), normal(rng, m, d, .2, 1)
		shuffled := mat.NewDense(n, d, nil)
		for i, j := range rng.Perm(n) {
			shuffled.SetRow(j, x.RawRowView(i))
		}
		ctx := context.Background()
		f1, err1 := distance.Frechet(x, y)
		f2, err2 := distance.Frechet(shuffled, y)
		k1, err3 := distance.KID(ctx, x, x)
		k2, err4 := distance.KID(ctx, shuffled, x)
		c1, err5 := distance.Neighbours{K: 2}.Coverage(ctx, x, y)
		c2, err6 := distance.Neighbours{K: 2}.Coverage(ctx, shuffled, y)
		must.Do(errors.Join(err1, err2, err3, err4, err5, err6))
		near := cmpopts.EquateApprox(1e-9, 1e-11)
		if diff := cmp.Diff([]any{f1, k1, c1}, []any{f2, k2, c2}, near); diff != "" {
			t.Fatal(diff)
		}
		moved, movedY := mat.DenseCopyOf(x), mat.DenseCopyOf(y)
		for _, s := range []*mat.Dense{moved, movedY} {
			s.Apply(func(_, _ int, v float64) float64 { return 4 * v }, s)
		}
		c3, err := distance.Neighbours{K: 2}.Coverage(ctx, moved, movedY)
		if err != nil || c3 != c1 {
			t.Fatalf("scaled: %+v, %v, want %+v", c3, err, c1)
		}
	})
}

// Constructed sets: a memorised sample, one mode of two, and one far away.
func TestCoverageOfConstructedSets(t *testing.T) {
	ctx := t.Context()
	left, right := normal(seed(1), 200, 2, 0, 1), normal(seed(2), 200, 2, 100, 1)
	var both mat.Dense
	both.Stack(left, right)
	far := normal(seed(3), 100, 2, -1000, 1)
	for _, c := range []struct {
		name            string
		real, generated *mat.Dense
		want            distance.Coverage
	}{
		// Each ball of a sample with itself holds its own centre and three more: density (3+1)/3.
		{"memorised", &both, &both, distance.Coverage{Precision: 1, Recall: 1, Density: 4. / 3, Coverage: 1}},
		{"one mode", &both, left, distance.Coverage{Precision: 1, Recall: .5, Density: 4. / 3, Coverage: .5}},
		{"too much", left, &both, distance.Coverage{Precision: .5, Recall: 1, Density: 2. / 3, Coverage: 1}},
		{"far away", &both, far, distance.Coverage{}},
	} {
		got, err := distance.Neighbours{}.Coverage(ctx, c.real, c.generated)
		if diff := cmp.Diff(c.want, got, cmpopts.EquateApprox(0, 1e-12)); diff != "" || err != nil {
			t.Errorf("%s: %v %s", c.name, err, diff)
		}
	}
	// Independent samples of one distribution: density 1 and coverage 1 − 2^−K nearly, here K = 5 of 1,000 each.
	got := must.Get(distance.Neighbours{K: 5}.Coverage(ctx, normal(seed(4), 1000, 3, 0, 1),
		normal(seed(5), 1000, 3, 0, 1)))
	want := 1.
	for i := 1.; i <= 5; i++ {
		want *= (1000 - i) / (2000 - i)
	}
	// Coverage is the mean of 1,000 weakly dependent indicators, of deviation .0055 if independent; density of more.
	if want = 1 - want; math.Abs(got.Coverage-want) > 5*.0055 || math.Abs(got.Density-1) > .1 {
		t.Errorf("%+v, want density 1 and coverage %v", got, want)
	}
}

// pixels are the values of an image, black 0 and white 1.
type pixels struct{}

func (pixels) Name() (string, error) { return "pixels", nil }

func (pixels) Of(_ context.Context, m *data.Images) (*mat.Dense, error) {
	m, err := m.Scale(0, 1)
	if err != nil {
		return nil, err
	}
	return m.Mat(), nil
}

func TestBetween(t *testing.T) {
	m := must.Get(data.New(40, 1, 2, 2))
	rng := seed(1)
	for i := range m.Pixels() {
		m.Pixels()[i] = rng.Float32()
	}
	signed := must.Get(m.Scale(-1, 1))
	r := must.Get(distance.Between(t.Context(), pixels{}, signed, m))
	// the same images in two ranges are the same to float32
	if r.Features != "pixels" || r.Frechet > 1e-6 || r.Coverage.Precision != 1 || r.Coverage.Recall != 1 ||
		r.KID.Value > 0 {
		t.Errorf("%+v", r)
	}
}

func TestRefusals(t *testing.T) {
	x, wide := normal(seed(1), 4, 2, 0, 1), normal(seed(1), 4, 3, 0, 1)
	bad := mat.DenseCopyOf(x)
	bad.Set(1, 1, 1e200)
	ctx := t.Context()
	for name, err := range map[string]error{
		"columns":  must.Err(distance.Frechet(x, wide)),
		"overflow": must.Err(distance.Frechet(x, bad)),
		"empty":    must.Err(distance.KID(ctx, x, new(mat.Dense))),
		"few rows": must.Err(distance.Neighbours{K: 4}.Coverage(ctx, x, x)),
		"K":        must.Err(distance.Neighbours{K: -1}.Coverage(ctx, x, x)),
	} {
		if !errors.Is(err, distance.ErrArgument) {
			t.Errorf("%s: %v, want ErrArgument", name, err)
		}
	}
}
