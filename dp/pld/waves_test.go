package pld

import (
	"fmt"
	"math"
	"math/cmplx"
	"slices"
	"testing"

	"coupling/dp/pair"
	"coupling/lab/must"

	"gonum.org/v1/gonum/floats"
)

// Few waves are enough for measures of one step, some with gaps, where masses are off by what is allowed for too.
func TestWaves(t *testing.T) {
	for _, c := range []struct {
		name        string
		noise       pair.Noise
		scale, rate float64
		inserted    int
		times       int
		eps         float64
	}{
		{"Laplace", pair.Laplace, 1, .01, 0, 1000, 1.2},
		{"Laplace, many", pair.Laplace, 2, .01, 1, 100_000, 3},
		{"Laplace, few", pair.Laplace, 1, .1, 0, 400, 6},
		{"Gauss", pair.Gaussian, 1, .01, 0, 2000, 1},
		{"small", pair.Laplace, 3, .001, 0, 2000, 0},
	} {
		p := must.Get(pair.Poisson(c.noise, c.scale, c.rate, c.inserted, 1-c.inserted))
		parts := must.Get(Accountant{}.parts([]pair.Step{{Pair: p, Times: c.times}}))
		unit := unitOf(parts)
		must.Do(parts[0].prepare(-30, unit))
		v := must.Get(refineTilt(t.Context(), parts, question{eps: c.eps, limit: math.NaN()}))
		s := must.Get(Accountant{}.evaluate(t.Context(), parts, v, unit, 800, 1<<16))
		d := density{lattice: s.high.lattice, s: v.s, first: s.high.first}
		for _, m := range []*measure{&parts[0].high, &parts[0].low} {
			k, _, _ := m.logMoment(v.s)
			for _, off := range []float64{0, 1e-7} {
				t.Run(fmt.Sprintf("%s, off by %v", c.name, off), func(t *testing.T) {
					right := m.tilted(v.s, k)
					wrong := right
					wrong.w, wrong.err = slices.Clone(right.w), right.err+off
					floats.Scale(1-off, wrong.w)
					checkFrequencies(t, right, wrong, float64(c.times), d.lattice)
					checkWaves(t, right, wrong, float64(c.times), d)
				})
			}
		}
	}
}

// A composition by few waves is that by all bins: both enclose δ at every ε, and differ by rounding alone.
func checkWaves(t *testing.T, right, m tilted, times float64, d density) {
	waves, bins := d, d
	bins.composeBins(t.Context(), []tilted{right}, []float64{times})
	if !waves.composeWaves([]tilted{m}, []float64{times}) {
		t.Fatal("no few waves suffice")
	}
	if len(waves.waves) > d.bins/20 {
		t.Errorf("%d waves of %d bins", len(waves.waves), d.bins)
	}
	for part := -.1; part < .9; part += .013 {
		eps := d.first + part*float64(d.bins)*d.width
		lo, hi := waves.log(eps)
		low, high := bins.log(eps)
		if !(lo <= high && low <= hi) || m.err == right.err && high-low < 1e-8 && !(hi-lo < 1e-7) {
			t.Errorf("at ε = %v: log δ in [%v, %v] by waves, [%v, %v] by bins", eps, lo, hi, low, high)
		}
	}
}

// The bounds of a frequency's size hold at each between the two they are for, and the frequencies left out sum to less
// than their bound.
func checkFrequencies(t *testing.T, right, m tilted, times float64, l lattice) {
	size := func(k int) float64 {
		z := complex(0, 0)
		for j, w := range right.w {
			z += cmplx.Rect(w, l.frequency(k)*m.loss[j])
		}
		return math.Log(cmplx.Abs(z))
	}
	for k := 1; k < l.bins/2; k = k*9/8 + 1 {
		last := min(l.bins/2, k*9/8)
		a, b := l.frequency(k), l.frequency(last)
		spread, cancelled := m.spread(a, b), m.cancelled(a, b)
		for _, at := range []int{k, k + k/16, last} {
			if got := size(at) - 1e-12; got > spread || got > cancelled {
				t.Errorf("frequency %d of size e^%v, bounds %v and %v", at, got, spread, cancelled)
			}
		}
	}
	n, rest := l.fewest([]tilted{m}, []float64{times})
	sum := 0.0
	for k := n; k < min(l.bins/2, n+2000); k++ {
		sum += 2 * math.Exp(times*size(k))
	}
	if n == 0 || sum > rest {
		t.Errorf("beyond %d waves a sum of %v, bound %v", n, sum, rest)
	}
}

// Far from 0, where a phase is large, its rounding is within the bounds.
func TestFarWaves(t *testing.T) {
	const far, n, times = 1 << 30, 12, 100
	l := lattice{width: 0x1p-10, bins: 1 << 10}
	turn := func(k, j int) complex128 {
		return cmplx.Rect(1, 2*math.Pi*float64(k*j%l.bins)/float64(l.bins))
	}
	m := tilted{measure: &measure{}, w: []float64{.1, .2, .3, .2, .1, .1}}
	for j := range m.w {
		m.loss = append(m.loss, float64(far+j)*l.width)
	}
	z, err := m.waves(l, n)
	for k := range n {
		want := complex(0, 0)
		for j, w := range m.w {
			want += complex(w, 0) * turn(k, -far-j)
		}
		if got := cmplx.Abs(z[k] - want); !(got <= err) {
			t.Errorf("frequency %d is off by %v, bound %v", k, got, err)
		}
	}
	d := &density{lattice: l, s: 2, first: times * far * l.width}
	if !d.composeWaves([]tilted{m}, []float64{times}) {
		t.Fatal("no few waves suffice")
	}
	if most, _ := l.fewest([]tilted{m}, []float64{times}); len(d.waves) != most {
		t.Errorf("%d waves, want %d", len(d.waves), most)
	}
	d.wrong, d.waves = 0, d.waves[:3] // no mass is negligible
	for _, r := range []int{-5, 0, 1, 300, 900} {
		eps, want := d.first+float64(r)*l.width, 0.
		for at := max(0, r); at < l.bins; at++ {
			mass := 0.
			for k, v := range d.waves {
				mass += real(v.c * turn(k, times*far+at))
			}
			want += mass * math.Exp(-d.s*float64(at-max(0, r))*l.width) * -math.Expm1(float64(r-at)*l.width)
		}
		got, wrong, _, _ := d.finite(eps)
		if !(math.Abs(got-want) <= wrong) {
			t.Errorf("from bin %d the sum is %v, not %v: bound %v", r, got, want, wrong)
		}
	}
}

// Where each frequency is as large as its bound, all that are left out are counted, in each mass too.
func TestRest(t *testing.T) {
	d := &density{lattice: lattice{width: 1, bins: 1 << 10}, s: 1}
	m := []tilted{{measure: &measure{loss: []float64{0}}, w: []float64{.5}}}
	const sum = 1023 * 0x1p-60
	n, rest := d.fewest(m, []float64{60})
	if n != 1 || rest < sum || rest > 1.1*sum || !d.composeWaves(m, []float64{60}) || d.wrong < sum/1024 {
		t.Errorf("%d waves; the others sum to %v, bound %v; in each mass %v", n, sum, rest, d.wrong)
	}
}
