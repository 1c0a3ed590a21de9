package score

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"coupling/lab/device"
	"coupling/lab/device/philox"

	"gonum.org/v1/gonum/mat"
)

// residing is N(0, I), which computes on a device too.
type residing struct {
	*Gaussian
	dev *device.Device
}

func (f residing) Reside(int) *Residence {
	return &Residence{Device: f.dev, Level: func(float64) {}, Close: func() {}, Score: func(x *device.Array) *device.Array {
		s := x.Like()
		device.Scale(s, -1, x)
		return s
	}}
}

// Chains on a device are those of the host with the device's noise: a wrong factor, a draw that is made twice or left out, or
// points that are not those of the last step change them.
func TestResidentOnDevice(t *testing.T) {
	dev := must(device.Open(""))
	defer dev.Close()
	live, _, _ := dev.Live()
	f := residing{must(NewGaussian(nil, mat.NewSymDense(3, []float64{1, 0, 0, 0, 1, 0, 0, 0, 1}))), dev}
	x := normals(rand.New(rand.NewPCG(7, 7)), 5, 3)
	start := func() *Chain { return Start(rand.New(rand.NewPCG(8, 8)), x) }
	l := Langevin{Levels: []float64{1, .5, .1}, Steps: 30, Step: .004, Predict: true, Denoise: true}

	want := start()
	for k := range l.Total() {
		u, to := l.at(k), want.X.RawMatrix().Data
		for i := range to {
			w := philox.At(want.Seed, uint64(k*4+i/4)) // 15 numbers, in four blocks
			pair := i % 4 / 2
			z0, z1 := philox.Normal(w[2*pair], w[2*pair+1])
			to[i] += -u.drift*to[i] + math.Sqrt(u.variance)*float64([]float32{z0, z1}[i%2])
		}
	}
	whole, steps, sizes := start(), 0, 0
	l.Trace = func(p Progress) {
		if steps++; !math.IsNaN(p.Score) {
			sizes++
		}
	}
	if err := l.Run(t.Context(), f, whole); err != nil {
		t.Fatal(err)
	}
	if !mat.EqualApprox(whole.X, want.X, 1e-12) || whole.Done != l.Total() || steps != l.Total() || sizes != 2 {
		t.Errorf("%d steps, %d told, %d with scores, at\n%v, want\n%v", whole.Done, steps, sizes, mat.Formatted(whole.X), mat.Formatted(want.X))
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
