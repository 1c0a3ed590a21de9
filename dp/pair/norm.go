package pair

import (
	"fmt"
	"math"

	"coupling/dp/internal/check"
	"coupling/lab/logspace"
)

// Norm is the pair of norm noise, whose density in d dimensions is ∝ exp(−ζ‖v‖₂):
//
//	P = (1−r) f(v) + r f(v − Δe),  Q = f(v).
//
// In coordinates with foci at 0 and Δe, ‖v‖ = Δ(u+s)/2 and ‖v − Δe‖ = Δ(u−s)/2 with u ≥ 1, −1 ≤ s ≤ 1, the loss of the
// shift is κs with κ = ζΔ, and integrating out u leaves, with s = sin θ,
//
//	q(θ) ∝ e^(−κ s/2) (cos θ)^(d−2) (ρ + cos²θ),  ρ = (d−1)/z · K_{d/2}(z)/K_{d/2−1}(z),  z = κ/2,
//
// K being the modified Bessel function. A shift that is shorter, or that has another direction, gives a smaller
// divergence, because f is symmetric and log-concave along lines; for the sampled pair that is advanced joint
// convexity (Balle, Barthe, Gaboardi 2018, Theorem 2). It is a Line in θ.
type Norm struct {
	kappa, rate float64
	dim         int
	rho, logZ   float64
	swapped     bool // the pair is (Q, P), with θ turned
}

// NewNorm returns the pair of norm noise with inverse scale zeta in dim dimensions, for a shift of
// the given length which happens with probability rate. In one dimension it is the Laplace mixture
// of scale 1/ζ.
func NewNorm(zeta float64, dim int, shift, rate float64) (Pair, error) {
	if err := check.All(in.Positive("zeta", zeta), in.Positive("shift", shift), in.Rate(rate)); err != nil {
		return nil, err
	}
	if dim < 1 || dim > 10_000_000 {
		return nil, bad("dim = %d: must be in 1..10,000,000", dim)
	}
	if dim == 1 {
		return NewMixture(Laplace, 1/zeta, bernoulli(rate, shift), bernoulli(0, 0))
	}
	n := &Norm{kappa: zeta * shift, rate: rate, dim: dim}
	if !(n.kappa > 1e-150 && n.kappa < 1e9) {
		return nil, bad("zeta·shift = %v: must be between 1e-150 and 1e9", n.kappa)
	}
	z := n.kappa / 2
	n.rho = float64(dim-1) / z * besselRatio(dim, z)
	logZ, relErr, ok := n.integrate(-math.Pi/2, math.Pi/2, func(float64) float64 { return 0 })
	if !ok || relErr > 1e-11 {
		return nil, bad("zeta = %v, dim = %d: the density could not be normalised", zeta, dim)
	}
	n.logZ = logZ
	return n, nil
}

// bernoulli returns the mixture (1−w) at 0 and w at mean.
func bernoulli(w, mean float64) []Component {
	return []Component{{math.Log1p(-w), 0}, {logspace.Log(w), mean}}
}

// besselRatio returns K_{d/2}(z)/K_{d/2−1}(z), by the upward recurrence from closed forms (odd d)
// or from K₁/K₀ (even d).
func besselRatio(dim int, z float64) float64 {
	r, nu := 1+1/z, 0.5
	if dim%2 == 0 {
		r, nu = besselK1K0(z), 0
	}
	for ; nu < float64(dim)/2-1.25; nu++ {
		r = 2*(nu+1)/z + 1/r
	}
	return r
}

// besselK1K0 returns K₁(z)/K₀(z) from K_ν(z) = ∫₀^∞ exp(−z cosh t) cosh νt dt by the trapezoid rule, which converges
// geometrically.
func besselK1K0(z float64) float64 {
	end := math.Acosh(1 + 60/z)
	if z > 1e6 {
		end = math.Sqrt(120 / z)
	}
	const n = 600
	k0, k1 := 0.5*math.Exp(0), 0.5
	for i := 1; i <= n; i++ {
		s := math.Sinh(end * float64(i) / n / 2)
		gap := 2 * s * s // cosh t − 1
		w := math.Exp(-z * gap)
		k0 += w
		k1 += w * (1 + gap)
	}
	return k1 / k0
}

