package tick

import (
	"cmp"
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
)

// Linear marks multiples of 1, 2 or 5 times a power of ten. All its labels have the same number of decimals, and
// where the values are at least 10⁵ or below 10⁻³ in absolute value all have the same power of ten, unless up to seven
// digits in full are shorter.
type Linear struct {
	// N is about how many marks there should be: at most N+1, and at least (N+1)/2.5 rounded down. Zero means 5.
	N int
}

var _ plot.Ticker = Linear{}

// Ticks returns the marks within [lo, hi], all of them labelled; none where float64 cannot tell them apart.
func (l Linear) Ticks(lo, hi float64) (ticks []plot.Tick) {
	if !ordered(lo, hi) || hi-lo < 1e-12*max(math.Abs(lo), math.Abs(hi)) {
		return nil
	}
	m, e := step(lo, hi, cmp.Or(l.N, 5))
	s := scaled(m, e)
	for i := math.Ceil(lo/s - 1e-9); i <= math.Floor(hi/s+1e-9); i++ {
		ticks = append(ticks, plot.Tick{Value: scaled(i*m, e) + 0}) // −0 is written as 0
	}
	label(ticks, e)
	return ticks
}

func ordered(lo, hi float64) bool { return lo < hi && !math.IsInf(hi-lo, 0) }

// step chooses m·10ᵉ with m of 1, 2, 5 as the smallest step of which at most n+1 multiples lie in [lo, hi].
func step(lo, hi float64, n int) (m float64, e int) {
	raw := (hi - lo) / float64(n+2)
	for e = int(math.Floor(math.Log10(raw))); ; e++ {
		for _, m := range []float64{1, 2, 5} {
			s := scaled(m, e)
			if s >= raw*(1-1e-9) && math.Floor(hi/s+1e-9)-math.Ceil(lo/s-1e-9) <= float64(n) {
				return m, e
			}
		}
	}
}

// scaled is m·10ᵉ, rounded once where e is negative so that 3·10⁻¹ is 0.3.
func scaled(m float64, e int) float64 {
	if e < 0 {
		return m / math.Pow10(-e)
	}
	return m * math.Pow10(e)
}

// label writes the labels of marks that are multiples of 10ᵉ.
func label(ticks []plot.Tick, e int) {
	var top float64
	for _, t := range ticks {
		top = max(top, math.Abs(t.Value))
	}
	power := int(math.Floor(math.Log10(top) + 1e-12))
	// Seven digits in full read better than a mantissa of more than four.
	full := top == 0 || (top < 1e5 && top >= 1e-3) || (top >= 1e5 && top < 1e7 && power-e > 3)
	for i, t := range ticks {
		switch {
		case full:
			ticks[i].Label = minus(strconv.FormatFloat(t.Value, 'f', max(0, -e), 64))
		case t.Value == 0:
			ticks[i].Label = "0"
		default:
			ticks[i].Label = times(strconv.FormatFloat(t.Value/math.Pow10(power), 'f', max(0, power-e), 64), power)
		}
	}
}

// times writes mantissa × 10^power, leaving out a mantissa of one.
func times(mantissa string, power int) string {
	ten := "10^{" + minus(strconv.Itoa(power)) + "}"
	switch mantissa {
	case "1":
		return ten
	case "-1":
		return "−" + ten
	}
	return minus(mantissa) + "×" + ten
}

// minus replaces hyphens by minus signs.
func minus(s string) string { return strings.ReplaceAll(s, "-", "−") }
