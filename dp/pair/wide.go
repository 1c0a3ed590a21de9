package pair

import (
	"math"

	"coupling/lab/logspace"
)

// A wide is the number frac·2^exp: a float64 that neither underflows nor overflows. Its frac is 0 or of a size between
// 1/wideSpan and wideSpan.
type wide struct {
	frac float64
	exp  int
}

const wideSpan = 0x1p300

// wideOf returns x.
func wideOf(x float64) wide {
	frac, exp := math.Frexp(x)
	return wide{frac, exp}
}

// wideExp returns e^(x + rest) for a rest below the rounding of x. It is 0 below e^(−10^15).
func wideExp(x, rest float64) wide {
	const (
		ln2High = 0x1.62e42feep-1
		ln2Low  = 0x1.a39ef35793c76p-33
	)
	if x < -1e15 {
		return wide{}
	}
	n := math.Round(x / math.Ln2)
	r := math.FMA(-n, ln2Low, math.FMA(-n, ln2High, x)) + rest
	return wide{math.Exp(r), int(n)}
}

// float returns the nearest float64.
func (a wide) float() float64 { return math.Ldexp(a.frac, a.exp) }

// above returns a float64 that is not below a.
func (a wide) above() float64 {
	x := a.float()
	if x < 0x1p-1022 && wideOf(x).minus(a).frac < 0 {
		x = math.Nextafter(x, 1)
	}
	return x
}

// log returns log a, −Inf for 0.
func (a wide) log() float64 {
	if max(a.exp, -a.exp) < 700 {
		return logspace.Log(a.float())
	}
	return logspace.Log(a.frac) + float64(a.exp)*math.Ln2
}

func (a wide) times(b wide) wide { return wide{a.frac * b.frac, a.exp + b.exp}.normal() }

func (a wide) scaled(x float64) wide { return a.times(wideOf(x)) }

func (a wide) minus(b wide) wide { return a.plus(wide{-b.frac, b.exp}) }

func (a wide) plus(b wide) wide {
	if a.exp < b.exp {
		a, b = b, a
	}
	d := a.exp - b.exp
	switch {
	case b.frac == 0 || d > 1000 && a.frac != 0:
		return a
	case a.frac == 0:
		return b
	}
	a.frac += b.frac * math.Float64frombits(uint64(1023-d)<<52) // 2^−d
	return a.normal()
}

// over returns a/b as a float64, which may be 0 or infinite.
func (a wide) over(b wide) float64 { return math.Ldexp(a.frac/b.frac, a.exp-b.exp) }

// normal brings frac back to its range.
func (a wide) normal() wide {
	if size := math.Abs(a.frac); size > 1/wideSpan && size < wideSpan {
		return a
	}
	frac, exp := math.Frexp(a.frac)
	return wide{frac, a.exp + exp}
}