// baseLogQ returns log q of the base density at θ.
func (n *Norm) baseLogQ(theta float64) float64 {
	return n.logQ(math.Sin(theta), max(0, math.Cos(theta)))
}

// logQ returns log q at the angle with the given sine and cosine.
func (n *Norm) logQ(sin, cos float64) float64 {
	power := 0.0
	if n.dim > 2 {
		power = float64(n.dim-2) * logspace.Log(cos)
	}
	return -n.kappa*sin/2 + power + logspace.Log(n.rho+cos*cos) - n.logZ
}

// rounding bounds the effect on log q of the rounding of θ, which the cosine magnifies near ±π/2.
func (n *Norm) rounding(theta float64) float64 {
	return 4e-16 * float64(n.dim) / max(1e-16, math.Cos(theta))
}

// integrate returns log ∫ q e^g dθ of the base density over [a, b].
func (n *Norm) integrate(a, b float64, g func(theta float64) float64) (logI, relErr float64, ok bool) {
	f := positive{
		log: func(t float64) float64 { return n.baseLogQ(t) + g(t) },
		bound: func(a, b float64) float64 {
			return n.baseBound(a, b) + max(g(a), g(b)) + 1e-9
		},
		noise: n.rounding,
		width: 0.5,
		slack: 60,
	}
	return f.integrate(cut(a, b))
}

// cut splits [a, b] at 0.
func cut(a, b float64) []float64 {
	if a < 0 && b > 0 {
		return []float64{a, 0, b}
	}
	return []float64{a, b}
}

// baseBound bounds log q: each factor is monotone on either side of 0.
func (n *Norm) baseBound(a, b float64) float64 {
	return n.logQ(math.Sin(a), max(0, math.Cos(min(max(a, 0), b))))
}

// baseLogDelta is the profile of the plain shift, which is symmetric.
func (n *Norm) baseLogDelta(eps float64) float64 {
	switch {
	case eps >= n.kappa:
		return math.Inf(-1)
	case eps <= -n.kappa:
		return logspace.Log(-math.Expm1(eps))
	case eps < 0:
		return reflectDelta(eps, n.baseLogDelta(-eps))
	}
	// In φ = π/2 − θ the loss exceeds ε for φ < φ*, κ(cos φ − cos φ*) = 2κ sin((φ*−φ)/2) sin((φ*+φ)/2).
	end := 2 * math.Asin(math.Sqrt(min(1, (n.kappa-eps)/(2*n.kappa))))
	logI, _, _ := positive{
		log: func(phi float64) float64 {
			return n.logQ(math.Cos(phi), math.Sin(phi)) +
				logspace.Expm1(2*n.kappa*math.Sin((end-phi)/2)*math.Sin((end+phi)/2))
		},
		bound: func(a, b float64) float64 {
			return n.logQ(math.Cos(b), math.Sin(min(b, math.Pi/2))) +
				logspace.Expm1(2*n.kappa*math.Sin((end-a)/2)*math.Sin((end+a)/2)) + 1e-9
		},
		width: 0.25,
		slack: 60,
	}.integrate([]float64{0, end})
	return min(0, eps+logI)
}

// LogDelta returns log δ(ε): the sampled pair's profile is the base profile at a changed ε.
func (n *Norm) LogDelta(eps float64) float64 {
	return sampledDelta(eps, n.rate, n.swapped, shiftedNorm{n})
}

// shiftedNorm is the plain shift.
type shiftedNorm struct{ *Norm }

func (s shiftedNorm) LogDelta(eps float64) float64 { return s.baseLogDelta(eps) }
func (s shiftedNorm) Swap() Pair                   { return s }

// unsample returns the base loss at which the sampled loss is ε.
func (n *Norm) unsample(eps float64) float64 { return unsampleLoss(eps, n.rate) }

