package dp

import (
	"math"
	"math/cmplx"
	"testing"

	"coupling/dp/pair"
)

// A bent is a plain quadrature of the inverse Laplace transform of δ, for checking only: it shares
// no code with dp/contour, takes the loss from dp/pair, bounds nothing, and is trusted where two
// contours of different abscissa and period agree.
//
//	δ(ε) = (1/π) ∫₀^∞ Re[e^{T·K(z) − zε}/(z(z+1))] dy, z = s + iy,
//	e^{K(z)} − 1 = E_Q[r^{z+1} − 1 − (z+1)(r − 1)], r = p/q.
type bent struct {
	s, step float64
	logs    []complex128 // T·K at the nodes
}

// node is h·q and the loss at one x.
type node struct{ mass, loss float64 }

// grid samples a Gaussian mixture's loss where q or q·e^{(s+1)L} is not negligible.
func grid(p pair.Line, scale, s float64) (out []node) {
	h := scale / 12
	for x := -(s + 15*scale + 5); x < s+15*scale+5; x += h {
		logQ, loss := p.At(x)
		if max(logQ, logQ+(s+1)*loss) > -90 {
			out = append(out, node{h * math.Exp(logQ), loss})
		}
	}
	return out
}

// logMoment returns K(z).
func logMoment(nodes []node, z complex128) complex128 {
	sum := complex(0, 0)
	for _, n := range nodes {
		w := (z + 1) * complex(n.loss, 0)
		sin, cos := math.Sincos(imag(w))
		half := math.Sin(imag(w) / 2)
		e := complex(math.Expm1(real(w))*cos-2*half*half, math.Exp(real(w))*sin) // e^w − 1
		sum += complex(n.mass, 0) * (e - (z+1)*complex(math.Expm1(n.loss), 0))
	}
	if a := cmplx.Abs(sum); a < 1e-3 {
		return sum - sum*sum/2 + sum*sum*sum/3 - sum*sum*sum*sum/4
	}
	return cmplx.Log(1 + sum)
}

// newBent goes through s with a period of the given number of deviations of the tilted loss, until
// the integrand has vanished.
func newBent(p pair.Line, scale float64, times int, s, deviations float64) (b bent, ok bool) {
	nodes := grid(p, scale, s)
	t := float64(times)
	at := func(s float64) float64 { return t * real(logMoment(nodes, complex(s, 0))) }
	d := 1e-3 * s
	variance := (at(s+d) - 2*at(s) + at(s-d)) / (d * d)
	b = bent{s: s, step: 2 * math.Pi / (deviations * math.Sqrt(variance+2/(s*s)))}
	first := at(s)
	quiet := 0
	for k := range 40_000 {
		v := complex(t, 0) * logMoment(nodes, complex(s, float64(k)*b.step))
		b.logs = append(b.logs, v)
		if quiet++; real(v)-first > -42 {
			quiet = 0
		}
		if quiet == 40 {
			return b, true
		}
	}
	return b, false
}

// logDelta returns log δ(ε).
func (b bent) logDelta(eps float64) float64 {
	top := real(b.logs[0]) - b.s*eps
	sum := 0.0
	for k, v := range b.logs {
		z := complex(b.s, float64(k)*b.step)
		term := real(cmplx.Exp(v-z*complex(eps, 0)-complex(top, 0)) / (z * (z + 1)))
		if k == 0 {
			term /= 2
		}
		sum += term
	}
	return top + math.Log(sum*b.step/math.Pi)
}

// epsilon solves δ(ε) = delta near a guess.
func (b bent) epsilon(delta, guess float64) float64 {
	lo, hi := guess*.8, guess*1.2
	for range 60 {
		mid := (lo + hi) / 2
		if b.logDelta(mid) > math.Log(delta) {
			lo = mid
		} else {
			hi = mid
		}
	}
	return (lo + hi) / 2
}

// saddle minimises the integrand on the real axis.
func saddle(p pair.Line, scale float64, times int, eps float64) float64 {
	f := func(logS float64) float64 {
		s := math.Exp(logS)
		v := float64(times)*real(logMoment(grid(p, scale, s), complex(s, 0))) - s*eps - math.Log(s) - math.Log1p(s)
		if math.IsNaN(v) {
			return math.Inf(1)
		}
		return v
	}
	lo, hi := -3.0, 8.0
	for hi-lo > .02 {
		a, b := lo+(hi-lo)*.382, lo+(hi-lo)*.618
		if f(a) < f(b) {
			hi = b
		} else {
			lo = a
		}
	}
	return math.Exp((lo + hi) / 2)
}

// independent returns ε at delta by two contours, and how far they are apart relative to it; false
// where they do not end.
func independent(p pair.Pair, scale float64, times int,
	delta, guess float64) (eps, apart float64, ok bool) {
	line, is := p.(pair.Line)
	if !is {
		return 0, 0, false
	}
	s := saddle(line, scale, times, guess)
	a, okA := newBent(line, scale, times, s, 40)
	b, okB := newBent(line, scale, times, s*.87, 55)
	if !okA || !okB {
		return 0, 0, false
	}
	x, y := a.epsilon(delta, guess), b.epsilon(delta, guess)
	return x, math.Abs(x/y - 1), true
}

// The independent quadrature gives what is known: T Gaussian steps are one with a shift of √T/σ.
func TestIndependentQuadrature(t *testing.T) {
	p := must(pair.NewMixture(pair.Gaussian, 4, []pair.Component{{Mean: 1}}, []pair.Component{{}}))
	known := must(Epsilon(t.Context(), Gaussian{4. / 10}, Relation{}, 1e-7))
	want := known.Epsilon
	eps, apart, ok := independent(p, 4, 100, 1e-7, want)
	if !ok || apart > 1e-10 || math.Abs(eps/want-1) > 1e-10 {
		t.Errorf("ε = %v (apart by %.2g, %v), want %v", eps, apart, ok, want)
	}
}
