package semidual

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"coupling/data"
	"coupling/dp"
	"coupling/dp/audit"
	"coupling/dp/release"
	"coupling/dp/synth"
	"coupling/lab/device"
	"coupling/lab/must"
	"coupling/lab/nn/nntest"

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
func trainerOf(dev *device.Device, c Config, images *data.Images, x []*mat.Dense,
	v [][]float64) *trainer {
	c = must.Get(c.withDefaults())
	_, ch, h, w := images.Shape()
	tr := newTrainer(c, dev, images, synth.Public{
		Classes:  make([]string, len(x)),
		Channels: ch,
		Height:   h,
		Width:    w,
	}, synth.Run{}, nil)
	tr.x, tr.v = x, v
	return tr
}

// spreadAnswer is the exact value of a release of covariances.
func (t *trainer) spreadAnswer(tb testing.TB) []float64 {
	var out []float64
	for l := range t.x {
		v := must.Get(t.rec.scatter(t.dev, l, newCloud(t.x[l], t.v[l], t.Reg), t.keep, t.scale, t.LocalClip))
		out = append(out, v...)
	}
	floats.Scale(1/t.LocalClip, out)
	return out
}

// Inserting one record, image and label, moves what is released by at most the claimed 1; the bound is reached; and the
// rest of the sum does not move in a single bit.
func TestSensitivity(t *testing.T) {
	dev := nntest.CPU(t)
	rng := rand.New(rand.NewPCG(1, 2))
	const classes, h, w = 3, 7, 6
	largest, largestSpread := 0., 0.
	for trial := range 300 {
		scope := dev.Scope()
		c := Config{
			Clip:      math.Exp(2*rng.NormFloat64() - 1),
			Reg:       math.Exp(2 * rng.NormFloat64()),
			Split:     .01 + .9*rng.Float64(),
			Local:     1 + rng.IntN(20),
			Bend:      float64(trial % 3),
			LocalClip: math.Exp(2 * rng.NormFloat64()),
			Basis:     10 + rng.IntN(30),
		}
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
		with := must.Get(data.New(n+1, 1, h, w))
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
			slices.Reverse(rest)
			turned := trainerOf(dev, c, with.Take(rest), x, v).spreadAnswer(t)
			var values, spreads [2][]float64
			for k, set := range []*data.Images{with, without} {
				tr := trainerOf(dev, c, set, x, v)
				values[k] = must.Get(tr.answer())
				spreads[k] = tr.spreadAnswer(t)
			}
			tr := trainerOf(dev, c, with.Take([]int{out}), x, v)
			alone := must.Get(tr.answer())
			moved := floats.Distance(values[0], values[1], 2)
			// Sums are exact; the two factors and the norm in this test round: 1e-12 is 2⁻⁵³ times some thousand terms.
			if moved > 1+1e-12 {
				t.Fatalf("trial %d: moved by %.17g", trial, moved)
			}
			floats.Sub(values[0], values[1])
			if d := floats.Distance(values[0], alone, math.Inf(1)); d > 1e-12 {
				t.Fatalf("trial %d: the rest of the sum moved by %g", trial, d)
			}
			if !slices.Equal(turned, spreads[1]) {
				t.Fatalf("trial %d: the order of records changes sums of outer products, which are not exact then",
					trial)
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
		t.Errorf("a bound is not reached: %g and %g: the test has no teeth", largest, largestSpread)
	}
}

// A record's distances are exact, and so the same whoever else is there: at a tie, where the last
// bit of a distance decides what a record pulls, one record more in its class moves nothing of its
// part. (Where it did, by products in float32, the sum moved by 1.37.)
func TestOthersDoNotMove(t *testing.T) {
	dev := nntest.CPU(t)
	rng := rand.New(rand.NewPCG(3, 4))
	const h, w = 20, 20
	c := Config{Clip: .5, Reg: 1e-5, Split: .5, Local: 20, LocalClip: .5, Basis: h * w}
	b := &Basis{C: 1, H: h, W: w, Size: h * w}
	for trial := range 20 {
		scope := dev.Scope()
		atoms := mat.NewDense(2, h*w, nil)
		atoms.Apply(func(_, _ int, _ float64) float64 { return rng.Float64() }, atoms)
		x := []*mat.Dense{b.Encode(atoms)}
		images := must.Get(data.New(2, 1, h, w))
		images.Labels = []int{0, 0}
		for j := range images.Pixels() {
			images.Pixels()[j] = rng.Float32()
		}
		one, y := newCloud(x[0], []float64{0, 0}, 1), newRecords(images, 1, b).table(0).RawRowView(0)
		d := [2]float64{}
		for i := range d {
			for j, u := range y {
				d[i] += (u - one.x.At(i, j)) * (u - one.x.At(i, j))
			}
		}
		v := [][]float64{{0, d[1] - d[0] + 1e-5*rng.NormFloat64()}}
		var answer, spread [3][]float64
		for k, set := range []*data.Images{images, images.Take([]int{0}), images.Take([]int{1})} {
			tr := trainerOf(dev, c, set, x, v)
			answer[k] = must.Get(tr.answer())
			spread[k] = tr.spreadAnswer(t)
		}
		for _, s := range [][3][]float64{answer, spread} {
			for i := range s[0] {
				// The sums are exact; their factors round, by 2⁻⁵³ of at most 30.
				if off := s[0][i] - s[1][i] - s[2][i]; math.Abs(off) > 1e-14 {
					t.Fatalf("trial %d, value %d: two records make %g, by themselves %g and %g", trial, i, s[0][i],
						s[1][i], s[2][i])
				}
			}
		}
		scope.Close()
	}
}

// Sums are exact up to mostRecords, and training refuses more: at the end of the range one outer
// product more, of a length that is cut, changes the sum by itself and nothing else.
func TestSumsAreExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	const dim = 30
	for _, clip := range []float64{.5, 30, 470} {
		most := mostRecords(1, 1, clip)
		if most = min(most, mostRecords(64, 64, clip)); float64(most)*clip > 0x1p26 || float64(most)*64 > 0x1p25 {
			t.Fatalf("clip %g: %d records", clip, most)
		}
		sum := mat.NewSymDense(dim, nil)
		for i := range dim {
			for j := i; j < dim; j++ {
				sum.SetSym(i, j, float64(most-1)*clip-float64(rng.IntN(1000))*grain*grain*part)
			}
		}
		for range 50 {
			a, alone, more := make([]float64, dim), mat.NewSymDense(dim, nil), mat.NewSymDense(dim, nil)
			for i := range a {
				a[i] = roundTo(math.Sqrt(clip)*rng.NormFloat64(), grain)
			}
			more.CopySym(sum)
			addOuter(more, a, clip)
			addOuter(alone, a, clip)
			for i := range dim {
				for j := i; j < dim; j++ {
					if more.At(i, j)-sum.At(i, j) != alone.At(i, j) {
						t.Fatalf("clip %g: entry %d, %d moved by %g, alone %g", clip, i, j, more.At(i, j)-sum.At(i, j),
							alone.At(i, j))
					}
				}
			}
		}
	}
	images := blobs(70)
	if _, err := (Config{LocalClip: 1e6}).Train(t.Context(), nntest.CPU(t), images, synth.Run{}); !errors.Is(err,
		synth.ErrParameter) {
		t.Errorf("70 images with covariances clipped at 1e6: %v", err)
	}
}

