package devicetest

import (
	"errors"
	"fmt"
	"regexp"
	"testing"

	"coupling/lab/device"
)

// failures are those of correct programs: kept until they are asked for.
func failures(t *testing.T, open func(testing.TB) *device.Device) {
	d := open(t)
	defer closed(t, d)
	t.Run("Index", func(t *testing.T) { badIndices(t, d) })
	t.Run("First error", func(t *testing.T) { firstError(t, d) })
	t.Run("Close", func(t *testing.T) { closing(t, open(t)) })
	t.Run("Mixed", func(t *testing.T) { mixed(t, d, open(t)) })
}

// badIndices are found wherever they are, and nothing is read or written outside.
func badIndices(t *testing.T, d *device.Device) {
	for _, bad := range []int32{-1, 5, 1 << 30, -1 << 31} {
		for _, at := range []int{0, 3, 36} {
			index := make([]int32, 37)
			index[at] = bad
			for name, call := range map[string]func(s *device.Scope, i *device.Array){
				"Gather": func(_ *device.Scope, i *device.Array) {
					device.Gather(d.New(device.Float32, 37, 3), d.Zeros(device.Float32, 5, 3), i)
				},
				"Gather ": func(_ *device.Scope, i *device.Array) { // runs of 16 bytes
					device.Gather(d.New(device.Float32, 37, 4), d.Zeros(device.Float32, 5, 4), i)
				},
				"Scatter": func(_ *device.Scope, i *device.Array) {
					device.Scatter(d.Zeros(device.Float32, 5, 3), d.Zeros(device.Float32, 37, 3), i)
				},
				"CrossEntropy": func(_ *device.Scope, i *device.Array) {
					device.CrossEntropy(d.New(device.Float32, 37), d.New(device.Float32, 37, 5),
						d.Zeros(device.Float32, 37, 5), i)
				},
			} {
				s := d.Scope()
				call(s, d.FromInts(index, 37))
				place := regexp.MustCompile(fmt.Sprintf(`%d at %d\b|\[%[2]d\] = %[1]d\b`, bad, at))
				if err := d.Sync(); !errors.Is(err, device.ErrIndex) || !place.MatchString(err.Error()) {
					t.Errorf("%s with index %d at %d: %v: must be ErrIndex and say so", name, bad, at, err)
				}
				if err := errors.Join(d.Recover(), d.Sync()); !errors.Is(err, device.ErrIndex) || d.Err() != nil {
					t.Errorf("%s: after Recover: %v", name, err)
				}
				s.Close()
			}
		}
	}
}

// firstError: the first is kept, what follows is not done, and every call that returns data reports it.
func firstError(t *testing.T, d *device.Device) {
	defer d.Scope().Close()
	a, table := d.From32([]float32{1, 2, 3}, 3), d.Zeros(device.Float32, 2, 3)
	device.Gather(a.Reshape(1, 3), table, d.FromInts([]int32{9}, 1))
	first := d.Sync()
	d.New(device.Float64, 1<<44)
	device.Fill(a, 7)
	a.Set32([]float32{4, 5, 6})
	if err := d.Err(); !errors.Is(err, first) || !errors.Is(err, device.ErrIndex) || errors.Is(err, device.ErrMemory) {
		t.Errorf("the error changed from %v to %v", first, err)
	}
	_, err32 := a.Get32()
	_, errMat := table.Mat()
	_, errFloats := a.Float64s()
	_, _, errState := d.Stream(1).State()
	for _, err := range []error{err32, errMat, errFloats, errState, d.Sync(), d.Err()} {
		is(t, "afterwards", err, first)
	}
	if g := d.Record(func() { device.Fill(a, 8) }); g != nil {
		t.Error("a device that has failed must record nothing")
	}
	is(t, "Recover", d.Recover(), first)
	a.Set32([]float32{4, 5, 6})
	device.Scale(a, 2, a)
	if x, err := a.Get32(); err != nil || x[0] != 8 || x[2] != 12 {
		t.Errorf("after Recover: %v, %v", x, err)
	}
}

// closing returns the error that nobody asked for; the device is gone then.
func closing(t *testing.T, d *device.Device) {
	a, b := d.Zeros(device.Float32, 3, 1), d.Zeros(device.Float32, 2, 1)
	i := d.FromInts([]int32{0, 1, 2}, 3)
	device.Gather(a, b, i)
	a.Free()
	b.Free()
	i.Free()
	if err := d.Close(); !errors.Is(err, device.ErrIndex) || errors.Is(err, device.ErrLeak) {
		t.Errorf("Close: %v: must be ErrIndex", err)
	}
	panics(t, "closed", func() { d.New(device.Float32, 3) })
	panics(t, "closed", func() { _ = d.Sync() })
}

// mixed: arrays of two devices do not meet.
func mixed(t *testing.T, d, e *device.Device) {
	a, b := d.Zeros(device.Float32, 3), e.Zeros(device.Float32, 3)
	panics(t, "different devices", func() { device.Add(a, a, b) })
	a.Free()
	b.Free()
	closed(t, e)
}
