package devicetest

import (
	"strings"
	"testing"

	"coupling/lab/device"
	"coupling/lab/must"
)

// trainer is a small training step with noise, intermediates and a counter, all on the device.
type trainer struct {
	d                *device.Device
	w, g, m, v, t, x *device.Array
	factor           *device.Array
	noise            *device.Stream
}

func newTrainer(d *device.Device) *trainer {
	const n = 33
	r := &trainer{d: d, noise: d.Stream(7)}
	for _, a := range []**device.Array{&r.w, &r.g, &r.m, &r.v, &r.x} {
		*a = d.Zeros(device.Float32, n, n)
	}
	r.t, r.factor = d.FromInts([]int32{0}, 1), d.From32([]float32{.5}, 1)
	device.Fill(r.w, 0.1)
	return r
}

// step is one of training: g = tanh(w·x + noise), clipped, then Adam.
func (r *trainer) step() {
	scope := r.d.Scope()
	defer scope.Close()
	r.noise.Normal(r.x, 0, 1)
	y := r.w.Like()
	device.Gemm(y, 1, r.w.N(), r.x.T(), 0)
	device.Map(y, y, device.Tanh, 0)
	norm := r.d.New(device.Float32, 1, 33)
	device.Reduce(norm, y, device.Norm)
	device.Div(r.g, y, norm)
	device.ClipRows(r.g, r.g, 0.5)
	one := func(a *device.Array) []*device.Array { return []*device.Array{a} }
	a := device.Adam{Rate: 0.02, Beta1: 0.9, Beta2: 0.999, Eps: 1e-8}
	device.StepAdam(device.Update{W: one(r.w), G: one(r.g), M: one(r.m), V: one(r.v), Factor: r.factor}, r.t, a)
}

func (r *trainer) free() {
	for _, a := range []*device.Array{r.w, r.g, r.m, r.v, r.t, r.x, r.factor} {
		a.Free()
	}
	r.noise.Free()
}

// graphs: a recording does once when recorded, again at each Launch, what the operations do, random numbers moving on.
func graphs(t *testing.T, open func(testing.TB) *device.Device) {
	d := open(t)
	defer closed(t, d)
	const again = 4
	plain, recorded := newTrainer(d), newTrainer(d)
	defer plain.free()
	defer recorded.free()
	for range 1 + again {
		plain.step()
	}
	before, _, _ := d.Live()
	g := d.Record(recorded.step)
	for range again {
		g.Launch()
	}
	for _, pair := range [][2]*device.Array{{plain.w, recorded.w}, {plain.m, recorded.m}, {plain.x, recorded.x},
		{plain.t, recorded.t}} {
		alike(t, "all steps", pair[0], pair[1])
	}
	plain.step() // other work between launches, in memory that the graph gave back
	g.Launch()
	alike(t, "after other work", plain.w, recorded.w)
	g.Close()
	g.Close()
	panics(t, "graph is closed", g.Launch)
	if now, _, _ := d.Live(); now != before {
		t.Errorf("%d arrays before, %d after", before, now)
	}
	plain.step()
	must.Do(d.Sync())
	failedRecord(t, d)
	keptByRecord(t, d)
	notRecorded(t, d)
	replayed(t, d)
}

// holds demands an array of one number.
func holds(t *testing.T, what string, a *device.Array, want float64) {
	t.Helper()
	x, err := values(a)
	if at := differ(x, repeated(want, a.Len())); err != nil || at >= 0 {
		t.Errorf("%s: %v, %v: must be %v", what, x, err, want)
	}
}

// alike demands the same bits of two arrays.
func alike(t *testing.T, what string, a, b *device.Array) {
	t.Helper()
	x, err := values(a)
	y, err2 := values(b)
	if at := differ(x, y); at >= 0 || err != nil || err2 != nil {
		t.Errorf("%s: plain %v, with the graph %v, %v, %v", what, x, y, err, err2)
	}
}

