package pld

import (
	"math"
	"math/cmplx"
	"slices"
	"testing"

	"coupling/dp/pair"

	"gonum.org/v1/gonum/floats"
)

// waveCases are measures of one step, some with gaps, with the lattice and the window of their composition.
func waveCases(t *testing.T,
	check func(name string, ms []tilted, times []float64, s float64, l lattice, first float64)) {
	for _, c := range []struct {
		name  string
		pair  func() (pair.Pair, error)
		times float64
		eps   float64
	}{
		{"Laplace", func() (pair.Pair, error) { return pair.Poisson(pair.Laplace, 1, .01, 0, 1) }, 1000, 1.2},
		{"Laplace, many", func() (pair.Pair, error) { return pair.Poisson(pair.Laplace, 2, .01, 1, 0) }, 100_000, 3},
		{"Laplace, few", func() (pair.Pair, error) { return pair.Poisson(pair.Laplace, 1, .1, 0, 1) }, 400, 6},
		{"Gauss", func() (pair.Pair, error) { return pair.Poisson(pair.Gaussian, 1, .01, 0, 1) }, 2000, 1},
		{"small", func() (pair.Pair, error) { return pair.Poisson(pair.Laplace, 3, .001, 0, 1) }, 2000, 0},
	} {
		p, err := c.pair()
		if err != nil {
			t.Fatal(err)
		}
		steps := []pair.Step{{Pair: p, Times: int(c.times)}}
		parts, err := Accountant{}.parts(steps)
		if err != nil {
			t.Fatal(err)
		}
		q := question{eps: c.eps, limit: math.NaN()}
		unit := unitOf(parts)
		if err := parts[0].prepare(-30, unit); err != nil {
			t.Fatal(err)
		}
		v, err := refineTilt(t.Context(), parts, q)
		if err != nil {
			t.Fatal(err)
		}
		s, err := Accountant{}.evaluate(t.Context(), parts, v, unit, 800, 1<<16)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range []*measure{&parts[0].high, &parts[0].low} {
			k, _, _ := m.logMoment(v.s)
			check(c.name, []tilted{m.tilted(v.s, k)}, []float64{c.times}, v.s, s.high.lattice, s.high.first)
		}
	}
}

// A composition by few waves is that by all bins: both enclose δ at every ε, and differ by rounding alone.
func TestWavesAreBins(t *testing.T) {
	waveCases(t, func(name string, ms []tilted, times []float64, s float64, l lattice, first float64) {
		waves, bins := &density{lattice: l, s: s, first: first}, &density{lattice: l, s: s, first: first}
		bins.composeBins(t.Context(), ms, times)
		if !waves.composeWaves(ms, times) {
			t.Errorf("%s: no few waves suffice", name)
			return
		}
		if len(waves.waves) > l.bins/20 {
			t.Errorf("%s: %d waves of %d bins", name, len(waves.waves), l.bins)
		}
		end := first + float64(l.bins)*l.width
		for part := -.1; part < .9; part += .013 {
			eps := first + part*(end-first)
			lo, hi := waves.log(eps)
			low, high := bins.log(eps)
			if !(lo <= high && low <= hi) || high-low < 1e-8 && !(hi-lo < 1e-7) {
				t.Errorf("%s at ε = %v: log δ in [%v, %v] by waves, [%v, %v] by bins", name, eps, lo, hi, low, high)
			}
		}
	})
}

// The bounds of a frequency's size hold at each between the two they are for, and the frequencies left out sum to less
// than their bound.
func TestFrequenciesLeftOut(t *testing.T) {
	waveCases(t, func(name string, ms []tilted, times []float64, _ float64, l lattice, _ float64) {
		m := ms[0]
		size := func(k int) float64 {
			z := complex(0, 0)
			for j, w := range m.w {
				z += cmplx.Rect(w, l.frequency(k)*m.loss[j])
			}
			return math.Log(cmplx.Abs(z))
		}
		worst := math.Inf(-1)
		for k := 1; k < l.bins/2; k = k*9/8 + 1 {
			a, b := l.frequency(k), l.frequency(min(l.bins/2, k*9/8))
			spread, cancelled := m.spread(a, b), m.cancelled(a, b)
			for _, at := range []int{k, k + k/16, min(l.bins/2, k*9/8)} {
				if got := size(at); got > spread+1e-12 || got > cancelled+1e-12 {
					t.Errorf("%s: frequency %d of size e^%v, bounds %v and %v", name, at, got, spread, cancelled)
				}
			}
			worst = max(worst, times[0]*size(k))
		}
		n, rest := l.fewest(ms, times)
		sum := 0.0
		for k := n; k < min(l.bins/2, n+2000); k++ {
			sum += 2 * math.Exp(times[0]*size(k))
		}
		if n == 0 || sum > rest {
			t.Errorf("%s: beyond %d waves a sum of %v, bound %v", name, n, sum, rest)
		}
	})
}

// Bounds of masses that are off by what is allowed for hold for the right ones.
func TestWrongMasses(t *testing.T) {
	const off = 1e-7
	waveCases(t, func(name string, ms []tilted, times []float64, s float64, l lattice, first float64) {
		waves, bins := &density{lattice: l, s: s, first: first}, &density{lattice: l, s: s, first: first}
		bins.composeBins(t.Context(), ms, times)
		m := ms[0]
		m.w, m.err = slices.Clone(m.w), m.err+off
		floats.Scale(1-off, m.w)
		for k := 1; k < 100; k *= 3 {
			y := l.frequency(k)
			z := complex(0, 0)
			for j, w := range ms[0].w {
				z += cmplx.Rect(w, y*m.loss[j])
			}
			size, a, b := math.Log(cmplx.Abs(z))-1e-12, m.spread(y, y), m.cancelled(y, y)
			if size > a || size > b {
				t.Errorf("%s: frequency %d of size e^%v, bounds %v and %v", name, k, size, a, b)
			}
		}
		if !waves.composeWaves([]tilted{m}, times) {
			t.Fatalf("%s: no few waves suffice", name)
		}
		for part := 0.; part < .9; part += .1 {
			eps := first + part*float64(l.bins)*l.width
			lo, hi := waves.log(eps)
			low, high := bins.log(eps)
			if !(lo <= high && low <= hi) {
				t.Errorf("%s at ε = %v: log δ in [%v, %v] by waves, [%v, %v] by bins", name, eps, lo, hi, low, high)
			}
		}
	})
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
