package synth

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"coupling/lab/must"
)

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }

// fits is a Kolmogorov-Smirnov test of a sample against a law. The asymptotic
// bound 2·exp(-2c²) on the tail of √n·D is 1e-6 at c = 2.7; seeds are fixed.
func fits(t *testing.T, what string, sample []float64, cdf func(float64) float64) {
	t.Helper()
	slices.Sort(sample)
	n := float64(len(sample))
	distance := 0.0
	for i, x := range sample {
		p := cdf(x)
		distance = max(distance, p-float64(i)/n, float64(i+1)/n-p)
	}
	if c := math.Sqrt(n) * distance; c > 2.7 {
		t.Errorf("%s: Kolmogorov-Smirnov √n·D = %.2f: want at most 2.7", what, c)
	}
}

// near checks the mean of a sample against its law's mean, to six standard errors.
func near(t *testing.T, what string, sample []float64, want float64) {
	t.Helper()
	mean, std := stat.MeanStdDev(sample, nil)
	if z := (mean - want) / (std / math.Sqrt(float64(len(sample)))); !(math.Abs(z) < 6) {
		t.Errorf("%s: mean %v, want %v (z = %.1f)", what, mean, want, z)
	}
}

func column(m *mat.Dense, j int) []float64 { return mat.Col(nil, j, m) }

func TestGaussianRefuses(t *testing.T) {
	rng := newRand(3)
	_, dim := Haar(rng, 0)
	_, low := RandomCovariance(rng, 2, -1, 1)
	_, order := RandomCovariance(rng, 2, 2, 1)
	_, infinite := RandomCovariance(rng, 2, 1, math.Inf(1))
	_, empty := RandomCovariance(rng, -1, 1, 10)
	_, normal := Normal(rng, -1, 2)
	_, flat := Normal(rng, 1, 0)
	for i, err := range []error{dim, low, order, infinite, empty, normal, flat} {
		if err == nil || !strings.HasPrefix(err.Error(), "synth: ") {
			t.Errorf("case %d: error %v: want one of this package", i, err)
		}
	}
}

// Q is orthogonal; its entries, and those of V·Q for a fixed orthogonal V,
// have the law q² ~ Beta(1/2, (d-1)/2) with a fair sign; the trace has the
// moments 0, 1, 0, 3 (Diaconis and Shahshahani 1994, for d ≥ 4). Without the
// signs of R the trace fails.
func TestHaar(t *testing.T) {
	const d, draws = 6, 8000
	rng := newRand(4)
	v := must.Get(Haar(newRand(99), d))
	var entries, turned, trace2, trace4, traces, determinants []float64
	for range draws {
		q := must.Get(Haar(rng, d))
		var gram, vq mat.Dense
		gram.Mul(q.T(), q)
		if !mat.EqualApprox(&gram, eye(d), 1e-13) {
			t.Fatalf("QᵀQ = %v", mat.Formatted(&gram))
		}
		vq.Mul(v, q)
		entries = append(entries, q.At(0, 0))
		turned = append(turned, vq.At(2, 3))
		tr := mat.Trace(q)
		traces, trace2, trace4 = append(traces, tr), append(trace2, tr*tr), append(trace4, tr*tr*tr*tr)
		determinants = append(determinants, mat.Det(q))
	}
	beta := distuv.Beta{Alpha: 0.5, Beta: (d - 1) / 2.0}
	law := func(x float64) float64 { return 0.5 + math.Copysign(0.5, x)*beta.CDF(x*x) }
	fits(t, "an entry of Q", entries, law)
	fits(t, "an entry of VQ", turned, law)
	near(t, "trace", traces, 0)
	near(t, "trace²", trace2, 1)
	near(t, "trace⁴", trace4, 3)
	near(t, "determinant", determinants, 0)
}

func eye(d int) *mat.DiagDense {
	return mat.NewDiagDense(d, slices.Repeat([]float64{1}, d))
}

// Eigenvalues of two covariances are independent and uniform in [1, 10].
func TestRandomCovariance(t *testing.T) {
	const d, draws = 8, 400
	rng := newRand(5)
	var pool, products []float64
	for range draws {
		product := 1.
		for range 2 {
			cov := must.Get(RandomCovariance(rng, d, 1, 10))
			var eigen mat.EigenSym
			if !eigen.Factorize(cov, false) {
				t.Fatal("no eigenvalues")
			}
			pool = append(pool, eigen.Values(nil)...)
			product *= mat.Trace(cov) - 5.5*d
		}
		products = append(products, product)
	}
	fits(t, "eigenvalues", pool, distuv.Uniform{Min: 1, Max: 10}.CDF)
	near(t, "product of the two traces' deviations", products, 0)
	if lowest, highest := slices.Min(pool), slices.Max(pool); lowest < 1-1e-12 || highest > 10+1e-12 {
		t.Errorf("eigenvalues from %v to %v: want within [1, 10]", lowest, highest)
	}
}

func TestDeterminism(t *testing.T) {
	draw := func() *mat.SymDense {
		return must.Get(RandomCovariance(newRand(6), 70, 1, 10))
	}
	if !mat.Equal(draw(), draw()) {
		t.Error("the same seeds gave different covariances")
	}
}