// replayed: what a Replay's function leaves holds the results of the latest call, for another Replay and for the host.
func replayed(t *testing.T, d *device.Device) {
	before, _, _ := d.Live()
	x := d.New(device.Float32, 3)
	var y, sum *device.Array
	var first, second device.Replay
	for k := range 5 {
		s := d.Scope()
		x.Set32([]float32{float32(k), 1, 2})
		first.Do(d, func() {
			y = x.Clone()
			device.Add(y, y, x)
		})
		device.Fill(d.New(device.Float32, 3), -1) // other work, which must not meet y's memory
		second.Do(d, func() {
			sum = y.Clone()
			device.Add(sum, sum, x)
		})
		got, err := sum.Get32()
		if err != nil || got[0] != 3*float32(k) || got[2] != 6 {
			t.Errorf("call %d: %v, %v, want [%d 3 6]", k, got, err, 3*k)
		}
		s.Close()
	}
	first.Close()
	second.Close()
	first.Close()
	x.Free()
	if now, _, _ := d.Live(); now != before {
		t.Errorf("%d arrays before, %d after", before, now)
	}
}

// failedRecord: what fails while it is recorded gives no graph, whose Launch and Close do nothing.
func failedRecord(t *testing.T, d *device.Device) {
	a := d.Zeros(device.Float32, 3)
	defer a.Free()
	g := d.Record(func() {
		device.Fill(a, 1)
		d.New(device.Float64, 1<<44)
	})
	is(t, "a recording without memory", d.Recover(), device.ErrMemory)
	g.Launch()
	g.Close()
	lost := d.Record(func() { device.Fill(a, 3) })
	d.New(device.Float64, 1<<44)
	lost.Launch() // the device has failed: nothing happens
	lost.Close()
	is(t, "closing a graph changed the error", d.Recover(), device.ErrMemory)
	device.Fill(a, 2)
	holds(t, "after a failed recording", a, 2)
}

// keptByRecord: a recording that frees what it did not make could not be launched again; it panics,
// and the device goes on.
func keptByRecord(t *testing.T, d *device.Device) {
	a := d.Zeros(device.Float32, 3)
	defer a.Free()
	panics(t, "before the recording", func() { d.Record(func() { a.Free() }) })
	device.Fill(a, 2)
	before, _ := must.Get2(d.Memory())
	panics(t, "half way", func() {
		d.Record(func() {
			s := d.Scope()
			defer s.Close()
			device.Fill(d.New(device.Float32, 1<<20), 1)
			panic("half way")
		})
	})
	after, _ := must.Get2(d.Memory())
	if d.Info().Kind != "cpu" && after != before { // the host's free memory is everybody's
		t.Errorf("a recording that panicked keeps %d bytes", before-after)
	}
	holds(t, "the array that was not freed", a, 2)
	g := d.Record(func() { // one made and freed without a scope is in order
		b := a.Clone()
		device.Add(a, a, b)
		b.Free()
	})
	for range 3 {
		g.Launch()
	}
	holds(t, "doubled four times", a, 32)
	g.Close()
}

// notRecorded: what waits, and other graphs, have no place in a recording.
func notRecorded(t *testing.T, d *device.Device) {
	a := d.Zeros(device.Float32, 3)
	defer a.Free()
	other := d.Record(func() { device.Fill(a, 5) })
	for what, f := range map[string]func(){
		"upload":      func() { a.Set32(make([]float32, 3)) },
		"download":    func() { _, _ = a.Get32() },
		"Sync":        func() { _ = d.Sync() },
		"Record":      func() { d.Record(func() {}) },
		"Launch":      other.Launch,
		"Graph.Close": other.Close,
	} {
		if g := d.Record(f); g != nil {
			t.Errorf("%s was recorded", what)
		}
		if err := d.Recover(); err == nil || !strings.Contains(err.Error(), what+": not within a recording") {
			t.Errorf("%s within a recording: %v", what, err)
		}
	}
	device.Fill(a, 1)
	other.Launch()
	holds(t, "a graph after them", a, 5)
	other.Close()
}
