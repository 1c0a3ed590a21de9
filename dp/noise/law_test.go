package noise

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"coupling/lab/must"
)

// rare is the p-value below which a test of a law fails. Seeds are fixed: it fails always or never.
const rare = 1e-4

// chiSquare tests counts of steps against weights w(k), with all that is expected less than 10 times in one cell.
func chiSquare(t *testing.T, draw func() (int64, error), w func(k int64) float64, reach int64, n int) {
	t.Helper()
	total := 0.0
	for k := -reach; k <= reach; k++ {
		total += w(k)
	}
	counts := map[int64]float64{}
	for range n {
		k := must.Get(draw())
		counts[k]++
	}
	stat, cells, restWant, restGot := 0.0, 0, 0.0, float64(n)
	for k := -reach; k <= reach; k++ {
		want := float64(n) * w(k) / total
		if want < 10 {
			restWant += want
			continue
		}
		d := counts[k] - want
		stat += d * d / want
		restGot -= counts[k]
		cells++
	}
	if restWant > 5 {
		stat += (restGot - restWant) * (restGot - restWant) / restWant
		cells++
	}
	if p := (distuv.ChiSquared{K: float64(cells - 1)}).Survival(stat); p < rare {
		t.Errorf("χ² = %.1f in %d cells: p = %.2g", stat, cells, p)
	}
}

func TestLaplaceLaw(t *testing.T) {
	for i, b := range []float64{0.3, 1, 2.5, 13.37, 100} {
		t.Run(fmt.Sprint(b), func(t *testing.T) {
			src := seed(uint64(i))
			n, shift := fraction(b)
			draw := func() (int64, error) { return laplaceSteps(src, n, shift) }
			chiSquare(t, draw, func(k int64) float64 { return math.Exp(-math.Abs(float64(k)) / b) },
				int64(40*b)+2, 200_000)
		})
	}
}

func TestGaussianLaw(t *testing.T) {
	for i, s := range []float64{0.3, 0.999, 1, 2.7, 20, 64.5} {
		t.Run(fmt.Sprint(s), func(t *testing.T) {
			src := seed(uint64(i))
			draws := []func() (int64, error){func() (int64, error) { return gaussianSteps(src, s) }}
			if s >= 16 {
				e := newEnvelope(s)
				draws = append(draws, func() (int64, error) { return e.draw(src) })
			}
			for _, draw := range draws {
				chiSquare(t, draw, func(k int64) float64 { return math.Exp(-float64(k*k) / (2 * s * s)) },
					int64(12*s)+3, 200_000)
			}
		})
	}
}

// Heights are not below the density, what is kept unseen is not above it, and columns draw strips
// in proportion to their heights.
func TestEnvelope(t *testing.T) {
	for _, s := range []float64{16, 100.1, 1 << 30} {
		e := newEnvelope(s)
		var drawn [strips]uint64
		for j, c := range e.columns {
			drawn[j] += c.share
			drawn[c.other] += e.total - c.share
			low, end := math.Exp(-e.exponent(uint64(j)<<e.bits)), math.Exp(-e.exponent(uint64(j+1)<<e.bits))
			if h := float64(e.height[j]) / (1 << unitBits); h < low || float64(e.accept[j])*0x1p-64*h > end {
				t.Errorf("s = %g, strip %d: height %g of %g, kept %d", s, j, h, low, e.accept[j])
			}
		}
		e.height[strips-1] *= 2 * tailStrips
		for j, h := range e.height {
			if drawn[j] != strips*h {
				t.Errorf("s = %g: strip %d has %d of %d", s, j, drawn[j], strips*h)
			}
		}
	}
}

func TestUniformLaw(t *testing.T) {
	src := seed(3)
	draw := func() (int64, error) { u, err := Uniform(src, 11); return int64(u), err }
	chiSquare(t, draw, func(k int64) float64 {
		if k >= 0 && k < 11 {
			return 1
		}
		return 0
	}, 11, 50_000)
}

