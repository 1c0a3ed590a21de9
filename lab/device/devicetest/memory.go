package devicetest

import (
	"errors"
	"strings"
	"testing"

	"coupling/lab/device"
	"coupling/lab/must"
)

// memory tests ownership and use after free.
func memory(t *testing.T, open func(testing.TB) *device.Device) {
	d := open(t)
	defer closed(t, d)
	t.Run("Live", func(t *testing.T) { live(t, d) })
	t.Run("Scope", func(t *testing.T) { scopes(t, d) })
	t.Run("Use after free", func(t *testing.T) { afterFree(t, d) })
	t.Run("Reuse", func(t *testing.T) { reuse(t, d) })
	t.Run("Out of memory", func(t *testing.T) { outOfMemory(t, d) })
	t.Run("Leak", func(t *testing.T) { leak(t, open(t)) })
}

// live counts arrays and bytes; views own nothing.
func live(t *testing.T, d *device.Device) {
	a := d.New(device.Float64, 3, 5)
	b := d.New(device.Float32, 7)
	a.Rows(1, 2).Reshape(5)
	if n, bytes, peak := d.Live(); n != 2 || bytes != 120+28 || peak < bytes {
		t.Errorf("%d arrays, %d bytes, peak %d: must be 2 and 148", n, bytes, peak)
	}
	a.Free()
	b.Free()
	(*device.Array)(nil).Free()
	if n, bytes, _ := d.Live(); n != 0 || bytes != 0 {
		t.Errorf("%d arrays, %d bytes after Free", n, bytes)
	}
	if free, total, err := d.Memory(); err != nil || free <= 0 || total < free {
		t.Errorf("Memory: %d of %d, %v", free, total, err)
	}
}

// scopes free arrays that were made in them, unless they were kept or freed before.
func scopes(t *testing.T, d *device.Device) {
	count := func(want int) {
		t.Helper()
		if n, _, _ := d.Live(); n != want {
			t.Errorf("%d arrays: must be %d", n, want)
		}
	}
	outer := d.Scope()
	a := d.New(device.Float32, 4)
	inner := d.Scope()
	b, c, e := d.New(device.Float32, 4), d.New(device.Float32, 4), d.New(device.Float32, 6)
	if inner.Keep(b) != b || inner.Keep(a) != a {
		t.Error("Keep must return its argument")
	}
	view := e.Reshape(2, 3)
	inner.Keep(view)
	c.Free()
	d.New(device.Float32, 8)
	count(4)
	inner.Close()
	count(3)
	device.Fill(view, 1)
	must.Get(view.Get32())
	outer.Keep(b)
	outer.Close()
	count(1)
	b.Free()
	count(0)
	panics(t, "reverse order", inner.Close)
	outer = d.Scope()
	inner = d.Scope() // that a panic leaves open
	d.New(device.Float32, 4)
	outer.Close()
	count(0)
	panics(t, "reverse order", inner.Close)
}

// afterFree: arrays that are gone, and views of them, refuse everything.
func afterFree(t *testing.T, d *device.Device) {
	a, b := d.Zeros(device.Float32, 3, 3), d.Zeros(device.Float32, 3, 3)
	view := a.Rows(0, 2)
	panics(t, "view", view.Free)
	a.Free()
	panics(t, "after Free", a.Free)
	s := d.Stream(1)
	s.Free()
	for _, f := range []func(){
		func() { device.Add(b, b, a) },
		func() { device.Fill(a, 0) },
		func() { device.Fill(view, 0) },
		func() { _, _ = view.Get32() },
		func() { a.Set32(make([]float32, 9)) },
		func() { a.Reshape(9) },
		func() { view.Rows(0, 1) },
		func() { device.Gemm(b, 1, a.N(), b.T(), 0) },
		func() { a.Clone() },
		func() { s.Uniform(b, 0, 1) },
	} {
		panics(t, "after Free", f)
	}
	b.Free()
	if err := d.Err(); err != nil {
		t.Errorf("mistakes of the program are no errors of the device: %v", err)
	}
}