// One run of the whole pipeline, steps and covariances, on 24,000 classes of three records, each
// with a canary by the flip of a coin. The attack sees every release and knows everything but the
// coins. It does not refute the claim; it does where sensitivity is off by 1.5, which is noise of
// two thirds. A record is in its own class's part of each release alone (TestSensitivity), so the
// classes are independent, and the bound for two worlds holds for one run.
func TestAuditWholePipeline(t *testing.T) {
	if testing.Short() {
		t.Skip("eight CPU seconds")
	}
	const delta, canaries = 1e-2, 24_000
	dev, one := nntest.CPU(t), blobs(4)
	clear(one.Row(3)) // the canary: two bright corners, which reach every bound
	one.Row(3)[0], one.Row(3)[63] = 1, 1
	repeated := func(rows func(class int) []int) *data.Images {
		var at, labels []int
		for l := range canaries {
			for _, i := range rows(l) {
				at, labels = append(at, i), append(labels, l)
			}
		}
		m := one.Take(at)
		m.Labels, m.Classes = labels, make([]string, canaries)
		return m
	}
	rng := rand.New(rand.NewPCG(8, 8))
	coin := make([]bool, canaries)
	for l := range coin {
		coin[l] = rng.Uint64()>>63 == 1
	}
	known := func(int) []int { return []int{0, 1, 2} }
	sets := []*data.Images{
		repeated(func(l int) []int {
			if coin[l] {
				return []int{0, 1, 2, 3}
			}
			return known(l)
		}),
		repeated(known), repeated(func(int) []int { return []int{3} }),
	}
	p := must.Get(synth.PublicOf(sets[0]))
	c := must.Get(Config{
		PerClass:  2,
		Steps:     2,
		Basis:     9,
		Local:     4,
		Reg:       .01,
		Clip:      .1,
		LocalClip: .5,
		Contrast:  -1,
	}.withDefaults())
	c, g := must.Get2(synth.Calibrate(t.Context(), c, p, dp.Budget{Epsilon: 1, Delta: delta}))
	for _, fault := range []float64{1, 1.5} {
		run := &release.Run{Key: release.SeededKey(uint64(8 * fault)), Releases: c.Steps + c.spreads()}
		attacked := newTrainer(c, dev, sets[0], p, synth.Run{Key: run.Key}, run)
		attacked.NoiseMultiplier /= fault
		others := []*trainer{newTrainer(c, dev, sets[1], p, synth.Run{}, nil),
			newTrainer(c, dev, sets[2], p, synth.Run{}, nil)}
		score := make([]float64, canaries)
		run.Trace = func(stream string, released []float64) {
			var parts [2][]float64 // of the known records, and of the canary
			sigma := c.NoiseMultiplier
			for k, of := range others {
				of.x, of.v = attacked.x, attacked.v
				if stream == "spread" {
					parts[k], sigma = of.spreadAnswer(t), c.localNoise()
				} else {
					parts[k] = must.Get(of.answer())
				}
			}
			size := len(released) / canaries
			for l := range score {
				own := parts[1][l*size : (l+1)*size]
				score[l] += (floats.Dot(released[l*size:(l+1)*size], own) -
					floats.Dot(parts[0][l*size:(l+1)*size], own)) / sigma / sigma
			}
		}
		must.Get(attacked.train(t.Context(), p))
		var scores [2][]float64
		for l, s := range score {
			world := 0
			if coin[l] {
				world = 1
			}
			scores[world] = append(scores[world], s)
		}
		found := must.Get(audit.TwoWorlds[float64]{
			Run: func(_ *rand.Rand, world bool) (s float64, err error) {
				k := 0
				if world {
					k = 1
				}
				s, scores[k] = scores[k][0], scores[k][1:]
				return s, nil
			},
			Score: func(s float64) float64 { return s }, Trials: min(len(scores[0]), len(scores[1])), Workers: 1,
		}.Epsilon(t.Context(), rng, delta))
		t.Logf("fault %g: claimed ε = %g, found %g", fault, g.Epsilon, found.Epsilon)
		if found.Refutes(g.Epsilon) != (fault > 1) || found.Epsilon < .5 {
			t.Errorf("fault %g: claimed ε = %g, found %g", fault, g.Epsilon, found.Epsilon)
		}
	}
}
