package semidual

import (
	"context"
	"math"
	"math/rand/v2"

	"coupling/data"
	"coupling/dp/internal/check"
	"coupling/dp/release"
	"coupling/dp/synth"
	"coupling/lab/device"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"coupling/lab/logspace"
)

// trainer is the state of a training.
type trainer struct {
	Config
	synth.Run
	out     *release.Run
	rec     *records
	dev     *device.Device
	basis   *Basis
	public  *rand.Rand
	x       []*mat.Dense // atoms by class
	v       [][]float64
	held    [][]float64 // noisy masses of atoms, summed over the later steps at a size
	sum     [][]float64 // noisy sums of records, over the same steps
	count   []float64   // noisy numbers of records, summed over counted releases
	counted int
	step    int
	keep    []int     // coefficients that covariances are taken of
	scale   []float64 // of these in outer products; nil: 1
}

// Train learns atoms from private images and returns a *Model. All randomness comes from the key. A
// run that was killed in r.Dir repeats its steps, with the same releases. Errors wrap
// synth.ErrParameter if Config or images are out of range, such as a label outside the classes, or
// so many records that sums of them would round.
func (c Config) Train(ctx context.Context, dev *device.Device, images *data.Images,
	r synth.Run) (synth.Sampler, error) {
	p, err := synth.PublicOf(images)
	c, outOfRange := c.withDefaults()
	if err := check.All(err, outOfRange, c.checkRecords(p)); err != nil {
		return nil, err
	}
	p.Records = 0 // a model does not have the exact number
	out, err := r.Begin(dev, images, c.Releases(), map[string]any{"mechanism": "semi-dual", "settings": c})
	if err != nil {
		return nil, err
	}
	defer func() { _ = out.Close() }()
	defer dev.Scope().Close()
	return newTrainer(c, dev, images, p, r, out).train(ctx, p)
}

func newTrainer(c Config, dev *device.Device, images *data.Images, p synth.Public, r synth.Run,
	out *release.Run) *trainer {
	classes := len(p.Classes)
	b := &Basis{C: p.Channels, H: p.Height, W: p.Width, Size: c.Basis}
	t := &trainer{
		Config: c,
		Run:    r,
		out:    out,
		dev:    dev,
		basis:  b,
		public: r.Key.Rand("public", 0),
		rec:    newRecords(images, classes, b),
		x:      make([]*mat.Dense, classes),
		v:      make([][]float64, classes),
		held:   make([][]float64, classes),
		sum:    make([][]float64, classes),
		count:  make([]float64, classes),
	}
	if t.Local > 0 {
		t.keep = t.basis.lowest(t.Local)
		t.scale = t.basis.scale(t.keep, t.Bend)
	}
	return t
}

// train makes all releases, and a model of them. It grows the atoms: the mean of a class, then a
// quarter, a half and all of its atoms.
func (t *trainer) train(ctx context.Context, p synth.Public) (m *Model, err error) {
	var spread []*mat.SymDense // covariances about the atoms
	for l := range t.x {
		t.x[l], t.v[l], t.held[l] = t.start(), make([]float64, 1), make([]float64, 1)
		t.sum[l] = make([]float64, t.rec.dim)
	}
	levels := t.levels()
	for i, level := range levels {
		if i > 0 {
			t.grow(level.atoms, spread)
		}
		for k := range level.steps {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if err := t.move(k, level.steps); err != nil {
				return nil, err
			}
		}
		if t.Local > 0 && (i == 0 || i == len(levels)-1) {
			if i > 0 {
				t.filter(spread, level.steps)
			}
			if spread, err = t.spread(i); err != nil {
				return nil, err
			}
		}
	}
	return t.model(p, spread), nil
}

// level is a number of atoms of a class and the number of steps that move them.
type level struct{ atoms, steps int }

func (t *trainer) levels() []level {
	k, n := t.PerClass, t.Steps
	if k == 1 {
		return []level{{1, n}}
	}
	out := []level{{1, max(1, n/15)}}
	if k >= 8 && n >= 12 {
		out = append(out, level{k / 4, n / 6}, level{k / 2, n / 6})
	}
	left := n
	for _, l := range out {
		left -= l.steps
	}
	if left > 0 {
		out = append(out, level{k, left})
	}
	return out
}

// start is a dark grey image, .15 of white.
func (t *trainer) start() *mat.Dense {
	grey := mat.NewDense(1, t.basis.C*t.basis.H*t.basis.W, nil)
	grey.Apply(func(_, _ int, _ float64) float64 { return .15 }, grey)
	return t.basis.Encode(grey)
}

// move is one step: release [β w, √(1−β²) s⊗(y−x)/C] summed over records, and move potentials and atoms.
func (t *trainer) move(k, of int) error {
	values, err := t.answer()
	if err != nil {
		return err
	}
	if values, err = t.out.Release("step", t.step, values, t.NoiseMultiplier, 1); err != nil {
		return err
	}
	// The first third of the steps at a size are full steps, the later ones average.
	eta := 1.
	if late := k - of/3; late > 0 {
		eta = 1 / float64(1+late)
	}
	t.apply(values, eta, 2*k >= of-1)
	if eta == 1 {
		t.revive(values)
	}
	t.step++
	t.Step(t.step, t.Steps)
	return nil
}

