package pld

import (
	"context"
	"math"
	"sync"

	"gonum.org/v1/gonum/dsp/fourier"

	"coupling/lab/logspace"
)

// A lattice is a grid of bins multiples of width, taken modulo bins·width.
type lattice struct {
	width float64
	bins  int // a power of two
}

// A density is the composed loss, tilted by e^{s·loss − k} so that the region that decides the
// answer has masses of order one: a δ far below round-off is then as accurate as δ = 0.1.
type density struct {
	lattice
	s, k     float64   // tilt, and ΣT·K that was taken out
	first    float64   // loss of the first bin
	mass     []float64 // computed tilted masses
	waves    []wave    // or, where few of them suffice, their transform
	cost     int       // of the composition, in bins
	total    float64   // bound of their sum, errors included
	wrong    float64   // bound of the absolute error of each mass, aliases apart
	above    float64   // bound of the tilted mass beyond the last bin, which is aliased into the bins
	below    float64   // and before the first
	logBelow float64   // and log of that, which may be far below the range of float64
	inf      float64   // probability of an infinite loss
	kWrong   float64   // bound of the rounding of k
}

// compose convolves the measures, each times over, by raising their transforms to powers. The cost
// does not depend on times. When ctx is done the density is unfinished.
func compose(ctx context.Context, ms []*measure, times []float64, s float64, l lattice, first float64) *density {
	d := &density{lattice: l, s: s, first: math.Round(first/l.width) * l.width}
	all, survive := make([]tilted, len(ms)), 0.0
	for i, m := range ms {
		k, _, _ := m.logMoment(s)
		all[i] = m.tilted(s, k)
		d.k += times[i] * k
		d.kWrong += 4 * ulp * times[i] * math.Abs(k)
		survive += times[i] * math.Log1p(-min(m.inf, 1))
	}
	d.inf = -math.Expm1(survive)
	if !d.composeWaves(all, times) {
		d.composeBins(ctx, all, times)
	}
	return d
}

// composeBins fills in the masses of all bins.
func (d *density) composeBins(ctx context.Context, ms []tilted, times []float64) {
	d.cost = d.bins
	fft, done := transform(d.bins)
	defer done()
	out := newPowers(d.bins/2 + 1)
	spectrum := make([]complex128, d.bins/2+1)
	seq := make([]float64, d.bins)
	for i, m := range ms {
		if ctx.Err() != nil {
			return // the caller checks the context
		}
		clear(seq)
		for j, w := range m.w {
			seq[d.index(m.loss[j])] += w
		}
		spectrum = fft.Coefficients(spectrum, seq)
		// A transform of 2^n positive numbers of sum one, with twiddle factors good to a dozen
		// ulps, in n/2 stages; and the square below.
		out.multiply(spectrum, times[i], (16/math.Ln2*logspace.Log(float64(d.bins))+32)*ulp+m.err)
	}
	total, wrong := out.into(spectrum)
	n := float64(d.bins)
	fft.Sequence(seq, spectrum)
	d.wrong = (wrong*(1+1e-9) + total*(16/math.Ln2*logspace.Log(n)+24)*ulp) / n
	d.mass = make([]float64, d.bins)
	shift := d.index(d.first)
	for r := range d.mass { // in the order of the losses
		d.mass[r] = seq[(shift+r)&(d.bins-1)] / n
		d.total += math.Abs(d.mass[r]) + d.wrong
	}
	d.total *= 1 + 1e-9
}

// transforms keeps the tables of transforms, by size.
var transforms sync.Map

// transform returns a transform for one goroutine, and the function that gives it back.
func transform(bins int) (*fourier.FFT, func()) {
	p, _ := transforms.LoadOrStore(bins, &sync.Pool{New: func() any { return fourier.NewFFT(bins) }})
	pool := p.(*sync.Pool)
	fft := pool.Get().(*fourier.FFT)
	return fft, func() { pool.Put(fft) }
}