// sample is the inverse of unsample.
func (n *Norm) sample(loss float64) float64 { return sampleLoss(loss, n.rate) }

// At returns log q and the loss at the angle x.
func (n *Norm) At(x float64) (logQ, loss float64) {
	if n.swapped {
		l := n.sample(n.kappa * math.Sin(-x))
		return n.baseLogQ(-x) + l, -l
	}
	return n.baseLogQ(x), n.sample(n.kappa * math.Sin(x))
}

// Threshold returns the smallest angle at which the loss is at least ε.
func (n *Norm) Threshold(eps float64) float64 {
	s := n.Support()
	switch {
	case math.IsNaN(eps):
		return math.NaN()
	case eps <= s.Min:
		return math.Inf(-1)
	case eps > s.Max:
		return math.Inf(1)
	case n.swapped:
		return -math.Asin(min(1, max(-1, n.unsample(-eps)/n.kappa)))
	}
	return math.Asin(min(1, max(-1, n.unsample(eps)/n.kappa)))
}

// LogTails returns log P(L > ε) and log Q(L > ε).
func (n *Norm) LogTails(eps float64) (logP, logQ float64) {
	x := n.Threshold(eps)
	switch {
	case math.IsInf(x, -1):
		return 0, 0
	case math.IsInf(x, 1) || x >= math.Pi/2:
		return math.Inf(-1), math.Inf(-1)
	}
	lo, hi := x, math.Pi/2
	if n.swapped {
		lo, hi = -math.Pi/2, -x
	}
	a, _, _ := n.integrate(lo, hi, func(float64) float64 { return 0 })
	b, _, _ := n.integrate(lo, hi, func(t float64) float64 { return n.sample(n.kappa * math.Sin(t)) })
	if n.swapped {
		a, b = b, a
	}
	return min(0, b), min(0, a)
}

// LogMoment returns log ∫ p^α q^(1−α) with a bound on its error.
func (n *Norm) LogMoment(alpha float64) (k, errBound float64) {
	if k, known := trivialMoment(alpha); known {
		return k, 0
	}
	if math.IsInf(alpha, 1) {
		return math.Inf(1), 0
	}
	logM, relErr, ok := integrateLoss(n, alpha-1, n.span(alpha-1),
		func(l float64) float64 { return logExcess(alpha-1, l) })
	if !ok { // D_α ≤ D_∞
		k = (alpha - 1) * n.Support().Max
		return k, 4e-15 * k
	}
	return momentFromExcess(logM, relErr+n.RelErr())
}

func (n *Norm) span(float64) []float64 { return cut(-math.Pi/2, math.Pi/2) }

func (n *Norm) cell(float64) (width, slack, peak float64) { return 0.5, 60, 0 }

func (n *Norm) logDensityBound(a, b float64) float64 {
	if n.swapped {
		return n.baseBound(-b, -a) + n.sample(n.kappa*math.Sin(-a))
	}
	return n.baseBound(a, b)
}

func (n *Norm) tilted(alpha, a, b float64) float64 {
	_, loss := n.At(b)
	return n.logDensityBound(a, b) + alpha*loss + 1e-9
}

// Support returns the range of the loss; there are no atoms.
func (n *Norm) Support() Support {
	lo, hi := n.sample(-n.kappa), n.sample(n.kappa)
	if n.swapped {
		return Support{Min: -hi, Max: -lo}
	}
	return Support{Min: lo, Max: hi}
}

// RelErr is that of adaptive quadrature and of the normaliser.
func (n *Norm) RelErr() float64 { return 1e-12 * (1 + n.kappa*1e-3) }

// String shows the pair.
func (n *Norm) String() string {
	return fmt.Sprintf("norm noise(ζ·shift %g, dim %d, rate %g)", n.kappa, n.dim, n.rate)
}

// Swap returns (Q, P).
func (n *Norm) Swap() Pair {
	s := *n
	s.swapped = !n.swapped
	return &s
}
