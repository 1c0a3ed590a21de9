package pair

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"slices"
	"sync"

	"coupling/lab/logspace"
)

// Component is one part of a mixture: exp(LogWeight)·f(x − Mean).
type Component struct{ LogWeight, Mean float64 }

// Mixture is a pair of mixtures of one noise at different means, where all means of P lie on one side of those of Q
// (they may share one). Its loss is then monotone, because the noise is log-concave. The coordinate is turned so
// that P is on the right, and the loss nondecreasing. It is a Line.
type Mixture struct {
	noise        Noise
	forms        forms
	flat         bool // the loss is constant beyond the means: Laplace
	scale        float64
	p, q         []Component // by distance from centre
	centre       float64
	other        func() *Mixture // (Q, P)
	min, max     float64
	pAt, qAt     float64 // log weights at the centre
	pOut, qOut   []shift // the components away from the centre
	left, right  float64 // smallest and largest mean
	closed       bool    // P is centre and one more, Q is the centre: the threshold has a closed form
	pLogs, qLogs []shift // all components
}

// shift is a component in units of the scale, relative to the centre.
type shift struct{ logW, w, d float64 }

// NewMixture returns the pair P = Σ w f(x − m), Q likewise. Means must be finite, weights must sum to one within 1e-9.
// An error is returned when some mean of P lies strictly between means of Q, or the other way round.
func NewMixture(noise Noise, scale float64, p, q []Component) (*Mixture, error) {
	if noise == nil || !reflect.TypeOf(noise).Comparable() {
		return nil, bad("noise = %v: must be a comparable Noise", noise)
	}
	if err := in.Positive("scale", scale); err != nil {
		return nil, err
	}
	p, err := components("P", p)
	if err != nil {
		return nil, err
	}
	q, err = components("Q", q)
	if err != nil {
		return nil, err
	}
	m := &Mixture{noise: noise, forms: formsOf(noise), flat: noise == Laplace, scale: scale, p: p, q: q}
	if p[0].Mean < q[len(q)-1].Mean {
		reflectMeans(m.p)
		reflectMeans(m.q)
	}
	if m.p[0].Mean < m.q[len(q)-1].Mean {
		return nil, bad("means: those of P (%v to %v) and of Q (%v to %v) overlap: the loss is not monotone",
			p[0].Mean, p[len(p)-1].Mean, q[0].Mean, q[len(q)-1].Mean)
	}
	m.prepare()
	m.other = sync.OnceValue(m.mirror)
	return m, nil
}

// mirror returns the prepared pair (Q, P).
func (m *Mixture) mirror() *Mixture {
	s := &Mixture{
		noise: m.noise,
		forms: m.forms,
		flat:  m.flat,
		scale: m.scale,
		p:     slices.Clone(m.q),
		q:     slices.Clone(m.p),
		other: func() *Mixture { return m },
	}
	reflectMeans(s.p)
	reflectMeans(s.q)
	s.prepare()
	return s
}

// components checks, merges equal means, sorts by mean and normalises.
func components(name string, in []Component) ([]Component, error) {
	total := logspace.Zero()
	var out []Component
	for _, c := range in {
		if math.IsNaN(c.Mean) || math.IsInf(c.Mean, 0) {
			return nil, bad("mean in %s = %v: must be finite", name, c.Mean)
		}
		if math.IsNaN(c.LogWeight) || c.LogWeight > 1e-9 {
			return nil, bad("log weight in %s = %v: must be at most 0", name, c.LogWeight)
		}
		if math.IsInf(c.LogWeight, -1) {
			continue
		}
		total.Add(c.LogWeight)
		out = append(out, c)
	}
	sum := math.Exp(total.Log())
	if !(math.Abs(sum-1) <= 1e-9) {
		return nil, bad("weights of %s sum to %v: must sum to 1", name, sum)
	}
	slices.SortStableFunc(out, func(a, b Component) int { return cmp.Compare(a.Mean, b.Mean) })
	merged := out[:0]
	for _, c := range out {
		if n := len(merged); n > 0 && merged[n-1].Mean == c.Mean {
			merged[n-1].LogWeight = logspace.Add(merged[n-1].LogWeight, c.LogWeight)
			continue
		}
		merged = append(merged, c)
	}
	return merged, nil
}

func reflectMeans(c []Component) {
	for i := range c {
		c[i].Mean = -c[i].Mean
	}
	slices.Reverse(c)
}

// prepare chooses the centre and fills what evaluation needs.
func (m *Mixture) prepare() {
	low, high := m.q[len(m.q)-1].Mean, m.p[0].Mean
	m.centre = high
	if len(m.q) == 1 {
		m.centre = low
	}
	m.left, m.right = min(m.q[0].Mean, high), max(m.p[len(m.p)-1].Mean, low)
	m.pAt, m.pOut, m.pLogs = m.shifts(m.p)
	m.qAt, m.qOut, m.qLogs = m.shifts(m.q)
	m.closed = m.noise == Gaussian && len(m.pOut) == 1 && len(m.qOut) == 0
	m.min, m.max = m.loss(math.Inf(-1)), m.loss(math.Inf(1))
}

