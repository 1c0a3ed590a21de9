package score

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"coupling/lab/device"
	"coupling/lab/device/philox"
	"coupling/lab/must"

	"gonum.org/v1/gonum/mat"
)

// standard is N(0, I) at every noise level, which computes on a device too.
type standard struct {
	*Gaussian
	dev *device.Device
}

func (f standard) Score(dst, x *mat.Dense, _ float64) error { return f.Gaussian.Score(dst, x, 0) }

func (f standard) OnDevice(int) *DeviceField {
	return &DeviceField{
		Device: f.dev,
		Level:  func(float64) error { return nil },
		Close:  func() {},
		Score: func(x *device.Array) *device.Array {
			s := x.Like()
			device.Scale(s, -1, x)
			return s
		},
	}
}

// Chains on a device are those of the host with the device's noise: a wrong factor, a draw that is
// made twice or left out, or points that are not those of the last step change them.
func TestLangevinOnDevice(t *testing.T) {
	dev := must.Get(device.Open(""))
	defer dev.Close()
	live, _, _ := dev.Live()
	f := standard{must.Get(NewGaussian(nil, mat.NewSymDense(3, []float64{1, 0, 0, 0, 1, 0, 0, 0, 1}))), dev}
	x := normals(seeded(7), 5, 3)
	start := func() *Chain { return Start(seeded(8), x) }
	l := Langevin{Levels: []float64{1, .5, .1}, Steps: 30, Step: .004, Denoise: true}

	want := start()
	withNoiseOfDevice(l, f, want)
	whole, steps, sizes := start(), 0, 0
	l.Trace = func(p Progress) {
		if steps++; !math.IsNaN(p.Score) {
			sizes++
		}
	}
	must.Do(l.Run(t.Context(), f, whole))
	if !mat.EqualApprox(whole.X, want.X, 1e-12) || whole.Done != l.Total() || steps != l.Total() || sizes < 2 ||
		sizes > steps/2 {
		t.Errorf("%d steps, %d told, %d with scores, at\n%v, want\n%v", whole.Done, steps, sizes,
			mat.Formatted(whole.X), mat.Formatted(want.X))
	}

	l.Every = 7
	for cut := 1; cut < l.Total(); cut += 20 {
		l.Path = filepath.Join(t.TempDir(), "chains.ckpt")
		killed(t, l.Path, cut, func(ctx context.Context, trace func(Progress)) error {
			l := l
			l.Trace = trace
			return l.Run(ctx, f, start())
		})
		again := start()
		if err := l.Run(t.Context(), f, again); err != nil || !mat.Equal(again.X, whole.X) {
			t.Errorf("killed after %d steps: other numbers, %v", cut, err)
		}
	}
	if err := l.Run(t.Context(), f.Gaussian, start()); err == nil {
		t.Error("a run on a device was resumed with the noise of the host")
	}
	if err := (Langevin{Steps: 900, Step: 10}).Run(t.Context(), f, start()); !errors.Is(err, ErrDiverged) {
		t.Errorf("diverged: %v", err)
	}
	if now, _, _ := dev.Live(); now != live {
		t.Errorf("%d arrays before, %d after", live, now)
	}
}

// withNoiseOfDevice moves a chain by the scores of the host and the noise of a device.
func withNoiseOfDevice(l Langevin, f Field, c *Chain) {
	n, d := c.X.Dims()
	s, to := mat.NewDense(n, d, nil), c.X.RawMatrix().Data
	for k := range l.Total() {
		u := l.at(k)
		must.Do(f.Score(s, c.X, u.sigma))
		for i := range to {
			w := philox.At(c.Seed, uint64(k*((n*d+3)/4)+i/4)) // four numbers a block
			pair := i % 4 / 2
			z0, z1 := philox.Normal(w[2*pair], w[2*pair+1])
			to[i] += u.drift*s.RawMatrix().Data[i] + math.Sqrt(u.variance)*float64([]float32{z0, z1}[i%2])
		}
	}
}

// Chains of smoothed points on a device are those of the host with the device's noise, at every
// level: of dimensions with kernels of their own and without, and with points of weight 0. A
// scaling of another level, which a recording could keep, changes them.
func TestEmpiricalOnDevice(t *testing.T) {
	dev := must.Get(device.Open(""))
	defer dev.Close()
	live, _, _ := dev.Live()
	rng := seeded(9)
	for _, d := range []int{2, 20, 70} {
		e := must.Get(NewEmpirical(normals(rng, 40, d),
			append(make([]float64, 7), slices.Repeat([]float64{1, 2, 3}, 11)...), .05))
		f := e.On(dev)
		if r := OnDevice(f, 9); dev.Key() == "cpu" {
			if r != nil {
				t.Error("a processor has chains of its own")
			}
			continue
		} else {
			r.Close()
		}
		l := Langevin{Levels: []float64{2, .5, .1}, Steps: 5, Step: .001, Denoise: true}
		x := normals(rng, 9, d)
		got := Start(rng, x)
		want := got.Clone()
		withNoiseOfDevice(l, e, want)
		must.Do(l.Run(t.Context(), f, got))
		if !mat.EqualApprox(got.X, want.X, 1e-10) {
			t.Errorf("dimension %d: chains end at\n%v, want\n%v", d, mat.Formatted(got.X), mat.Formatted(want.X))
		}
		if err := (Langevin{Steps: 1, Step: 1}).Run(t.Context(), must.Get(NewEmpirical(x, nil, 0)).On(dev),
			Start(rng, x)); !errors.Is(err, ErrParameter) {
			t.Errorf("without noise or bandwidth: %v", err)
		}
	}
	if now, _, _ := dev.Live(); now != live {
		t.Errorf("%d arrays before, %d after", live, now)
	}
}

// Steps that take a GPU seconds do not queue up: whoever ends the run waits for all of them.
func TestLooks(t *testing.T) {
	for _, c := range []struct {
		steps int
		took  time.Duration
		want  int
	}{{6, 18 * time.Second, 1}, {6, 600 * time.Millisecond, 10}, {64, 0, 64}, {1, time.Nanosecond, 64}} {
		if got := looks(c.steps, c.took); got != c.want {
			t.Errorf("after %d steps in %v the next look is after %d, want %d", c.steps, c.took, got, c.want)
		}
	}
}