// factors are the multipliers of w and s⊗(y−x) with which a record's part has norm at most 1.
func (t *trainer) factors() (mass, move float64) {
	return math.Sqrt(t.Split), math.Sqrt(1-t.Split) / t.Clip
}

// answer is the exact value of a step's release, class by class, masses before moves.
func (t *trainer) answer() (values []float64, err error) {
	fm, fx := t.factors()
	for l := range t.x {
		c := newCloud(t.x[l], t.v[l], t.Reg)
		mass, move, err := t.rec.transport(t.dev, l, c, t.Clip)
		if err != nil {
			return nil, err
		}
		for _, m := range mass {
			values = append(values, fm*m)
		}
		for _, g := range move.RawMatrix().Data {
			values = append(values, fx*g)
		}
	}
	return values, nil
}

// apply moves potentials and atoms by what was released: x_i by η times the mean of y − x_i over
// what it holds, v_i by η·reg·log(wanted mass/mass), the step that Sinkhorn's algorithm takes.
// Masses are noisy, so they are limited to between a third and three times the wanted mass.
func (t *trainer) apply(values []float64, eta float64, late bool) {
	fm, fx := t.factors()
	t.counted++
	for l, x := range t.x {
		n, dim := x.Dims()
		mass, move := values[:n], values[n:n+n*dim]
		values = values[n+n*dim:]
		total := floats.Sum(mass) / fm
		if late {
			floats.Add(t.held[l], mass)
		}
		t.count[l] += total
		want := max(t.count[l]/float64(t.counted), 1) / float64(n)
		for i, m := range mass {
			have := min(max(m/fm, want/3), want*3)
			row := x.RawRowView(i)
			if late { // Σ w·y = Σ w·x + Σ w·(y−x), where nothing is clipped
				floats.AddScaled(t.sum[l], m/fm, row)
				floats.AddScaled(t.sum[l], 1/fx, move[i*dim:(i+1)*dim])
			}
			floats.AddScaled(row, eta/fx/have, move[i*dim:(i+1)*dim])
			t.v[l][i] += eta * t.Reg * logspace.Log(want/have)
		}
		floats.AddConst(-floats.Sum(t.v[l])/float64(n), t.v[l])
		t.clamp(x)
	}
}

// revive moves atoms with less than a quarter of their wanted mass, by the noisy masses of the last
// release, beside the atoms with the most mass, which they then share: an atom that has drifted off
// would need many steps to return.
func (t *trainer) revive(values []float64) {
	fm, _ := t.factors()
	for l, x := range t.x {
		n, dim := x.Dims()
		mass := append([]float64(nil), values[:n]...)
		values = values[n+n*dim:]
		floats.Scale(1/fm, mass)
		want := max(t.count[l]/float64(t.counted), 1) / float64(n)
		for i, m := range mass {
			big := floats.MaxIdx(mass)
			if m > want/4 || mass[big] < want {
				continue
			}
			copy(x.RawRowView(i), x.RawRowView(big))
			for j := range min(dim, 16) {
				x.Set(i, j, x.At(i, j)+.1*t.public.NormFloat64())
			}
			t.v[l][i] = t.v[l][big]
			mass[big] /= 2
			mass[i] = mass[big]
		}
	}
}

// clamp brings atoms to images in [0, 1] and back.
func (t *trainer) clamp(x *mat.Dense) {
	pixels := t.basis.Decode(x)
	pixels.Apply(func(_, _ int, v float64) float64 { return min(max(v, 0), 1) }, pixels)
	x.Copy(t.basis.Encode(pixels))
}

// spread releases the covariances of classes about their likeliest atoms.
func (t *trainer) spread(which int) ([]*mat.SymDense, error) {
	var values []float64
	for l := range t.x {
		v, err := t.rec.scatter(t.dev, l, newCloud(t.x[l], t.v[l], t.Reg), t.keep, t.scale, t.LocalClip)
		if err != nil {
			return nil, err
		}
		values = append(values, v...)
	}
	floats.Scale(1/t.LocalClip, values)
	values, err := t.out.Release("spread", which, values, t.localNoise(), 1)
	if err != nil {
		return nil, err
	}
	out := make([]*mat.SymDense, len(t.x))
	size := triangle(len(t.keep))
	for l := range out {
		count := max(t.count[l]/float64(t.counted), 1)
		v := values[l*size : (l+1)*size]
		floats.Scale(t.LocalClip/count, v)
		out[l] = Denoise(unpack(v, len(t.keep)), t.localNoise()*t.LocalClip/count)
		unscale(out[l], t.scale)
	}
	return out, nil
}
