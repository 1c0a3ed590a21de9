package semidual

import (
	"math"
	"math/rand/v2"
	"testing"

	"coupling/data"
	"coupling/lab/device"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// adversary makes images: random, black, white, equal to an atom, far out of the range, not numbers.
func adversary(rng *rand.Rand, kind, d int, atom []float64) []float32 {
	row := make([]float32, d)
	for j := range row {
		switch kind {
		case 0:
			row[j] = rng.Float32()
		case 1:
		case 2:
			row[j] = 1
		case 3:
			row[j] = float32(atom[j])
		case 4:
			row[j] = float32(rng.NormFloat64() * 1e30)
		case 5:
			row[j] = float32(math.NaN())
		case 6:
			row[j] = float32(rng.IntN(2))
		}
	}
	return row
}

const kinds = 7

// trainerOf is a trainer of public atoms on a data set.
func trainerOf(t testing.TB, dev *device.Device, c Config, images *data.Images, x []*mat.Dense, v [][]float64) *trainer {
	t.Helper()
	c, err := c.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	_, ch, h, w := images.Shape()
	b := &Basis{C: ch, H: h, W: w, Size: c.Basis}
	tr := &trainer{Config: c, rec: newRecords(images, len(x), b), dev: dev, basis: b, x: x, v: v, count: make([]float64, len(x)), keep: b.lowest(c.Local)}
	tr.table = tr.rec.table(dev)
	return tr
}

// spreadAnswer is the exact value of a release of covariances.
func (t *trainer) spreadAnswer(tb testing.TB) []float64 {
	var out []float64
	for l := range t.x {
		v, err := t.rec.scatter(t.dev, t.table[l], l, nil, newCloud(t.x[l], t.v[l], t.Reg), t.keep, t.LocalClip)
		if err != nil {
			tb.Fatal(err)
		}
		out = append(out, v...)
	}
	floats.Scale(1/t.LocalClip, out)
	return out
}

// Inserting one record, image and label, moves what is released by at most the claimed 1; the bound is reached; and the
// rest of the sum does not move in a single bit.
func TestSensitivity(t *testing.T) {
	dev, err := device.CPU{}.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = dev.Close() }()
	rng := rand.New(rand.NewPCG(1, 2))
	const classes, h, w = 3, 7, 6
	largest, largestSpread := 0., 0.
	for trial := range 300 {
		scope := dev.Scope()
		c := Config{Clip: math.Exp(2*rng.NormFloat64() - 1), Reg: math.Exp(2 * rng.NormFloat64()), Split: .01 + .9*rng.Float64(), Local: 1 + rng.IntN(20), LocalClip: math.Exp(2 * rng.NormFloat64()), Basis: 10 + rng.IntN(30)}
		b := &Basis{C: 1, H: h, W: w, Size: c.Basis}
		x, v := make([]*mat.Dense, classes), make([][]float64, classes)
		for l := range x {
			k := 1 + rng.IntN(6)
			pixels := mat.NewDense(k, h*w, nil)
			pixels.Apply(func(_, _ int, _ float64) float64 { return rng.Float64() }, pixels)
			x[l], v[l] = b.Encode(pixels), make([]float64, k)
			for i := range v[l] {
				v[l][i] = 10 * rng.NormFloat64()
			}
		}
		n := rng.IntN(40)
		with, err := data.New(n+1, 1, h, w)
		if err != nil {
			t.Fatal(err)
		}
		with.Labels = make([]int, n+1)
		for i := range n + 1 {
			with.Labels[i] = rng.IntN(classes)
			copy(with.Row(i), adversary(rng, (trial+i)%kinds, h*w, b.Decode(x[with.Labels[i]]).RawRowView(0)))
		}
		for _, out := range []int{0, n / 2, n} { // which one goes
			var rest []int
			for i := range n + 1 {
				if i != out {
					rest = append(rest, i)
				}
			}
			without := with.Take(rest)
			var values, spreads [2][]float64
			for k, set := range []*data.Images{with, without} {
				tr := trainerOf(t, dev, c, set, x, v)
				if values[k], err = tr.answer(nil); err != nil {
					t.Fatal(err)
				}
				spreads[k] = tr.spreadAnswer(t)
			}
			tr := trainerOf(t, dev, c, with.Take([]int{out}), x, v)
			alone, err := tr.answer(nil)
			if err != nil {
				t.Fatal(err)
			}
			moved := floats.Distance(values[0], values[1], 2)
			// Sums are exact; the two factors and the norm in this test round: 1e-12 is 2⁻⁵³ times some thousand terms.
			if moved > 1+1e-12 {
				t.Fatalf("trial %d: moved by %.17g", trial, moved)
			}
			floats.Sub(values[0], values[1])
			if d := floats.Distance(values[0], alone, math.Inf(1)); d > 1e-12 {
				t.Fatalf("trial %d: the rest of the sum moved by %g", trial, d)
			}
			moved2 := floats.Distance(spreads[0], spreads[1], 2)
			if moved2 > 1+1e-12 {
				t.Fatalf("trial %d: covariances moved by %.17g", trial, moved2)
			}
			largest, largestSpread = max(largest, moved), max(largestSpread, moved2)
		}
		scope.Close()
	}
	if largest < .97 || largestSpread < .97 {
		t.Errorf("the bound is not reached: %g and %g: the test has no teeth", largest, largestSpread)
	}
}

// A record's distances do not depend on where it stands, to the last bit: its part of a sum is its own.
func TestPlaceDoesNotMatter(t *testing.T) {
	dev, err := device.CPU{}.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = dev.Close() }()
	rng := rand.New(rand.NewPCG(3, 4))
	const n, k, d = 131, 23, 77
	x, y := make([]float32, k*d), make([]float32, n*d)
	for i := range x {
		x[i] = rng.Float32()
	}
	one := make([]float32, d)
	for i := range one {
		one[i] = rng.Float32()
	}
	for i := range y {
		y[i] = one[i%d]
	}
	dots := dev.New(device.Float32, n, k)
	defer dev.Scope().Close()
	device.Gemm(dots, 1, dev.From32(y, n, d).N(), dev.From32(x, k, d).T(), 0)
	got, err := dots.Get32()
	if err != nil {
		t.Fatal(err)
	}
	for i := range got {
		if got[i] != got[i%k] {
			t.Fatalf("row %d: %v, row 0: %v", i/k, got[i], got[i%k])
		}
	}
	dots.Free()
}
