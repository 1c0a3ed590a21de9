package pld

import (
	"math"
	"math/cmplx"

	"coupling/lab/logspace"
)

// A wave is one frequency of a composed law: the mass at a loss x is Re Σ c·e^{iyx}. Of many steps
// only the lowest of a lattice's frequencies are not negligible, some hundred of a million.
type wave struct {
	y    float64
	c    complex128
	a, b complex128 // 1/(1 − e^{(iy−s)·width}), and the same of s + 1
}

const (
	// leftWaves bounds the sum of the frequencies left out, relative to that at 0.
	leftWaves = 1e-14
	// wavesWorth is the number of terms of waves that take about the time of a transform for each bin.
	wavesWorth = 4
	// fewWaves are fewer than suffice for any law.
	fewWaves = 16
	// block is the number of terms that are added in a row.
	block = 512
)

// A tilted measure has masses that sum to about one, with a bound of the sum of their errors.
type tilted struct {
	*measure
	w   []float64
	err float64
}

// fewest returns the number of frequencies of the composed law that matter, and a bound of the sum of
// the others' sizes; 0 where a transform of all takes less time.
func (l lattice) fewest(ms []tilted, times []float64) (n int, rest float64) {
	points := 0
	for _, m := range ms {
		points += len(m.loss)
	}
	if float64(fewWaves*points) > wavesWorth*float64(l.bins) {
		return 0, 0
	}
	for high := l.bins / 2; high > 0; high = n - 1 {
		low := max(1, high*8/9)
		a, b, count := l.frequency(low), l.frequency(high), 2*float64(high-low+1)
		log := 0.0
		for i, m := range ms {
			log += times[i] * m.spread(a, b)
		}
		if count*math.Exp(log) > leftWaves/1000 {
			sharp := 0.0
			for i, m := range ms {
				sharp += times[i] * m.cancelled(a, b)
			}
			log = min(log, sharp)
		}
		n = high + 1
		sum := rest + count*math.Exp(log)
		if !(sum <= leftWaves) {
			break
		}
		n, rest = low, sum
	}
	if n > l.bins/2 || float64(n)*float64(points) > wavesWorth*float64(l.bins) {
		return 0, 0
	}
	return n, rest
}

// frequency is the k-th of a lattice.
func (l lattice) frequency(k int) float64 {
	return 2 * math.Pi * float64(k) / (float64(l.bins) * l.width)
}

// spread bounds log|E e^{iyL}| for a ≤ y ≤ b. Over disjoint sets A of losses on which yL ranges by at
// most θ ≤ π,
//
//	|E e^{iyL}| ≤ Σ P(A)·|E(e^{iyL} | A)| ≤ 1 − κ·y²·Σ P(A)·Var(L|A),   κ = (1 − cos θ)/θ²,
//
// as |E(e^{iyL} | A)|² = E cos(y(L − L′)) of independent copies.
func (m tilted) spread(a, b float64) float64 {
	x := m.loss
	theta := min(math.Pi, b*(x[len(x)-1]-x[0]))
	if !(theta > 0) {
		return math.Inf(1)
	}
	sum, total := 0.0, 0.0
	for i, j := 0, 0; i < len(x); i = j {
		p, mean := 0.0, 0.0
		for ; j < len(x) && b*(x[j]-x[i]) <= theta; j++ {
			p += m.w[j]
			mean += m.w[j] * (x[j] - x[i])
		}
		if !(p > 0) {
			continue
		}
		total += p
		mean /= p
		for k := i; k < j; k++ {
			d := x[k] - x[i] - mean
			sum += m.w[k] * d * d
		}
	}
	half := math.Sin(theta/2) / theta
	return math.Log1p(max(-1+1e-12, total-1+m.rounding()-2*half*half*a*a*sum*(1-1e-9)))
}

// rounding bounds the error of a sum of the masses, theirs included.
func (m tilted) rounding() float64 { return m.err + 8*ulp*float64(len(m.w)) }

