package style

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"

	"coupling/figures/style/paper"
	"coupling/figures/style/tick"
)

// Axis describes one axis of a [Plot]. The zero value is linear, over the range of the data.
type Axis struct {
	// Label names the quantity, Unit is added to it in parentheses.
	Label, Unit string
	// Log makes the axis logarithmic. Data that is not positive is then left out.
	Log bool
	// Min and Max bound the axis. Where they are equal both come from the data; where one is NaN or
	// infinite that one does.
	Min, Max float64
	// Include is a list of values that the range must contain, such as 0.
	Include []float64
	// Names stand at 0, 1, 2, … instead of numbers.
	Names []string
	// Ticks places the marks; nil chooses them by the length of the axis.
	Ticks plot.Ticker
	// Invert makes the axis run leftward or downward.
	Invert bool
	// Bare leaves out marks and their labels.
	Bare bool

	inner    bool // between panels that share the axis: marks without labels
	unmarked bool // labels without marks
	cells    bool // of a matrix: numbers are whole

	remark string // below the label: what is not drawn
}

func (a Axis) title() string {
	text := a.Label
	if a.Unit != "" {
		text = strings.TrimSpace(text + " (" + a.Unit + ")")
	}
	return strings.TrimSpace(text + "\n" + a.remark)
}

// extent is a range of data, with flags for ends that get no white space beyond them.
type extent struct {
	lo, hi float64
	sticky []float64
	beyond int // finite values that float64 cannot place on the axis
	other  int // further values that cannot be drawn
}

// remark says what cannot be drawn, where nobody would guess it: values near the limits of float64,
// or all.
func (e extent) remark() string {
	switch {
	case e.beyond == 1:
		return "1 value beyond 10^{±150} is not drawn"
	case e.beyond > 1:
		return fmt.Sprintf("%d values beyond 10^{±150} are not drawn", e.beyond)
	case e.other > 0 && e.lo > e.hi:
		return fmt.Sprintf("none of %d values can be drawn", e.other)
	}
	return ""
}

// bounds is the range of the axis for data over e: wider than the data by a little, except at
// sticky ends.
func (a Axis) bounds(e extent) (lo, hi float64) {
	lo, hi = e.lo, e.hi
	for _, v := range a.Include {
		if a.drawable(v) {
			lo, hi = min(lo, v), max(hi, v)
		}
	}
	if n := len(a.Names); n > 0 {
		lo, hi = min(lo, -0.5), max(hi, float64(n)-0.5)
		e.sticky = append(e.sticky, -0.5, float64(n)-0.5)
	}
	lo, hi = a.nonempty(lo, hi)
	wideLo, wideHi := a.widened(lo, hi)
	for _, s := range e.sticky {
		if s == lo {
			wideLo = lo
		}
		if s == hi {
			wideHi = hi
		}
	}
	if a.Min != a.Max {
		if a.drawable(a.Min) {
			wideLo = a.Min
		}
		if a.drawable(a.Max) {
			wideHi = a.Max
		}
	}
	if wideLo > wideHi {
		wideLo, wideHi = wideHi, wideLo
	}
	return wideLo, wideHi
}

// limit is the size from which on, and 1/limit that down to which on a log axis, values have no
// place: products of two must not overflow.
const limit = 1e150

// drawable reports whether a value has a place on the axis; values near the limits of float64 have
// none.
func (a Axis) drawable(v float64) bool { return math.Abs(v) < limit && (v > 1/limit || !a.Log) }

// nonempty replaces an empty range by [0, 1] (a decade on a log axis), and a single value by a
// range around it.
func (a Axis) nonempty(lo, hi float64) (float64, float64) {
	switch {
	case hi-lo > 1e-9*max(math.Abs(lo), math.Abs(hi)):
		return lo, hi
	case lo > hi && a.Log:
		return 1, 10
	case lo > hi:
		return 0, 1
	case a.Log:
		return lo / 3, hi * 3
	case lo == 0:
		return -1, 1
	}
	d := math.Abs(lo) / 2
	return lo - d, hi + d
}

// widened adds white space of 4 % at both ends.
func (a Axis) widened(lo, hi float64) (float64, float64) {
	const space = 0.04
	if a.Log {
		f := math.Pow(hi/lo, space)
		return lo / f, hi * f
	}
	d := space * (hi - lo)
	return lo - d, hi + d
}

// scale is the axis's map to [0, 1].
func (a Axis) scale() plot.Normalizer {
	var n plot.Normalizer = plot.LinearScale{}
	if a.Log {
		n = tick.LogScale{}
	}
	if a.Invert {
		n = plot.InvertedScale{Normalizer: n}
	}
	return n
}

// ticker chooses the marks of an axis from lo to hi with room for n labels.
func (a Axis) ticker(n int) plot.Ticker {
	switch {
	case a.Bare:
		return plot.ConstantTicks(nil)
	case a.Ticks != nil:
		return a.Ticks
	case len(a.Names) > 0:
		ticks := make([]plot.Tick, len(a.Names))
		for i, name := range a.Names {
			ticks[i] = plot.Tick{Value: float64(i), Label: name}
		}
		return plot.ConstantTicks(ticks)
	case a.Log:
		return tick.Log{N: n}
	}
	if a.cells {
		return plot.TickerFunc(func(lo, hi float64) []plot.Tick {
			return slices.DeleteFunc(tick.Linear{N: n}.Ticks(lo, hi),
				func(t plot.Tick) bool { return t.Value != math.Trunc(t.Value) })
		})
	}
	return tick.Linear{N: n}
}

// fitting is the ticker with as many labels as stand side by side without crowding along a length;
// across tells that labels lie along the axis (the horizontal one), where their widths count.
func (a Axis) fitting(lo, hi float64, length vg.Length, across bool) plot.Ticker {
	if a.inner {
		a.inner = false
		return blank{a.fitting(lo, hi, length, across)}
	}
	if !across {
		return a.ticker(min(max(int(length/(2.6*tickSize)), 1), 7))
	}
	for n := min(max(int(length/(3.5*tickSize)), 2), 8); n > 1; n-- {
		t := a.ticker(n)
		if a.fits(t, lo, hi, length) {
			return t
		}
	}
	return a.ticker(1)
}

func (a Axis) fits(t plot.Ticker, lo, hi float64, length vg.Length) bool {
	const gap = 5
	free, s := vg.Length(math.Inf(-1)), a
	s.Invert = false
	for _, m := range t.Ticks(lo, hi) {
		if m.IsMinor() {
			continue
		}
		at := vg.Length(s.scale().Normalize(lo, hi, m.Value)) * length
		half := paper.Width(m.Label, sans(tickSize)) / 2
		if at-half < free {
			return false
		}
		free = at + half + gap
	}
	return true
}

// blank keeps the marks of a ticker and blanks their labels; with no label at all they would count
// as minor.
type blank struct{ plot.Ticker }

func (b blank) Ticks(lo, hi float64) []plot.Tick {
	ticks := b.Ticker.Ticks(lo, hi)
	for i, t := range ticks {
		if !t.IsMinor() {
			ticks[i].Label = " "
		}
	}
	return ticks
}
