package cuda

import (
	"errors"
	"testing"

	"coupling/lab/device/internal/backend"
	"coupling/lab/must"
)

// TestFreeBeforeClose: memory that a recording uses is kept even when its owner frees it after the recording.
func TestFreeBeforeClose(t *testing.T) {
	r := newCachingRig(t, Config{})
	m := must.Get(r.g.Alloc(400))
	x := tensor{Mem: m, Type: backend.Float32, Shape: []int{100}}
	rec := must.Get(r.g.Record(r.op(func() { r.g.Fill(x, 1) })))
	r.ok(r.g.Free(m))
	y := r.new(backend.Float32, 100)
	if y.Mem.(*memory).addr == m.(*memory).addr {
		t.Error("given out while the recording writes it")
	}
	r.ok(rec.Launch())
	r.ok(rec.Close())
	if z := r.new(backend.Float32, 100); z.Mem.(*memory).addr != m.(*memory).addr {
		t.Error("not given back")
	}
}

// TestRecordedIndex: an index error is told at each replay. (Failing recordings: devicetest.)
func TestRecordedIndex(t *testing.T) {
	r := newCachingRig(t, Config{})
	table, row := r.set(backend.Float32, []float64{1, 2}, 2, 1), r.new(backend.Float32, 1, 1)
	index := r.ints([]int32{1}, 1)
	rec := must.Get(r.g.Record(r.op(func() { r.g.Gather(row, table, index) })))
	r.ok(r.g.Sync())
	r.ok(r.g.Upload(index, addressOf([]int32{2})))
	r.ok(rec.Launch())
	wants(t, r.g.Sync(), backend.ErrIndex, "Gather: index = 2 at 0")
	r.ok(r.g.Sync())
	r.ok(rec.Close())
}

// TestTwoGraphs: memory that one graph writes is not given out within the recording of another that frees it, nor
// after it, until both are closed, in whichever order.
func TestTwoGraphs(t *testing.T) {
	for _, firstCloses := range []bool{true, false} {
		r := newCachingRig(t, Config{})
		alloc := func() tensor {
			m := must.Get(r.g.Alloc(400))
			return tensor{Mem: m, Type: backend.Float32, Shape: []int{100}}
		}
		x := alloc()
		a := must.Get(r.g.Record(r.op(func() { r.g.Fill(x, 1) })))
		var y tensor
		b, err := r.g.Record(func() error {
			r.ok(r.g.Free(x.Mem))
			y = alloc()
			return r.op(func() { r.g.Fill(y, 2) })()
		})
		r.ok(err)
		r.ok(a.Launch())
		if got := r.get(y); got[0] != 2 || got[99] != 2 {
			t.Errorf("the first graph wrote %v into an array of the second", got[0])
		}
		first, second := a, b
		if !firstCloses {
			first, second = b, a
		}
		at := x.Mem.(*memory).addr
		r.ok(first.Close())
		if z := r.new(backend.Float32, 100); z.Mem.(*memory).addr == at {
			t.Error("given out while a graph holds it")
		}
		r.ok(second.Close())
		if z := r.new(backend.Float32, 100); z.Mem.(*memory).addr != at {
			t.Error("not given back when both were closed")
		}
		r.ok(r.g.Free(y.Mem))
	}
}

// TestRecordInFullMemory: what is kept for later is there for a recording, of whatever sizes it is.
func TestRecordInFullMemory(t *testing.T) {
	t.Setenv("PTXSIM_MEMORY", "10000000")
	r := newCachingRig(t, Config{})
	m := must.Get(r.g.Alloc(8 << 20))
	r.ok(r.g.Free(m))
	free, _, err := r.g.MemInfo()
	r.ok(err)
	if free < 8<<20 {
		t.Fatalf("%d bytes free", free)
	}
	rec, err := r.g.Record(func() error {
		m, err := r.g.Alloc(6 << 20)
		if err != nil {
			return err
		}
		x := tensor{Mem: m, Type: backend.Float32, Shape: []int{6 << 18}}
		return errors.Join(r.op(func() { r.g.Fill(x, 1) })(), r.g.Free(m))
	})
	r.ok(err)
	r.ok(rec.Launch())
	r.ok(rec.Close())
}

// TestRecordingsOfTwoDevices: cells of one process open a GPU each, and one may record while
// another works. What the other asks for is not in the recording, and is done.
func TestRecordingsOfTwoDevices(t *testing.T) {
	one, other := newRig(t, Config{}), newRig(t, Config{})
	x, y, z := one.set(backend.Float32, []float64{1}, 1), other.set(backend.Float32, []float64{1}, 1),
		other.set(backend.Float32, []float64{5}, 1)
	var second backend.Graph
	first, err := one.g.Record(func() error {
		one.do(func() { one.g.Fill(x, 2) })
		second = must.Get(other.g.Record(other.op(func() { other.g.Fill(y, 3) })))
		other.do(func() { other.g.Fill(z, 4) })
		return nil
	})
	one.ok(err)
	other.near("beside a recording", other.get(z), []float64{4}, 0, 0)
	one.do(func() { one.g.Fill(x, 0) })
	other.do(func() { other.g.Fill(y, 0); other.g.Fill(z, 0) })
	one.ok(first.Launch())
	one.near("of the first", one.get(x), []float64{2}, 0, 0)
	other.near("not launched", other.get(y), []float64{0}, 0, 0)
	other.near("not recorded", other.get(z), []float64{0}, 0, 0)
	other.ok(second.Launch())
	other.near("of the second", other.get(y), []float64{3}, 0, 0)
	one.ok(errors.Join(first.Close(), second.Close()))
}