// At the default granularity the laws are the continuous ones to all that a sample can see: moments, symmetry, tails.
func TestFineGridMoments(t *testing.T) {
	n := 200_000
	src := seed(11)
	for _, c := range []struct {
		name          string
		add           func(Source, []float64) ([]float64, error)
		variance, kur float64
		cdf           func(float64) float64
	}{
		{"gaussian", Gaussian{Sigma: 3}.Add, 9, 3, distuv.Normal{Mu: 0.5, Sigma: 3}.CDF},
		{"laplace", Laplace{Scale: 3}.Add, 18, 6, distuv.Laplace{Mu: 0.5, Scale: 3}.CDF},
	} {
		in := make([]float64, n)
		for i := range in {
			in[i] = 0.5
		}
		out := must.Get(c.add(src, in))
		mean, variance := stat.MeanVariance(out, nil)
		if se := math.Sqrt(c.variance / float64(n)); math.Abs(mean-0.5) > 4*se {
			t.Errorf("%s: mean %v, want 0.5 ± %v", c.name, mean, se)
		}
		if se := c.variance * math.Sqrt((c.kur-1)/float64(n)); math.Abs(variance-c.variance) > 4*se {
			t.Errorf("%s: variance %v, want %v ± %v", c.name, variance, c.variance, se)
		}
		for _, x := range []float64{-20, -8, -2, 0, 0.5, 1, 4, 8, 14, 20} {
			hits := 0.0
			for _, v := range out {
				if v <= x {
					hits++
				}
			}
			p := c.cdf(x)
			if se := math.Sqrt(p*(1-p)*float64(n)) + 1; math.Abs(hits-p*float64(n)) > 4*se {
				t.Errorf("%s: %v of %d are at most %v, want %v ± %v", c.name, hits, n, x, p*float64(n), se)
			}
		}
	}
}

func TestResponseLaw(t *testing.T) {
	for _, truth := range []float64{0.5, 0.75, 0.9, 1} {
		in := make([]bool, 100_000)
		for i := range in {
			in[i] = i%2 == 0
		}
		out := must.Get(Response{Truth: truth}.Tell(seed(2), in))
		honest := 0.0
		for i := range in {
			if in[i] == out[i] {
				honest++
			}
		}
		n := float64(len(in))
		if math.Abs(honest-truth*n) > 4*math.Sqrt(truth*(1-truth)*n) {
			t.Errorf("Truth = %v: %v of %v are true", truth, honest, n)
		}
	}
	// The threshold is Truth·2^64 itself.
	m := Response{Truth: 0.75}
	for u, want := range map[uint64]bool{0: true, 3<<62 - 1: true, 3 << 62: false, math.MaxUint64: false} {
		out, err := m.Tell(&words{u}, []bool{true})
		if err != nil || out[0] != want {
			t.Errorf("bits %#x: told %v (%v), want %v", u, out, err, want)
		}
	}
}

// The radius has the Gamma law, and every axis is symmetric with variance (d+1)/ζ².
func TestNormLaw(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const d, n, zeta = 3, 40_000, 2.0
	radius := make([]float64, n)
	var sum, square [d]float64
	for i := range n {
		v := must.Get(Norm{Zeta: zeta}.Add(rng, make([]float64, d)))
		for j, x := range v {
			sum[j] += x
			square[j] += x * x
			radius[i] += x * x
		}
		radius[i] = math.Sqrt(radius[i])
	}
	law := distuv.Gamma{Alpha: d, Beta: zeta}
	for _, q := range []float64{0.01, 0.1, 0.5, 0.9, 0.99} {
		hits, at := 0.0, law.Quantile(q)
		for _, r := range radius {
			if r <= at {
				hits++
			}
		}
		if math.Abs(hits-q*n) > 4*math.Sqrt(q*(1-q)*n) {
			t.Errorf("%v of %d radii are below the %v quantile", hits, n, q)
		}
	}
	for j := range d {
		variance := (d + 1.0) / (zeta * zeta) // E r²/d = d(d+1)/(dζ²)
		if math.Abs(sum[j]/n) > 4*math.Sqrt(variance/n) {
			t.Errorf("axis %d: mean %v", j, sum[j]/n)
		}
		if math.Abs(square[j]/n/variance-1) > 0.06 { // 4 standard errors: E x⁴/(E x²)² = 9, √(8/40000) = 0.014
			t.Errorf("axis %d: variance %v, want %v", j, square[j]/n, variance)
		}
	}
}
