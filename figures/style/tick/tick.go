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

// Log marks a logarithmic axis.
type Log struct {
	// N is about how many labels there should be; zero means 5. There are at most N+1.
	N int
}

var _ plot.Ticker = Log{}

// Ticks returns the marks within [lo, hi], which must be positive (otherwise there are none). Marks without a label
// are minor. Ranges below half a decade are marked as linear ones, ranges up to twelve decades at every digit, and
// longer ones at powers of ten.
func (l Log) Ticks(lo, hi float64) []plot.Tick {
	n := cmp.Or(l.N, 5)
	if !ordered(lo, hi) || lo <= 0 {
		return nil
	}
	decades := math.Log10(hi) - math.Log10(lo)
	if decades < 0.5 {
		return Linear{N: n}.Ticks(lo, hi)
	}
	const slack = 1e-9
	first, last := int(math.Ceil(math.Log10(lo)-slack)), int(math.Floor(math.Log10(hi)+slack))
	if decades <= 12 {
		for _, digits := range []string{"12345", "125", "13", "1"} {
			ticks, labels := withDigits(lo, hi, first-1, last, digits)
			if labels <= n+1 && labels >= 2 || first >= last && digits == "1" {
				return ticks
			}
		}
	}
	return powers(lo, hi, first, last, n)
}

// withDigits marks every digit of the decades from 10^first to 10^last and labels those whose digit is in digits.
func withDigits(lo, hi float64, first, last int, digits string) (ticks []plot.Tick, labels int) {
	const slack = 1e-9
	for e := first; e <= last; e++ {
		for d := 1; d <= 9; d++ {
			t := plot.Tick{Value: scaled(float64(d), e)}
			if t.Value < lo*(1-slack) || t.Value > hi*(1+slack) {
				continue
			}
			if strings.Contains(digits, strconv.Itoa(d)) {
				t.Label = logLabel(d, e, lo, hi)
				labels++
			}
			ticks = append(ticks, t)
		}
	}
	return ticks, labels
}

// logLabel writes d·10ᵉ, in full where the whole axis can be.
func logLabel(d, e int, lo, hi float64) string {
	if lo >= 0.9e-3 && hi <= 1.1e4 {
		return strconv.FormatFloat(scaled(float64(d), e), 'f', -1, 64)
	}
	return times(strconv.Itoa(d), e)
}

// powers labels every k-th power of ten, k as small as n labels allow, and marks powers between them.
func powers(lo, hi float64, first, last, n int) (ticks []plot.Tick) {
	stride, minor := 1, 1
	for _, k := range []int{1, 2, 3, 4, 5, 10, 20, 30, 40, 50, 100, 200, 500} {
		stride = k
		if multiples(first, last, k) <= n+1 {
			break
		}
	}
	for minor < stride && (stride%minor != 0 || multiples(first, last, minor) > 10*n) {
		minor++
	}
	for e := first; e <= last; e++ {
		switch {
		case e%stride == 0:
			ticks = append(ticks, plot.Tick{Value: scaled(1, e), Label: logLabel(1, e, lo, hi)})
		case e%minor == 0:
			ticks = append(ticks, plot.Tick{Value: scaled(1, e)})
		}
	}
	return ticks
}

// multiples counts the multiples of k in [first, last].
func multiples(first, last, k int) int {
	return int(math.Floor(float64(last)/float64(k))-math.Ceil(float64(first)/float64(k))) + 1
}

// LogScale is plot.LogScale without its panic: a value that is not positive has no place, NaN or −Inf.
type LogScale struct{}

var _ plot.Normalizer = LogScale{}

// Normalize returns the place of x between lo, 0, and hi, 1.
func (LogScale) Normalize(lo, hi, x float64) float64 {
	return (math.Log(x) - math.Log(lo)) / (math.Log(hi) - math.Log(lo))
}
