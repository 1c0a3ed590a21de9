package pld

import (
	"context"
	"math"
	"math/cmplx"

	"gonum.org/v1/gonum/dsp/fourier"
)

// A lattice is a grid of bins multiples of width, taken modulo bins·width.
type lattice struct {
	width float64
	bins  int // a power of two
}

// A density is the composed loss, tilted by e^{s·loss − k} so that the region that matters has masses of order one: δ far
// below round-off is then as certain as δ = 0.1.
type density struct {
	lattice
	s, k     float64   // tilt, and ΣT·K that was taken out
	first    float64   // loss of the first bin
	mass     []float64 // computed tilted masses
	wrong    float64   // bound of the absolute error of each mass, aliases apart
	above    float64   // bound of the tilted mass beyond the last bin, which is aliased into the bins
	below    float64   // and before the first
	logBelow float64   // and log of that, which may be far below the range of float64
	inf      float64   // probability of an infinite loss
	kWrong   float64   // bound of the rounding of k
}

// compose convolves the measures, each times over, by raising their transforms to powers. The cost does not depend on times. When ctx is
// done the density is unfinished.
func compose(ctx context.Context, ms []measure, times []float64, s float64, l lattice, first float64) *density {
	d := &density{lattice: l, s: s, first: math.Round(first/l.width) * l.width}
	half := l.bins/2 + 1
	logs, args, worst := make([]float64, half), make([]float64, half), make([]float64, half)
	fft := fourier.NewFFT(l.bins)
	spectrum := make([]complex128, half)
	survive := 0.0
	for i, m := range ms {
		if ctx.Err() != nil {
			return d // whoever asked asks the context
		}
		k, _, _ := m.logMoment(s)
		seq, err := m.tilted(s, k, l)
		spectrum = fft.Coefficients(spectrum, seq)
		// A transform of 2^n positive numbers of sum one, with twiddle factors good to a dozen ulps, in n/2 stages; and the square below.
		eta := (16*math.Log2(float64(l.bins))+32)*ulp + err
		for j, z := range spectrum {
			square := real(z)*real(z) + imag(z)*imag(z)
			if square < 1e-280 {
				a := cmplx.Abs(z)
				worst[j] += times[i] * math.Log(a+eta)
				logs[j] += times[i] * math.Log(a)
				continue // there is nothing left to have a phase
			}
			log := 0.5 * math.Log(square)
			logs[j] += times[i] * log
			if rel := eta * math.Exp(-log); rel < 1e-3 {
				worst[j] += times[i] * (log + rel) // at least log(a+eta)
			} else {
				worst[j] += times[i] * (log + math.Log1p(rel))
			}
			if logs[j] > -100 { // what is below is left out: no later factor exceeds 1 by more than rounding
				args[j] += times[i] * cmplx.Phase(z)
			}
		}
		d.k += times[i] * k
		d.kWrong += 4 * ulp * times[i] * math.Abs(k)
		survive += times[i] * math.Log1p(-min(m.inf, 1))
	}
	d.inf = -math.Expm1(survive)
	sum, total := 0.0, 0.0
	for j := range spectrum {
		double := 2.0
		if j == 0 || j == half-1 {
			double = 1
		}
		v, w := 0.0, math.Exp(worst[j])
		spectrum[j] = 0
		if logs[j] > -80 {
			v = math.Exp(logs[j])
			spectrum[j] = cmplx.Rect(v, args[j])
		}
		sum += double * (w - v + v*ulp*(8+2*math.Abs(logs[j])+2*math.Abs(args[j])))
		total += double * v
	}
	n := float64(l.bins)
	d.mass = fft.Sequence(nil, spectrum)
	shift := l.index(d.first)
	out := make([]float64, l.bins)
	for r := range out {
		out[r] = d.mass[(shift+r)&(l.bins-1)] / n
	}
	d.mass = out
	d.wrong = (sum*(1+1e-9) + total*(16*math.Log2(n)+24)*ulp) / n
	return d
}

// index is the bin of a multiple of the width. A mass that is moved is a wrong measure.
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

// tilted returns the tilted masses on the lattice and a bound of their error in sum.
func (m *measure) tilted(s, k float64, l lattice) (seq []float64, err float64) {
	seq = make([]float64, l.bins)
	for i, p := range m.mass {
		if p == 0 {
			continue
		}
		e := s*m.loss[i] - k
		w := p * math.Exp(e)
		if math.Abs(e) > 600 {
			w = math.Exp(math.Log(p) + e)
		}
		seq[l.index(m.loss[i])] += w
		err += w * ulp * (6 + 3*math.Abs(s*m.loss[i]) + 2*math.Abs(k) + 2*math.Abs(math.Log(p)))
	}
	return seq, err
}

// excess is log of sup over x > 0 of (1 − e^{−x})e^{−sx}: no tilted mass contributes more to δ.
func excess(s float64) float64 { return -s*math.Log1p(1/s) - math.Log1p(s) }

// finite returns Σ over losses above ε of mass·e^{−s(x−from)}(1−e^{ε−x}), Σ of the weights alone, and from: the larger of ε and
// the first loss, so that no weight underflows that matters.
func (d *density) finite(eps float64) (sum, weights, from float64) {
	r := 0
	from = max(eps, d.first)
	if eps >= d.first {
		r = min(d.bins, int((eps-d.first)/d.width)+1)
	}
	const block = 512
	step, fall := math.Exp(-d.s*d.width), math.Exp(-d.width)
	grow := -math.Expm1(-d.width)
	for ; r < d.bins; r += block {
		x := d.first + float64(r)*d.width
		y := max(0, x-eps)
		if d.s*(x-from) > 700 {
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
	return sum, weights, from
}

// log returns lower and upper bounds of log δ(ε) of the measures that were composed.
func (d *density) log(eps float64) (lo, hi float64) {
	sum, weights, from := d.finite(eps)
	base := d.k - d.s*from
	peak := 1.0
	if from == eps {
		peak = math.Exp(excess(d.s))
	}
	weights = (weights + 1) * (1 + 1e-9)
	wrong := d.wrong*weights + math.Abs(sum)*1e-12 + 1e-300
	// The position of ε among bins of a large loss is itself rounded.
	slack := d.kWrong + 8*ulp*(math.Abs(d.k)+(d.s+1)*(math.Abs(eps)+math.Abs(from))+(d.s+1)*math.Abs(d.first)+4)
	hi = base + slack + math.Log(max(0, sum)+wrong+d.above*peak)
	lo = base - slack + math.Log(max(0, sum-wrong-(d.above+d.below)*peak))
	if eps < d.first { // losses between ε and the first bin count too, and the tilt made them small
		hi = logAdd(hi, d.k-d.s*eps+slack+d.logBelow+excess(d.s))
	}
	if d.inf > 0 {
		i := math.Log(d.inf)
		hi, lo = logAdd(hi, i)+4*ulp, logAdd(lo, i-4*ulp)
	}
	if math.IsNaN(lo) || math.IsNaN(hi) {
		return math.Inf(-1), math.Inf(1)
	}
	return lo, hi
}

func logAdd(a, b float64) float64 {
	if a < b {
		a, b = b, a
	}
	if math.IsInf(b, -1) {
		return a
	}
	return a + math.Log1p(math.Exp(b-a))
}
