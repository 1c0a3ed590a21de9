package tick

import (
	"math"
	"strconv"

	"gonum.org/v1/plot"
)

// Log marks a logarithmic axis.
type Log struct {
	// N is about how many labels there should be; zero means 5. There are at most N+1.
	N int
}

var _ plot.Ticker = Log{}

// Ticks returns the marks within [lo, hi], which must be positive (otherwise there are none). Marks without a label
// are minor.
func (l Log) Ticks(lo, hi float64) []plot.Tick {
	n := orDefault(l.N)
	if !ordered(lo, hi) || lo <= 0 {
		return nil
	}
	decades := log10(hi) - log10(lo)
	if decades < 0.5 {
		return Linear{N: n}.Ticks(lo, hi)
	}
	for _, digits := range []string{"12345", "125", "13", "1"} {
		ticks := withDigits(lo, hi, digits, decades)
		if k := labelled(ticks); k >= 2 && k <= n+1 {
			return ticks
		}
		if decades > 12 {
			break
		}
	}
	if first, last := exponents(lo, hi); first >= last { // too short for the labels that fit
		return withDigits(lo, hi, "1", decades)
	}
	return powers(lo, hi, n)
}

// exponents are those of the first and last power of ten within [lo, hi].
func exponents(lo, hi float64) (first, last int) {
	const slack = 1e-9
	return int(math.Ceil(log10(lo) - slack)), int(math.Floor(log10(hi) + slack))
}

// withDigits marks every digit of every decade and labels those whose digit is in digits.
func withDigits(lo, hi float64, digits string, decades float64) (ticks []plot.Tick) {
	if decades > 12 {
		return nil
	}
	const slack = 1e-9
	plain := lo >= 0.9e-3 && hi <= 1.1e4
	for e := int(math.Floor(log10(lo))); e <= int(math.Ceil(log10(hi))); e++ {
		for d := 1; d <= 9; d++ {
			v := scaled(float64(d), e)
			if v < lo*(1-slack) || v > hi*(1+slack) {
				continue
			}
			t := plot.Tick{Value: v}
			for _, q := range digits {
				if int(q-'0') == d {
					t.Label = logLabel(d, e, plain)
				}
			}
			ticks = append(ticks, t)
		}
	}
	return ticks
}

func logLabel(d, e int, plain bool) string {
	if plain {
		return strconv.FormatFloat(scaled(float64(d), e), 'f', -1, 64)
	}
	return times(strconv.Itoa(d), e)
}

func labelled(ticks []plot.Tick) (n int) {
	for _, t := range ticks {
		if !t.IsMinor() {
			n++
		}
	}
	return n
}

// powers labels every k-th power of ten, k as small as n labels allow, and marks powers between them.
func powers(lo, hi float64, n int) (ticks []plot.Tick) {
	first, last := exponents(lo, hi)
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
	plain := lo >= 0.9e-3 && hi <= 1.1e4
	for e := first; e <= last; e++ {
		switch {
		case e%stride == 0:
			ticks = append(ticks, plot.Tick{Value: scaled(1, e), Label: logLabel(1, e, plain)})
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