// shifts splits off the component at the centre, whose weight becomes one minus the sum of the
// others.
func (m *Mixture) shifts(c []Component) (at float64, out, all []shift) {
	at = math.Inf(-1)
	rest := 0.0
	for _, c := range c {
		if c.Mean == m.centre {
			at = c.LogWeight
			continue
		}
		w := math.Exp(c.LogWeight)
		out = append(out, shift{logW: c.LogWeight, w: w, d: (c.Mean - m.centre) / m.scale})
		rest += w
	}
	if math.IsInf(at, -1) {
		total := logspace.Zero()
		for _, c := range c {
			total.Add(c.LogWeight)
		}
		for i := range out { // no component at the centre absorbs the rounding: normalise
			out[i].logW -= total.Log()
			out[i].w = math.Exp(out[i].logW)
		}
	} else if rest < 0.5 {
		at = math.Log1p(-rest)
	}
	if !math.IsInf(at, -1) {
		all = append(all, shift{logW: at, w: math.Exp(at)})
	}
	return at, out, append(all, out...)
}

// Noise returns the family of the noise.
func (m *Mixture) Noise() Noise { return m.noise }

// Scale returns σ or λ.
func (m *Mixture) Scale() float64 { return m.scale }

// Components returns P and Q by increasing mean, in the coordinate of At, where P is on the right.
func (m *Mixture) Components() (p, q []Component) {
	return slices.Clone(m.p), slices.Clone(m.q)
}

// String shows the pair.
func (m *Mixture) String() string {
	return fmt.Sprintf("%v(scale %g): P %s, Q %s", m.noise, m.scale, listComponents(m.p), listComponents(m.q))
}

func listComponents(c []Component) string {
	s := ""
	for i, c := range c {
		if i == 4 {
			return s + " + …"
		}
		if i > 0 {
			s += " + "
		}
		s += fmt.Sprintf("%.4g@%g", math.Exp(c.LogWeight), c.Mean)
	}
	return s
}

// Swap returns (Q, P), with the coordinate turned.
func (m *Mixture) Swap() Pair { return m.other() }

// RelErr is 1e-12 for scales of at least 1/20 of the largest shift; rounding of squares grows beyond
// that, and integrals are less accurate.
func (m *Mixture) RelErr() float64 {
	span := (m.right - m.left) / m.scale
	relErr := 5e-13 + 1e-15*span*span
	if _, integrals := m.forms.(integrated); integrals {
		relErr += integralErr
	}
	return relErr
}

// logRatio returns log Σ w f(x−m)/f(x−centre), with a small relative error also where it is near 0.
func (m *Mixture) logRatio(out, all []shift, t float64) float64 {
	sum := 0.0
	for i := range out {
		s := &out[i]
		a := m.noise.LogRatio(t, s.d)
		switch {
		case a < 1:
			sum += s.w * math.Expm1(a)
		case s.logW+a > 600:
			return m.logRatioFar(all, t)
		default:
			sum += math.Exp(s.logW+a) - s.w
		}
	}
	if sum > -0.5 {
		return math.Log1p(sum)
	}
	return m.logRatioFar(all, t)
}

func (m *Mixture) logRatioFar(all []shift, t float64) float64 {
	s := logspace.Zero()
	for i := range all {
		a := 0.0 // of the centre, also at an infinite t
		if d := all[i].d; d != 0 {
			a = m.noise.LogRatio(t, d)
		}
		if math.IsInf(a, 1) {
			return a
		}
		s.Add(all[i].logW + a)
	}
	return s.Log()
}

// At returns log q(x) and the loss at x.
func (m *Mixture) At(x float64) (logQ, loss float64) {
	t := (x - m.centre) / m.scale
	q := m.logRatio(m.qOut, m.qLogs, t)
	return m.logNoise(t) + q, m.logRatio(m.pOut, m.pLogs, t) - q
}

func (m *Mixture) loss(x float64) float64 {
	t := (x - m.centre) / m.scale
	return m.logRatio(m.pOut, m.pLogs, t) - m.logRatio(m.qOut, m.qLogs, t)
}

// logNoise returns the log density of the noise at t scales from its mean.
func (m *Mixture) logNoise(t float64) float64 { return m.noise.LogDensity(t) - logspace.Log(m.scale) }

// Support returns the range of the loss. Laplace mixtures have an atom at each end.
func (m *Mixture) Support() Support {
	s := Support{Min: m.min, Max: m.max}
	switch {
	case len(m.pOut) == 0 && len(m.qOut) == 0:
		return Support{Atoms: []Atom{atomOf(0, 0, 0)}, Discrete: true}
	case m.flat:
		s.Atoms = []Atom{
			atomOf(m.min, m.logMass(m.p, m.left, -1), m.logMass(m.q, m.left, -1)),
			atomOf(m.max, m.logMass(m.p, m.right, 1), m.logMass(m.q, m.right, 1)),
		}
	}
	return s
}

// logMass returns the log of the part of c right (side 1) or left (side −1) of x.
func (m *Mixture) logMass(c []Component, x, side float64) float64 {
	s := logspace.Zero()
	for _, c := range c {
		s.Add(c.LogWeight + m.noise.LogTail(side*(x-c.Mean)/m.scale))
	}
	return min(0, s.Log())
}

// LogTails returns log P(L > ε) and log Q(L > ε).
func (m *Mixture) LogTails(eps float64) (logP, logQ float64) {
	if eps >= m.max || math.IsNaN(eps) {
		return math.Inf(-1), math.Inf(-1)
	}
	if eps < m.min {
		return 0, 0
	}
	x := m.Threshold(eps)
	if eps == m.min { // the flat end, if there is one, does not exceed ε
		x = math.Inf(-1)
		if m.flat {
			x = m.left
		}
	}
	return m.logMass(m.p, x, 1), m.logMass(m.q, x, 1)
}

// means lists the means of both, in order.
func (m *Mixture) means() []float64 {
	b := make([]float64, 0, len(m.p)+len(m.q))
	for _, c := range m.q {
		b = append(b, c.Mean)
	}
	for _, c := range m.p {
		b = append(b, c.Mean)
	}
	return slices.Compact(b)
}
