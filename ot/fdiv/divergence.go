package fdiv

import (
	"errors"
	"fmt"
	"math"
)

// A Divergence names an f-divergence. The zero value is KL. For a value other than the constants,
// methods that return an error return ErrUnknown, and the others panic.
type Divergence int

// The divergences of the table above.
const (
	KL            Divergence = iota // Kullback–Leibler, relative entropy of P to Q.
	ReverseKL                       // Relative entropy of Q to P.
	Pearson                         // χ² with f = (v−1)².
	ChiSquare                       // χ² with f = v²−1, as SCONES computes it.
	Hellinger                       // Squared Hellinger distance, in the convention where it is at most 2.
	JensenShannon                   // Twice the Jensen–Shannon divergence, at most 2 log 2.
	GAN                             // The discriminator's objective, JensenShannon − log 4 on probability measures.
)

// All returns every divergence, in the order of the constants.
func All() []Divergence {
	return []Divergence{KL, ReverseKL, Pearson, ChiSquare, Hellinger, JensenShannon, GAN}
}

// ErrUnknown reports a name or number that does not denote a divergence.
var ErrUnknown = errors.New("unknown divergence")

// A form holds the scalar functions of one divergence. They may assume v ≥ 0 and u < bound, and
// that neither is NaN.
type form struct {
	name      string
	bound     float64                 // sup of the domain of f*, which is lim f(v)/v
	f         func(v float64) float64 // f
	slope     func(v float64) float64 // f′
	conjugate func(u float64) float64 // f*
	compat    func(u float64) float64 // f*′
	curvature func(u float64) float64 // f*″
	logCompat func(u float64) float64 // log f*′
	score     func(u float64) float64 // (log f*′)′
}

// forms has every divergence.
var forms = [...]*form{
	KL:            &kl,
	ReverseKL:     &reverseKL,
	Pearson:       &pearson,
	ChiSquare:     &chiSquare,
	Hellinger:     &hellinger,
	JensenShannon: &jensenShannon,
	GAN:           &gan,
}

func (d Divergence) form() *form { return forms[d] }

// known reports whether d is one of the constants.
func (d Divergence) known() bool { return d >= 0 && int(d) < len(forms) }

// String returns the short name: kl, reverse-kl, pearson, chi2, hellinger, js or gan.
func (d Divergence) String() string {
	if !d.known() {
		return fmt.Sprintf("Divergence(%d)", int(d))
	}
	return d.form().name
}

// MarshalText returns the short name.
func (d Divergence) MarshalText() ([]byte, error) {
	return []byte(d.String()), d.Check()
}

// UnmarshalText reads a short name.
func (d *Divergence) UnmarshalText(text []byte) error {
	for _, e := range All() {
		if e.String() == string(text) {
			*d = e
			return nil
		}
	}
	return fmt.Errorf("ot/fdiv: %q: %w", text, ErrUnknown)
}

// F returns f(v), with f(0) its limit, and +Inf for v < 0.
func (d Divergence) F(v float64) float64 {
	if v < 0 {
		return math.Inf(1)
	}
	return unlessNaN(v, d.form().f)
}

// Slope returns f′(v) for v ≥ 0, at 0 its limit, and NaN for v < 0. On the interior of the domains it is the inverse
// of Compatibility.
func (d Divergence) Slope(v float64) float64 {
	if v < 0 {
		return math.NaN()
	}
	return unlessNaN(v, d.form().slope)
}

// Bound returns the supremum of the domain of f*, +Inf where there is none. It is also the limit of
// f(v)/v, the cost of a unit of P's mass where Q has no mass.
func (d Divergence) Bound() float64 { return d.form().bound }

// Check returns ErrUnknown unless d is one of the constants.
func (d Divergence) Check() error {
	if !d.known() {
		return fmt.Errorf("ot/fdiv: %v: %w", d, ErrUnknown)
	}
	return nil
}

// Conjugate returns f*(u) = sup_{v≥0} uv − f(v), +Inf at and above Bound.
func (d Divergence) Conjugate(u float64) float64 {
	if u >= d.Bound() {
		return math.Inf(1)
	}
	return unlessNaN(u, d.form().conjugate)
}

// Compatibility returns M_f(u) = f*′(u) ≥ 0, the v at which the supremum of f* is attained; NaN at and above Bound.
func (d Divergence) Compatibility(u float64) float64 { return d.below(u, d.form().compat) }

// Curvature returns f*″(u) ≥ 0, at the kinks of Pearson and ChiSquare from the right; NaN at and above Bound.
func (d Divergence) Curvature(u float64) float64 { return d.below(u, d.form().curvature) }

// LogCompatibility returns log M_f(u), −Inf where M_f is zero; NaN at and above Bound. It stays finite where M_f
// under- or overflows.
func (d Divergence) LogCompatibility(u float64) float64 { return d.below(u, d.form().logCompat) }

// Score returns (log M_f)′(u) = f*″/f*′, by which a Langevin sampler of the plan multiplies the gradient of u; NaN at
// and above Bound, and where M_f is zero.
func (d Divergence) Score(u float64) float64 { return d.below(u, d.form().score) }

func (d Divergence) below(u float64, f func(float64) float64) float64 {
	if b := d.Bound(); u >= b && !math.IsInf(b, 1) {
		return math.NaN()
	}
	return unlessNaN(u, f)
}

func unlessNaN(x float64, f func(float64) float64) float64 {
	if math.IsNaN(x) {
		return x
	}
	return f(x)
}