// reuse makes and frees in all orders; no array may see another's numbers.
func reuse(t *testing.T, d *device.Device) {
	defer d.Scope().Close()
	var kept []*device.Array
	for i := range 200 {
		n := 1 + i*i%301
		a := d.New(device.Float32, n)
		device.Fill(a, float64(i))
		switch {
		case i%3 == 0:
			kept = append(kept, a)
		case i%7 == 0 && len(kept) > 0:
			kept[0].Free()
			kept = kept[1:]
			a.Free()
		default:
			a.Free()
		}
	}
	for _, a := range kept {
		x := must.Get(a.Get32())
		for _, v := range x {
			if v != x[0] || int(v)*int(v)%301+1 != len(x) {
				t.Fatalf("an array of %d holds %v and %v", len(x), x[0], v)
			}
		}
	}
}

// outOfMemory: what no machine has is an error, and everything goes on after Recover.
func outOfMemory(t *testing.T, d *device.Device) {
	for _, shape := range [][]int{{1 << 44}, {1 << 30, 1 << 30}, {1 << 32, 1 << 32}, {1 << 62, 3}} {
		a := d.New(device.Float64, shape...)
		if err := d.Err(); !errors.Is(err, device.ErrMemory) {
			t.Fatalf("%v float64: got %v: must be ErrMemory", shape, err)
		}
		if !strings.Contains(d.Err().Error(), "New") {
			t.Errorf("%v: the error must name New: %v", shape, d.Err())
		}
		device.Fill(a, 1) // nothing happens
		b := d.Zeros(device.Float32, 3)
		device.Add(b, b, b)
		_, err := b.Get32()
		is(t, "Get after a failed New", err, device.ErrMemory)
		a.Free()
		b.Free()
		is(t, "Sync", d.Sync(), device.ErrMemory)
		if err := d.Recover(); !errors.Is(err, device.ErrMemory) || d.Err() != nil {
			t.Errorf("Recover: %v, then %v", err, d.Err())
		}
	}
	a := d.New(device.Float64, 1<<44)
	is(t, "Recover", d.Recover(), device.ErrMemory)
	panics(t, "no memory", func() { device.Fill(a, 1) })
	panics(t, "no memory", func() { device.Fill(a.Rows(0, 3), 1) })
	a.Free()
	b := d.From32([]float32{1, 2}, 2)
	device.Add(b, b, b)
	if x, err := b.Get32(); err != nil || x[0] != 2 || x[1] != 4 {
		t.Errorf("after Recover: %v, %v", x, err)
	}
	b.Free()
	if n, bytes, _ := d.Live(); n != 0 || bytes != 0 {
		t.Errorf("%d arrays, %d bytes live on", n, bytes)
	}
}

// leak: Close reports arrays that were not freed, with Track where they were made, and frees them.
func leak(t *testing.T, d *device.Device) {
	d.Track(true)
	a := d.Zeros(device.Float32, 3, 7)
	err := d.Close()
	if !errors.Is(err, device.ErrLeak) || !strings.Contains(err.Error(), "memory.go") ||
		!strings.Contains(err.Error(), "84 bytes") {
		t.Errorf("Close with a live array: %v: must be ErrLeak, 84 bytes made in memory.go", err)
	}
	if err := d.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
	panics(t, "after Free", a.Free)
	panics(t, "closed", func() { d.New(device.Float32, 1) })
}

// is demands an error.
func is(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: %v: must be %v", what, err, want)
	}
}

// panics demands a panic whose message has some words.
func panics(t *testing.T, words string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		r := recover()
		if s, ok := r.(string); !ok || !strings.Contains(s, words) {
			t.Errorf("panic %v: must say %q", r, words)
		}
	}()
	f()
}
