package dp

import (
	"cmp"
	"context"
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// The privacy of integer mechanisms, of (ε, δ) and of one Gaussian by the definition, in 320 bits
// with exponents that do not underflow: losses of thousands, groups of a thousand, δ down to the
// least float64. No code of dp is used.

const bits = 320

func num(x float64) *big.Float               { return new(big.Float).SetPrec(bits).SetFloat64(x) }
func mul(a, b *big.Float) *big.Float         { return new(big.Float).Mul(a, b) }
func quo(a, b *big.Float) *big.Float         { return new(big.Float).Quo(a, b) }
func rounded(x *big.Float) float64           { f, _ := x.Float64(); return f }
func scaleBy(x *big.Float, e int) *big.Float { return new(big.Float).SetMantExp(x, e) }

func sub(a, b *big.Float) *big.Float { return add(a, new(big.Float).Neg(b)) }

// add is a + b, or the larger where the other is far below its last digit: big.Float would write
// out the digits between.
func add(a, b *big.Float) *big.Float {
	if a.MantExp(nil) < b.MantExp(nil) {
		a, b = b, a
	}
	if a.Sign() != 0 && b.Sign() != 0 && a.MantExp(nil)-b.MantExp(nil) > 2*bits {
		return a
	}
	return new(big.Float).Add(a, b)
}

// bigExp is e^x by its series after halving x.
func bigExp(x *big.Float) *big.Float {
	halved := max(0, x.MantExp(nil)+8)
	small := scaleBy(x, -halved)
	sum, term := num(1), num(1)
	for k := 1; k < 50; k++ {
		term = quo(mul(term, small), num(float64(k)))
		sum = add(sum, term)
	}
	for range halved {
		sum = mul(sum, sum)
	}
	return sum
}

// power is x^n.
func power(x *big.Float, n int) *big.Float {
	out := num(1)
	for ; n > 0; n >>= 1 {
		if n&1 != 0 {
			out = mul(out, x)
		}
		x = mul(x, x)
	}
	return out
}

// bigTail is 1 − Φ(t): by Mills' continued fraction beyond 3, else by the series of Φ.
func bigTail(t *big.Float) *big.Float {
	root := new(big.Float).SetPrec(bits).Sqrt(mul(num(2), bigPi))
	density := quo(bigExp(scaleBy(mul(t, t), -1).Neg(scaleBy(mul(t, t), -1))), root)
	if rounded(t) > 3 {
		r := num(0)
		for k := int(3e4/(rounded(t)*rounded(t))) + 30; k > 0; k-- {
			r = quo(num(float64(k)), add(t, r))
		}
		return quo(density, add(t, r))
	}
	if rounded(t) < -3 {
		return sub(num(1), bigTail(new(big.Float).Neg(t)))
	}
	sum, term := new(big.Float).Set(t), new(big.Float).Set(t) // Φ − 1/2 = φ·(t + t³/3 + t⁵/(3·5) + …)
	for k := 3; k < 400; k += 2 {
		term = quo(mul(term, mul(t, t)), num(float64(k)))
		sum = add(sum, term)
	}
	return sub(num(.5), mul(density, sum))
}

// bigPi is π by Machin's formula.
var bigPi = func() *big.Float {
	arctan := func(n float64) *big.Float { // of 1/n
		sum, term := num(0), quo(num(1), num(n))
		for k := 1; k < 500; k += 2 {
			sum = add(sum, quo(term, num(float64(k))))
			term = quo(term, num(-n*n))
		}
		return sum
	}
	return scaleBy(sub(scaleBy(arctan(5), 2), arctan(239)), 2)
}()

// A truth is a privacy curve: δ as a function of e^ε, up to an error that is added to it.
type truth func(grow, eps *big.Float) *big.Float

// points is the curve of probabilities under both data sets, Σ max(p − e^ε q, 0).
func points(pq ...[2]*big.Float) truth {
	return func(grow, _ *big.Float) *big.Float {
		sum := num(0)
		for _, a := range pq {
			if d := sub(a[0], mul(grow, a[1])); d.Sign() > 0 {
				sum = add(sum, d)
			}
		}
		return sum
	}
}

// twoPoints is the composition of a pair whose loss is log up or log down.
func twoPoints(up, down *big.Float, times int) truth {
	q := quo(sub(num(1), down), sub(up, down)) // of the larger loss
	p, rest := mul(up, q), sub(num(1), q)
	var all [][2]*big.Float
	for k := range times + 1 {
		c := new(big.Float).SetPrec(bits).SetInt(new(big.Int).Binomial(int64(times), int64(k)))
		at := func(p, other *big.Float) *big.Float { return mul(c, mul(power(p, k), power(other, times-k))) }
		all = append(all, [2]*big.Float{at(p, mul(down, rest)), at(q, rest)})
	}
	return points(all...)
}

// shiftedBy is noise on integers with P(j) = f(|j|), moved by the number of records in the batch, whose probabilities
// are w. If the law is geometric beyond the group, on whose tails the loss is constant, these are a point each.
func shiftedBy(f func(j int) *big.Float, tails *big.Float, first, last int, w []*big.Float) truth {
	at := func(j int) *big.Float { return f(max(j, -j)) }
	var all [][2]*big.Float
	for j := first; j <= last; j++ {
		p, q := num(0), at(j)
		for i := range w {
			if w[i].Sign() > 0 {
				p = add(p, mul(w[i], at(j-i)))
			}
		}
		if tails != nil && (j == first || j == last) {
			p, q = quo(p, tails), quo(q, tails)
		}
		all = append(all, [2]*big.Float{p, q})
	}
	return points(all...)
}

// A farOut is a question about a group of removed records.
type farOut struct {
	kind         uint8
	loss         float64 // of one record, or of one step of the integers
	rate         float64 // of Poisson samples, 1 for none
	group, times int
	x            float64 // δ, and to a tenth of which ε is asked
	eps          float64
}

// weights are the probabilities of the numbers of the group's records in a batch.
func (c farOut) weights() []*big.Float {
	w := make([]*big.Float, c.group+1)
	for i := range w {
		if w[i] = num(0); c.rate < 1 || i == c.group {
			n := new(big.Float).SetPrec(bits).SetInt(new(big.Int).Binomial(int64(c.group), int64(i)))
			w[i] = mul(n, mul(power(num(c.rate), i), power(sub(num(1), num(c.rate)), c.group-i)))
		}
	}
	return w
}

// law returns the mechanism, its curve, and by how much, relative to each record's loss and to δ,
// its pair may be above it.
func (c farOut) law() (e Event, curve truth, slack float64) {
	k, loss := float64(c.group), num(c.loss)
	sampled := func(m Event) Event {
		if c.rate < 1 {
			return Poisson{c.rate, m}
		}
		return m
	}
	switch c.kind % 5 {
	case 0: // each record multiplies the odds by 1 + r(e^±ε − 1) at most
		odds := func(sign float64) *big.Float {
			return power(add(num(1), mul(num(c.rate), sub(bigExp(mul(num(sign), loss)), num(1)))), c.group)
		}
		if c.rate < 1 {
			slack = 4e-12 * float64(c.times)
		}
		return Repeat{c.times, sampled(Pure{c.loss})}, twoPoints(odds(1), odds(-1), c.times), slack
	case 1: // a group of one; infinite loss with a quarter of δ
		up, lost := bigExp(loss), num(c.x/4)
		q := quo(sub(num(1), lost), add(num(1), up))
		p := mul(up, q)
		return Approximate{c.loss, c.x / 4}, points([2]*big.Float{lost, num(0)}, [2]*big.Float{p, q},
			[2]*big.Float{q, p}), 0
	case 2:
		scale := 1 / c.loss
		fall := bigExp(quo(num(-1), num(scale)))
		powers := []*big.Float{quo(sub(num(1), fall), add(num(1), fall))}
		for range c.group {
			powers = append(powers, mul(powers[len(powers)-1], fall))
		}
		f := func(j int) *big.Float { return powers[j] }
		return sampled(DiscreteLaplace{Scale: scale}), shiftedBy(f, sub(num(1), fall), 0, c.group, c.weights()), 0
	case 3:
		sigma := 1 / math.Sqrt(2*c.loss)
		reach := int(50*sigma) + c.group + 1 // beyond lies less than e^−1250
		g := bigExp(quo(num(-.5), mul(num(sigma), num(sigma))))
		law, ratio, total := []*big.Float{num(1)}, g, num(1)
		for j := range reach {
			law, ratio = append(law, mul(law[j], ratio)), mul(ratio, mul(g, g))
			total = add(total, scaleBy(law[j+1], 1))
		}
		for j := range law {
			law[j] = quo(law[j], total)
		}
		f := func(j int) *big.Float {
			if j > reach {
				return num(0)
			}
			return law[j]
		}
		return sampled(DiscreteGaussian{Sigma: sigma}), shiftedBy(f, nil, -reach, reach, c.weights()), 0
	}
	mu := quo(num(k), num(1/c.loss))
	return Gaussian{1 / c.loss}, func(grow, eps *big.Float) *big.Float {
		a, half := quo(eps, mu), scaleBy(mu, -1)
		return sub(bigTail(sub(a, half)), mul(grow, bigTail(add(a, half))))
	}, 0
}

// at is δ of the curve at ε.
func (f truth) at(eps float64) *big.Float { return f(bigExp(num(eps)), num(eps)) }

// inRange reports whether the numbers are those that are asked for, and the sums short.
func (c farOut) inRange() bool {
	span := float64(c.group) * c.loss
	switch c.kind % 5 {
	case 3:
		span *= float64(c.group)
	case 4:
		span *= 1e4
	}
	return c.loss >= 1e-3 && c.loss <= 1e4 && span <= 1e7 && c.rate > 1e-12 && c.rate <= 1 && c.x >= 0 && c.x < 1 &&
		c.group >= 1 && c.group <= 1000 && (c.rate == 1 || c.group <= 30) && c.times >= 1 && c.times <= 5 &&
		c.eps >= 0 && c.eps <= 1e7
}

// check asks for ε and for δ: the curve lies between the bounds. It returns how many of the two
// were answered by a number other than 0.
func (c farOut) check(t interface{ Errorf(string, ...any) }) (answered int) {
	e, curve, slack := c.law()
	above := func(eps float64) *big.Float { // the curve of the pair
		return mul(curve.at(max(0, eps-slack*float64(c.group*c.times)*c.loss)), num(1+slack))
	}
	r := Relation{Kind: Removal, Group: c.group}
	if c.kind%5 == 1 {
		r.Group = 1
	}
	g, err := Epsilon(context.Background(), e, r, c.x)
	switch unbounded := c.kind%5 > 2 && c.x < 1e-322; {
	case err != nil && !(unbounded && errors.Is(err, ErrUnbounded)):
		t.Errorf("%+v: ε of %v: %v", c, e, err)
	case err == nil:
		if at := curve.at(g.Epsilon); at.Cmp(num(c.x)) > 0 {
			t.Errorf("%+v: ε of %v is above %v: δ there is %.20g", c, e, g.Epsilon, at)
		}
		if at := above(g.Lower); g.Lower > 0 && (at.Cmp(num(c.x)) < 0 || at.Sign() == 0) {
			t.Errorf("%+v: ε of %v is below %v: δ there is %.20g", c, e, g.Lower, at)
		}
		if g.Epsilon > 0 {
			answered++
		}
	}
	d, err := Delta(context.Background(), e, r, c.eps)
	want := curve.at(c.eps)
	switch {
	case err != nil:
		t.Errorf("%+v: δ of %v: %v", c, e, err)
	case want.Cmp(num(d.Delta)) > 0 && d.Delta < 1:
		t.Errorf("%+v: δ of %v is %.20g, reported as at most %v", c, e, want, d.Delta)
	case num(d.Lower).Cmp(above(c.eps)) > 0:
		t.Errorf("%+v: δ of %v is %.20g, reported as at least %v", c, e, want, d.Lower)
	case d.Delta > 0:
		answered++
	}
	return answered
}

func FuzzFarOut(f *testing.F) {
	for kind := range uint8(5) {
		f.Add(kind, 744.0, 1.0, 1, 1, 1e-310, 743.0)
		f.Add(kind, 10.0, .1, 100, 3, 5e-324, 900.0)
	}
	f.Fuzz(func(t *testing.T, kind uint8, loss, rate float64, group, times int, delta, eps float64) {
		if c := (farOut{kind, loss, rate, group, times, delta, eps}); c.inRange() {
			c.check(t)
		}
	})
}

// The same, drawn over the whole range: a hundred, or as many as -questions.
func TestFarOut(t *testing.T) {
	rng := rand.New(rand.NewPCG(35, *firstSeed))
	within := func(lo, hi float64) float64 { return math.Exp(math.Log(lo) + rng.Float64()*math.Log(hi/lo)) }
	answered, cases := 0, max(100, *questions)
	for range cases {
		var c farOut
		for ok := false; !ok; ok = c.inRange() {
			c = farOut{
				kind:  uint8(rng.IntN(5)),
				loss:  within(1e-3, 1e4),
				rate:  min(1, within(1e-6, 1e3)),
				group: int(within(1, 1001)),
				times: 1 + rng.IntN(5),
				x:     math.Exp(-745 * rng.Float64()),
			}
			c.eps = float64(c.group) * c.loss * within(.01, 1.1)
			if rng.IntN(8) == 0 {
				c.x = 0
			}
		}
		answered += c.check(t)
	}
	t.Logf("%d of %d answers are a number other than 0", answered, 2*cases)
}

// Losses about where float64 ends, at which ε was too small by up to 5 %, or refused.
func TestSubnormal(t *testing.T) {
	for _, loss := range []float64{600, 708, 709, 744, 745.2, 746, 5000} {
		for _, x := range []float64{0, 5e-324, 1e-310, 1e-5, .05} {
			for _, c := range []farOut{{kind: 0}, {kind: 0, times: 3}, {kind: 0, rate: .1}, {kind: 1}, {kind: 2},
				{kind: 2, rate: .1}, {kind: 3}} {
				c.loss, c.x, c.group, c.eps = loss, x, 1, loss-3
				c.rate, c.times = cmp.Or(c.rate, 1), cmp.Or(c.times, 1)
				if c.check(t) < 2 && c.kind < 3 {
					t.Errorf("%+v: not answered", c)
				}
			}
		}
	}
	for _, c := range []farOut{
		{kind: 2, loss: 1, group: 744, x: 0, eps: 709.5},
		{kind: 2, loss: 1, group: 1000, x: 1e-3, eps: 999},
		{kind: 0, loss: 10, group: 100, x: 0, eps: 999},
		{kind: 2, loss: .25, group: 1000, x: .5, eps: 249},
		{kind: 4, loss: 1, group: 1, x: 1e-310, eps: 38.8},
		{kind: 4, loss: 1, group: 1, x: 5e-324, eps: 38.9},
	} {
		if c.rate, c.times = 1, 1; c.check(t) < 2 {
			t.Errorf("%+v: not answered", c)
		}
	}
}
