package analytic

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"

	"coupling/figures/internal/kit"
	"coupling/lab/store"
	"coupling/ot"
	"coupling/ot/cost"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
)

// exponential is the simple setting that solvers of entropic transport are tried on since regOT: an exponential density
// against a mixture of two normals, both on a grid of [0, 5], squared cost. Its smallest weights are some 1e-9.
func exponential(n, m int) ot.Problem {
	x, y := mat.NewDense(n, 1, nil), mat.NewDense(m, 1, nil)
	a, b := make([]float64, n), make([]float64, m)
	for i := range a {
		t := 5 * float64(i) / float64(n-1)
		x.Set(i, 0, t)
		a[i] = math.Exp(-t)
	}
	normal := func(t, mean, sd float64) float64 { return math.Exp(-(t-mean)*(t-mean)/(2*sd*sd)) / sd }
	for j := range b {
		t := 5 * float64(j) / float64(m-1)
		y.Set(j, 0, t)
		b[j] = 0.2*normal(t, 1, 0.2) + 0.8*normal(t, 3, 0.5)
	}
	floats.Scale(1/floats.Sum(a), a)
	floats.Scale(1/floats.Sum(b), b)
	return ot.Problem{Geometry: ot.Points(x, y, ot.SqEuclidean), A: a, B: b}
}

// clouds are n points each in the plane, a normal cloud and a ring around it, with random weights.
func clouds(rng *rand.Rand, n int) ot.Problem {
	return cloudsBy(rng, n, func(x, y *mat.Dense) cost.Geometry { return ot.Points(x, y, ot.SqEuclidean) })
}

// cloudsBy are clouds whose costs a geometry has.
func cloudsBy(rng *rand.Rand, n int, by func(x, y *mat.Dense) cost.Geometry) ot.Problem {
	x, y := mat.NewDense(n, 2, nil), mat.NewDense(n, 2, nil)
	for i := range n {
		x.SetRow(i, []float64{rng.NormFloat64(), rng.NormFloat64()})
		s, c := math.Sincos(2 * math.Pi * rng.Float64())
		r := 2 + 0.3*rng.NormFloat64()
		y.SetRow(i, []float64{r * c, r * s})
	}
	return ot.Problem{Geometry: by(x, y), A: weights(rng, n), B: weights(rng, n)}
}

// weights draws n positive weights of sum 1 that differ by a factor of up to 3.
func weights(rng *rand.Rand, n int) []float64 {
	w := make([]float64, n)
	for i := range w {
		w[i] = 1 + 2*rng.Float64()
	}
	floats.Scale(1/floats.Sum(w), w)
	return w
}

// meanCost is the mean cost under a⊗b.
func meanCost(c *mat.Dense, a, b []float64) float64 {
	return mat.Inner(mat.NewVecDense(len(a), a), c, mat.NewVecDense(len(b), b))
}

// onMachine is a caption's words on where times come from: those of a device, if the key names one, are by the clock.
func onMachine(m store.Manifest, device string) string {
	gpu := ""
	if device != "" {
		gpu = ", on the GPU by the clock: " + m.Device
	}
	return fmt.Sprintf("Times were measured in one run on one thread (%s, %s%s) and hold on no other machine.",
		m.CPU, m.Go, gpu)
}

// Measured is what one run of a function took: the least of some runs, since all that disturbs it adds.
type Measured struct {
	Seconds float64 `json:"seconds"` // processor time of its thread, where the system counts it (Linux)
	Bytes   float64 `json:"bytes"`   // allocated
}

// measure runs f, which starts no goroutine, so many times.
func measure(times int, f func()) (best Measured) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for k := range times {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		start := kit.CPUSeconds()
		f()
		s := kit.CPUSeconds() - start
		runtime.ReadMemStats(&after)
		b := float64(after.TotalAlloc - before.TotalAlloc)
		if k == 0 {
			best = Measured{s, b}
		}
		best.Seconds, best.Bytes = min(best.Seconds, s), min(best.Bytes, b)
	}
	return best
}

// spread returns the least, the median and the greatest of v. NaN, where a method failed, counts as the greatest.
func spread(v []float64) (lo, mid, hi float64) {
	s := slices.Clone(v)
	for i, x := range s {
		if math.IsNaN(x) {
			s[i] = math.Inf(1)
		}
	}
	slices.Sort(s)
	return s[0], s[len(s)/2], s[len(s)-1]
}

// slope is the least-squares slope of y over x.
func slope(x, y []float64) float64 {
	_, b := stat.LinearRegression(x, y, nil, false)
	return b
}
