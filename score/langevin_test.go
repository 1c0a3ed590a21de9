package score

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"coupling/lab/must"
)

func column(x *mat.Dense, j int) []float64 { return mat.Col(nil, j, x) }

// meanWithin and varianceWithin hold a sample to a law within k standard errors; the chance of a
// mistaken alarm at 4.5 is 1 in 150,000.
func meanWithin(t *testing.T, what string, x []float64, want float64) {
	t.Helper()
	mean, sd := stat.MeanStdDev(x, nil)
	if se := sd / math.Sqrt(float64(len(x))); math.Abs(mean-want) > 4.5*se {
		t.Errorf("%s: mean %.4f, want %.4f ± %.4f", what, mean, want, se)
	}
}

func varianceWithin(t *testing.T, what string, x []float64, want float64) {
	t.Helper()
	v := stat.Variance(x, nil)
	m4 := stat.Moment(4, x, nil)
	if se := math.Sqrt((m4 - v*v) / float64(len(x))); math.Abs(v-want) > 4.5*se {
		t.Errorf("%s: variance %.4f, want %.4f ± %.4f", what, v, want, se)
	}
}

// Langevin with step a on N(m, v) is an autoregression with the stationary variance v/(1 − a/2v),
// whichever the convention.
func TestStationaryLaw(t *testing.T) {
	g := must.Get(NewGaussian([]float64{3, -1}, mat.NewSymDense(2, []float64{1, 0, 0, .25})))
	var got [2]*mat.Dense
	n := 20000
	if testing.Short() {
		n = 4000
	}
	for k, l := range []Langevin{{Steps: 80, Step: .1}, {Steps: 80, Step: .2, Convention: Halved}} {
		c := Start(seeded(1), mat.NewDense(n, 2, nil))
		must.Do(l.Run(t.Context(), g, c))
		got[k] = c.X
	}
	c := Start(seeded(1), mat.NewDense(n, 1, nil))
	c.Jitter(1)
	c.Jitter(1)
	varianceWithin(t, "two jitters", column(c.X, 0), 2)
	if !mat.Equal(got[0], got[1]) {
		t.Error("Halved with 2a is not Unhalved with a")
	}
	for j, v := range []float64{1, .25} {
		x := column(got[0], j)
		meanWithin(t, "mean", x, []float64{3 - 3*math.Pow(.9, 80), -1}[j])
		varianceWithin(t, "variance", x, v/(1-.05/v))
	}
}

// Annealing finds both parts of a mixture in their shares, which plain Langevin from one side does not.
func TestAnnealedMixture(t *testing.T) {
	f := must.Get(NewMixture([]float64{.3, .7}, onLine(-3, .04), onLine(3, .04)))
	levels := must.Get(Geometric(6, .05, 12))
	n, tol := 4000, .04
	if testing.Short() {
		n, tol = 1000, .06
	}
	start := normals(seeded(2), n, 1)
	start.Apply(func(_, _ int, v float64) float64 { return 6*v + 1.2 }, start) // as wide as the first level
	share := func(l Langevin) float64 {
		c := Start(seeded(3), start)
		must.Do(l.Run(t.Context(), f, c))
		right := 0.
		for i := range n {
			if c.X.At(i, 0) > 0 {
				right++
			}
		}
		return right / float64(n)
	}
	// The standard error of a share is .0072, .0145 in short; levels are finitely many and steps
	// long, which adds some .01.
	for name, l := range map[string]Langevin{
		"annealed":         {Levels: levels, Steps: 40, Step: 5e-4},
		"annealed, halved": {Levels: levels, Steps: 40, Step: 1e-3, Convention: Halved},
	} {
		if testing.Short() && name != "annealed" {
			continue
		}
		if got := share(l); math.Abs(got-.7) > tol {
			t.Errorf("%s: share %.3f, want .7", name, got)
		}
	}
	if got := share(Langevin{Steps: 400, Step: .01}); math.Abs(got-.7) < .1 {
		t.Errorf("plain Langevin got the share right: %.3f; the test of annealing shows nothing", got)
	}
}

// A denoising step takes a Gaussian to the posterior mean, with variance v²/(v + σ²) exactly.
func TestDenoising(t *testing.T) {
	const v = .5
	g := onLine(0, v)
	n := 30000
	if testing.Short() {
		n = 10000
	}
	x := normals(seeded(4), n, 1)
	x.Scale(math.Sqrt(v+.25), x)
	c := Start(seeded(5), x)
	must.Do((Langevin{Levels: []float64{.5}, Step: 1, Denoise: true}).Run(t.Context(), g, c))
	varianceWithin(t, "denoised", column(c.X, 0), v*v/(v+.25))
}

// The steps that the paper's conventions name, in order.
func TestSchedule(t *testing.T) {
	l := Langevin{Levels: []float64{2, 1}, Steps: 2, Step: .1, Denoise: true}
	var got []update
	for k := range l.Total() {
		got = append(got, l.at(k))
	}
	want := []update{
		{2, .4, .4, .8}, {2, .4, .4, .8},
		{1, .1, .1, .2}, {1, .1, .1, .2},
		{1, 0, 1, 0},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(update{})); diff != "" {
		t.Error(diff)
	}
}

func TestDivergence(t *testing.T) {
	g := onLine(0, 1)
	err := Langevin{Steps: 5000, Step: 10}.Run(t.Context(), g, Start(seeded(1), mat.NewDense(1, 1, nil)))
	if !errors.Is(err, ErrDiverged) {
		t.Errorf("error %v", err)
	}
}

func Example() {
	narrow := mat.NewSymDense(1, []float64{.5})
	left, _ := NewGaussian([]float64{-2}, narrow)
	right, _ := NewGaussian([]float64{2}, narrow)
	f, err := NewMixture(nil, left, right)
	if err != nil {
		fmt.Println(err)
		return
	}
	rng := rand.New(rand.NewPCG(1, 2))
	c := Start(rng, mat.NewDense(1000, 1, nil))
	if err := (Langevin{Step: .02, Steps: 1000}).Run(context.Background(), f, c); err != nil {
		fmt.Println(err)
		return
	}
	n, side := 0, []float64(nil)
	for i := range 1000 {
		if v := c.X.At(i, 0); v > 0 {
			n, side = n+1, append(side, v)
		}
	}
	fmt.Printf("right: %.1f of all, mean %.1f, variance %.1f\n", float64(n)/1000, stat.Mean(side, nil),
		stat.Variance(side, nil))
	// Output:
	// right: 0.5 of all, mean 2.0, variance 0.5
}

// The score of points smoothed by N(0, ½²) leads to those nearby.
func ExampleEmpirical() {
	f, err := NewEmpirical(mat.NewDense(2, 1, []float64{-1, 1}), nil, .5)
	if err != nil {
		fmt.Println(err)
		return
	}
	s := mat.NewDense(1, 1, nil)
	err = f.Score(s, mat.NewDense(1, 1, []float64{.5}), 0)
	fmt.Printf("%.2f %v\n", s.At(0, 0), err)
	// Output: 1.86 <nil>
}
