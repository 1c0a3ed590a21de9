package tick

import (
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

// Ticks returns the marks within [lo, hi], all of them labelled.
func (l Linear) Ticks(lo, hi float64) []plot.Tick {
	if !ordered(lo, hi) {
		return nil
	}
	n := orDefault(l.N)
	if hi/float64(n+2)-lo/float64(n+2) < 1e-320 { // no room between the smallest numbers
		return []plot.Tick{{Value: lo, Label: Number(lo)}}
	}
	m, e := step(lo, hi, n)
	first, last := math.Ceil(lo/scaled(m, e)-1e-9), math.Floor(hi/scaled(m, e)+1e-9)
	if math.Abs(first)+math.Abs(last) > 1<<52 { // the range is finer than its numbers are
		return []plot.Tick{{Value: lo, Label: Number(lo)}}
	}
	var ticks []plot.Tick
	for i := first; i <= last; i++ {
		v := scaled(i*m, e)
		if i == 0 {
			v = 0
		}
		ticks = append(ticks, plot.Tick{Value: v})
	}
	label(ticks, e)
	return ticks
}

func ordered(lo, hi float64) bool {
	return lo < hi && !math.IsInf(lo, 0) && !math.IsInf(hi, 0)
}

func orDefault(n int) int {
	if n <= 0 {
		return 5
	}
	return n
}

// step chooses m·10ᵉ with m of 1, 2, 5 as the smallest step of which at most n+1 multiples lie in [lo, hi].
func step(lo, hi float64, n int) (m float64, e int) {
	raw := hi/float64(n+2) - lo/float64(n+2) // hi − lo may overflow
	e = int(math.Floor(log10(raw)))
	for {
		for _, m := range []float64{1, 2, 5} {
			s := scaled(m, e)
			if s >= raw*(1-1e-9) && math.Floor(hi/s+1e-9)-math.Ceil(lo/s-1e-9) <= float64(n) {
				return m, e
			}
		}
		e++
	}
}

// scaled is m·10ᵉ, rounded once where e is negative so that 3·10⁻¹ is 0.3.
func scaled(m float64, e int) float64 {
	switch {
	case e < -300:
		return m * 1e-300 / math.Pow10(-e-300)
	case e < 0:
		return m / math.Pow10(-e)
	default:
		return m * math.Pow10(e)
	}
}

// label writes the labels of marks that are multiples of 10ᵉ.
func label(ticks []plot.Tick, e int) {
	var top float64
	for _, t := range ticks {
		top = max(top, math.Abs(t.Value))
	}
	power := int(math.Floor(log10(top) + 1e-12))
	// Seven digits in full read better than a mantissa of more than four.
	if top == 0 || (top < 1e5 && top >= 1e-3) || (top >= 1e5 && top < 1e7 && power-e > 3) {
		for i, t := range ticks {
			ticks[i].Label = minus(strconv.FormatFloat(t.Value, 'f', max(0, -e), 64))
		}
		return
	}
	for i, t := range ticks {
		if t.Value == 0 {
			ticks[i].Label = "0"
			continue
		}
		mantissa := t.Value / math.Pow10(power)
		if power < -300 {
			mantissa = t.Value * 1e300 / math.Pow10(power+300)
		}
		ticks[i].Label = times(strconv.FormatFloat(mantissa, 'f', max(0, power-e), 64), power)
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

// Number writes one number for people: at most four significant digits, a power of ten where it is very large or
// very small.
func Number(v float64) string {
	a := math.Abs(v)
	switch {
	case math.IsNaN(v):
		return "NaN"
	case math.IsInf(v, 1):
		return "∞"
	case math.IsInf(v, -1):
		return "−∞"
	case v == 0 || (a >= 1e-3 && a < 1e5):
		return minus(strconv.FormatFloat(rounded(v), 'f', -1, 64))
	}
	mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(v, 'e', 3, 64), "e")
	power, err := strconv.Atoi(exponent)
	if err != nil { // FormatFloat writes a valid exponent
		panic(err)
	}
	return times(strings.TrimSuffix(strings.TrimRight(mantissa, "0"), "."), power)
}

// rounded keeps four significant digits, or all the digits before the point.
func rounded(v float64) float64 {
	if math.Abs(v) >= 1000 {
		return math.Round(v)
	}
	r, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 4, 64), 64)
	if err != nil { // FormatFloat writes a valid number
		panic(err)
	}
	return r
}
