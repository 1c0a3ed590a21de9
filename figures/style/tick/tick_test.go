package tick_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/plot"
	"pgregory.net/rapid"

	"coupling/figures/style/tick"
	_ "coupling/lab/draws"
)

func labels(ticks []plot.Tick) (out []string) {
	for _, t := range ticks {
		if !t.IsMinor() {
			out = append(out, t.Label)
		}
	}
	return out
}

func TestLinear(t *testing.T) {
	for _, c := range []struct {
		lo, hi float64
		n      int
		want   string
	}{
		{0, 1, 5, "0.0 0.2 0.4 0.6 0.8 1.0"},
		{0, 100, 4, "0 50 100"},
		{-1.3, 1.3, 5, "−1.0 −0.5 0.0 0.5 1.0"},
		{0.95, 1.05, 4, "0.96 0.98 1.00 1.02 1.04"},
		{0, 3e6, 3, "0 10^{6} 2×10^{6} 3×10^{6}"},
		{0, 2.4e-5, 5, "0 0.5×10^{−5} 1.0×10^{−5} 1.5×10^{−5} 2.0×10^{−5}"},
		{99990, 100010, 4, "99990 99995 100000 100005 100010"},
	} {
		got := strings.Join(labels(tick.Linear{N: c.n}.Ticks(c.lo, c.hi)), " ")
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("Linear{%d} over [%g, %g] (−want +got):\n%s", c.n, c.lo, c.hi, diff)
		}
	}
}

func TestLog(t *testing.T) {
	for _, c := range []struct {
		lo, hi float64
		n      int
		want   string
	}{
		{1, 1.4, 5, "1.0 1.1 1.2 1.3 1.4"},                                                    // a fraction of a decade
		{0.9, 1.1, 3, "0.9 1.0 1.1"},                                                          // around a power of ten
		{1, 10, 3, "1 2 5 10"},                                                                // one decade
		{0.02, 5, 5, "0.03 0.1 0.3 1 3"},                                                      // two
		{0.01, 100, 6, "0.01 0.1 1 10 100"},                                                   // four
		{1e-9, 1, 4, "10^{−8} 10^{−6} 10^{−4} 10^{−2} 10^{0}"},                                // every second
		{1e-12, 1e12, 5, "10^{−10} 10^{−5} 10^{0} 10^{5} 10^{10}"},                            // every fifth
		{1e-300, 1, 5, "10^{−300} 10^{−200} 10^{−100} 10^{0}"},                                // 300 decades
		{1e-300, 1e300, 6, "10^{−300} 10^{−200} 10^{−100} 10^{0} 10^{100} 10^{200} 10^{300}"}, // 600 decades
		{3e-6, 2e-4, 3, "3×10^{−6} 10^{−5} 3×10^{−5} 10^{−4}"},
	} {
		got := strings.Join(labels(tick.Log{N: c.n}.Ticks(c.lo, c.hi)), " ")
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("Log{%d} over [%g, %g] (−want +got):\n%s", c.n, c.lo, c.hi, diff)
		}
	}
}

// TestLogMinor: between labelled powers of ten stand the digits 2 to 9, or the powers left out.
func TestLogMinor(t *testing.T) {
	var minors []float64
	for _, m := range (tick.Log{N: 4}).Ticks(1, 1000) {
		if m.IsMinor() {
			minors = append(minors, m.Value)
		}
	}
	want := []float64{2, 3, 4, 5, 6, 7, 8, 9, 20, 30, 40, 50, 60, 70, 80, 90, 200, 300, 400, 500, 600, 700, 800, 900}
	if diff := cmp.Diff(want, minors); diff != "" {
		t.Errorf("minor marks of [1, 1000] (−want +got):\n%s", diff)
	}
	all := tick.Log{N: 5}.Ticks(1e-12, 1e12)
	if len(all) != 25 {
		t.Errorf("[1e−12, 1e12] has %d marks, want one for each of 25 powers", len(all))
	}
}

func TestNoRange(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, r := range [][2]float64{{1, 1}, {2, 1}, {nan, 1}, {1, nan}, {-inf, 1}, {1, inf}} {
		if got := (tick.Linear{}).Ticks(r[0], r[1]); got != nil {
			t.Errorf("Linear over [%g, %g] = %v, want none", r[0], r[1], got)
		}
		if got := (tick.Log{}).Ticks(r[0], r[1]); got != nil {
			t.Errorf("Log over [%g, %g] = %v, want none", r[0], r[1], got)
		}
	}
	for _, lo := range []float64{0, -1} {
		if got := (tick.Log{}).Ticks(lo, 1); got != nil {
			t.Errorf("Log from %g = %v, want none", lo, got)
		}
	}
}

// TestLaws: marks lie within the range, increase, are no more than promised, and their labels differ.
func TestLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 9).Draw(t, "n")
		lo := math.Exp(rapid.Float64Range(-600, 600).Draw(t, "log lo"))
		hi := lo * math.Exp(rapid.Float64Range(1e-6, 600).Draw(t, "log ratio"))
		if math.IsInf(hi, 0) {
			t.Skip("beyond the largest number")
		}
		for _, c := range []struct {
			name  string
			ticks []plot.Tick
			least int
		}{
			{"linear", tick.Linear{N: n}.Ticks(lo, hi), (n + 1) * 2 / 5},
			{"log", tick.Log{N: n}.Ticks(lo, hi), 0},
		} {
			const slack = 1e-8
			last, seen := math.Inf(-1), map[string]bool{}
			for _, m := range c.ticks {
				if m.Value < lo-slack*hi || m.Value > hi*(1+slack) || m.Value <= last {
					t.Fatalf("%s: mark %g after %g in [%g, %g]", c.name, m.Value, last, lo, hi)
				}
				last = m.Value
				if !m.IsMinor() && seen[m.Label] {
					t.Fatalf("%s: label %q twice in [%g, %g]", c.name, m.Label, lo, hi)
				}
				seen[m.Label] = true
			}
			if k := len(labels(c.ticks)); k > n+1 || k < c.least {
				t.Fatalf("%s: %d labels for N = %d in [%g, %g]", c.name, k, n, lo, hi)
			}
		}
	})
}

func TestScales(t *testing.T) {
	if got := (tick.LogScale{}).Normalize(1e-300, 1e300, 1); math.Abs(got-0.5) > 1e-15 {
		t.Errorf("1 is at %g of [1e−300, 1e300], want 0.5", got)
	}
	for _, v := range []float64{0, -1} {
		if got := (tick.LogScale{}).Normalize(1, 10, v); !math.IsNaN(got) && !math.IsInf(got, -1) {
			t.Errorf("%g has the place %g on a log scale, want none", v, got)
		}
	}
}

func ExampleLog() {
	for _, t := range (tick.Log{N: 4}).Ticks(0.02, 3) {
		if !t.IsMinor() {
			fmt.Println(t.Label)
		}
	}
	// Output:
	// 0.03
	// 0.1
	// 0.3
	// 1
	// 3
}