// cancelled is spread for losses without gaps, and takes longer: over disjoint sets A, and for any c,
//
//	|E(e^{iyL}; A)| ≤ |E(e^{izL}; A)| + |y − z|·E(|L − c|; A).
func (m tilted) cancelled(a, b float64) float64 {
	const turn = 6.28 // less than 2π, so that two losses half a turn apart are a set
	x, z := m.loss, (a+b)/2
	sum := m.rounding()
	for i, j := 0, 0; i < len(x); i = j {
		for ; j < len(x) && z*(x[j]-x[i]) <= turn; j++ {
		}
		c := (x[i] + x[j-1]) / 2
		p, far, re, im := 0.0, 0.0, 0.0, 0.0
		for k := i; k < j; k++ {
			sin, cos := math.Sincos(z * (x[k] - c))
			re += m.w[k] * cos
			im += m.w[k] * sin
			p += m.w[k]
			far += m.w[k] * math.Abs(x[k]-c)
		}
		sum += min(p, math.Hypot(re, im)+(b-a)/2*far)
	}
	return logspace.Log(sum)
}

// waves returns E e^{−iyL} of n frequencies, and one of 0, with a bound of the error of each.
func (m tilted) waves(l lattice, n int) (z []complex128, err float64) {
	z = make([]complex128, n+1)
	for k := range n {
		y := l.frequency(k)
		for from := 0; from < len(m.w); from += block {
			re, im := 0.0, 0.0
			for j := from; j < min(from+block, len(m.w)); j++ {
				sin, cos := math.Sincos(y * m.loss[j])
				re += m.w[j] * cos
				im -= m.w[j] * sin
			}
			z[k] += complex(re, im)
		}
	}
	far := max(math.Abs(m.loss[0]), math.Abs(m.loss[len(m.loss)-1]))
	return z, m.err + 2*ulp*(block+float64(len(m.w)/block)+8+4*l.frequency(n)*far)
}

// composeWaves fills in the waves of a composition, where few suffice.
func (d *density) composeWaves(ms []tilted, times []float64) bool {
	n, rest := d.fewest(ms, times)
	if n == 0 {
		return false
	}
	out := newPowers(n + 1)
	for i, m := range ms {
		z, err := m.waves(d.lattice, n)
		out.multiply(z, times[i], err)
		d.cost += n * len(m.w) / 8
	}
	z := make([]complex128, n+1)
	_, wrong := out.into(z)
	bins := float64(d.bins)
	d.wrong = (wrong*(1+1e-9) + rest*(1+1e-3)) / bins // of a sum of 1e12 logs
	for k, c := range z[:n] {
		if k > 0 {
			c *= 2
		}
		y := d.frequency(k)
		d.waves = append(d.waves, wave{
			y: y,
			c: c / complex(bins, 0),
			a: -1 / expm1(-d.s*d.width, y*d.width),
			b: -1 / expm1(-(d.s+1)*d.width, y*d.width),
		})
	}
	return true
}

// expm1 returns e^{a+ib} − 1 for a ≤ 0, with a small relative error.
func expm1(a, b float64) complex128 {
	sin, cos := math.Sincos(b)
	half := math.Sin(b / 2)
	return complex(math.Expm1(a)*cos-2*half*half, math.Exp(a)*sin)
}

// finiteWaves is finite by geometric series: of each wave and of the bins from x = first + r·width on,
//
//	Σ e^{iyx − s(x−from)} (1 − e^{ε−x}).
func (d *density) finiteWaves(eps, from float64, r int) (sum, wrong float64) {
	x, n := d.first+float64(r)*d.width, float64(d.bins-r)*d.width
	at, fall := math.Exp(-d.s*max(0, x-from)), math.Exp(-max(0, x-eps))
	for _, v := range d.waves {
		all := cmplx.Rect(at, v.y*x) * v.c
		a, b := -expm1(-d.s*n, v.y*n)*v.a, -expm1(-(d.s+1)*n, v.y*n)*v.b*complex(fall, 0)
		if v.y == 0 { // the sum of the weights
			wrong += d.wrong * (at*(real(a)-real(b)+1e-12*real(a)) + 1)
		}
		sum += real(all * (a - b))
		wrong += cmplx.Abs(all) * (cmplx.Abs(v.a) + cmplx.Abs(v.b)) * ulp *
			(128 + 2*float64(len(d.waves)) + 32*v.y*(math.Abs(x)+float64(d.bins)*d.width))
	}
	return sum, wrong * (1 + 1e-9)
}