// index is the bin of a multiple of the width. Losses are never rounded to a bin.
func (l lattice) index(x float64) int {
	n := float64(l.bins)
	r := math.Round(x / l.width)
	if r*l.width != x {
		panic("pld: loss is not a multiple of the bin width")
	}
	r = math.Mod(r, n)
	if r < 0 {
		r += n
	}
	return int(r) & (l.bins - 1)
}

// tilted returns the tilted masses.
func (m *measure) tilted(s, k float64) tilted {
	t := tilted{measure: m, w: make([]float64, len(m.mass))}
	for i, p := range m.mass {
		if p == 0 {
			continue
		}
		e := s*m.loss[i] - k
		w := p * math.Exp(e)
		if math.Abs(e) > 600 {
			w = math.Exp(logspace.Log(p) + e)
		}
		t.w[i] = w
		t.err += w * ulp * (6 + 3*math.Abs(s*m.loss[i]) + 2*math.Abs(k) + 2*math.Abs(logspace.Log(p)))
	}
	return t
}

// excess is log of sup over x > 0 of (1 − e^{−x})e^{−sx}: no tilted mass contributes more to δ.
func excess(s float64) float64 { return -s*math.Log1p(1/s) - math.Log1p(s) }

// forgotten is the log of the weight below which losses are left out of sums and bounded instead.
const forgotten = -60.0

// finite returns Σ over losses above ε of mass·e^{−s(x−from)}(1−e^{ε−x}), a bound of its error and one
// of what was left out, and from: the larger of ε and the first loss, so that no weight underflows
// unless it is negligible.
func (d *density) finite(eps float64) (sum, wrong, rest, from float64) {
	r, weights := 0, 0.0
	from = max(eps, d.first)
	if eps >= d.first {
		r = int(min(float64(d.bins), (eps-d.first)/d.width+1))
	}
	if d.waves != nil {
		sum, wrong = d.finiteWaves(eps, from, r)
		return sum, wrong, 0, from
	}
	step, fall := math.Exp(-d.s*d.width), math.Exp(-d.width)
	grow := -math.Expm1(-d.width)
	for ; r < d.bins; r += block {
		x := d.first + float64(r)*d.width
		y := max(0, x-eps)
		if -d.s*(x-from) < forgotten {
			rest = d.total * math.Exp(forgotten)
			break
		}
		a, b, c := math.Exp(-d.s*max(0, x-from)), math.Exp(-y), -math.Expm1(-y)
		for j := r; j < min(r+block, d.bins); j++ {
			g := a * c
			sum += d.mass[j] * g
			weights += g
			a *= step
			c += b * grow
			b *= fall
		}
	}
	return sum, d.wrong * (weights + 1) * (1 + 1e-9), rest, from
}

// log returns lower and upper bounds of log δ(ε) of the measures that were composed.
func (d *density) log(eps float64) (lo, hi float64) {
	sum, wrong, rest, from := d.finite(eps)
	base := d.k - d.s*from
	peak := 1.0
	if from == eps {
		peak = math.Exp(excess(d.s))
	}
	wrong += math.Abs(sum)*1e-12 + 1e-300
	// The position of ε among bins of a large loss is itself rounded.
	slack := d.kWrong + 8*ulp*(math.Abs(d.k)+(d.s+1)*(math.Abs(eps)+math.Abs(from))+(d.s+1)*math.Abs(d.first)+4)
	hi = base + slack + logspace.Log(max(0, sum)+wrong+rest+d.above*peak)
	lo = base - slack + logspace.Log(max(0, sum-wrong-(d.above+d.below)*peak))
	if eps < d.first { // losses between ε and the first bin count too, and the tilt made them small
		hi = logspace.Add(hi, d.k-d.s*eps+slack+d.logBelow+excess(d.s))
	}
	if d.inf > 0 {
		i := logspace.Log(d.inf)
		hi, lo = logspace.Add(hi, i)+4*ulp, logspace.Add(lo, i-4*ulp)
	}
	if math.IsNaN(lo) || math.IsNaN(hi) {
		return math.Inf(-1), math.Inf(1)
	}
	return lo, hi
}
