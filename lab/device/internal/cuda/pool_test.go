package cuda

import (
	"testing"

	"pgregory.net/rapid"

	"coupling/lab/device/internal/backend"
	"coupling/lab/must"
)

// TestOutOfMemory: the error says what was asked for and what there is; what is kept for later is given up first.
func TestOutOfMemory(t *testing.T) {
	t.Setenv("PTXSIM_MEMORY", "10000000")
	r := newCachingRig(t, Config{})
	held := must.Get(r.g.Alloc(6 << 20))
	_, err := r.g.Alloc(8 << 20)
	wants(t, err, backend.ErrMemory, "8388608 bytes asked for", "of 10000000 free", "cuMemAlloc",
		"CUDA_ERROR_OUT_OF_MEMORY")
	r.ok(r.g.Free(held))
	for range 4 { // each of another class: without trimming the second would not fit
		for _, size := range []int64{6 << 20, 7 << 20, 8 << 20} {
			m := must.Get(r.g.Alloc(size))
			r.ok(r.g.Free(m))
		}
	}
	x := r.set(backend.Float32, []float64{1, 2}, 2)
	r.near("after it", r.get(x), []float64{1, 2}, 0, 0)
}

// TestSameAddresses: a step that is repeated gets the same memory.
func TestSameAddresses(t *testing.T) {
	r := newCachingRig(t, Config{})
	step := func() (addrs []uint64) {
		var held []backend.Memory
		for _, size := range []int64{100, 5000, 100, 3 << 20, 513, 5000} {
			m := must.Get(r.g.Alloc(size))
			held = append(held, m)
			addrs = append(addrs, m.(*memory).addr)
		}
		for _, m := range held {
			r.ok(r.g.Free(m))
		}
		return addrs
	}
	step()
	second, third, fourth := step(), step(), step()
	for i := range third {
		if second[i] != fourth[i] { // lists turn around once a step
			t.Errorf("block %d: %x, %x, %x", i, second[i], third[i], fourth[i])
		}
	}
}

// TestClasses: a class holds what was asked for, wastes at most an eighth or 511 bytes, and is its own class.
func TestClasses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(1, 1<<40).Draw(t, "bytes")
		var p pool
		c := p.class(n)
		if c < n || c-n > max(511, n/8) || p.class(c) != c {
			t.Errorf("class(%d) = %d", n, c)
		}
	})
}

// TestPool plays allocations and frees: live blocks never overlap, and the books balance.
func TestPool(t *testing.T) {
	r := newCachingRig(t, Config{})
	rapid.Check(t, func(t *rapid.T) {
		live := map[*memory]int64{}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			if len(live) > 0 && rapid.Bool().Draw(t, "free") {
				for m := range live {
					delete(live, m)
					must.Do(r.g.Free(m))
					break
				}
				continue
			}
			n := rapid.Int64Range(0, 4<<20).Draw(t, "bytes")
			b := must.Get(r.g.Alloc(n))
			m := b.(*memory)
			for o, size := range live {
				if m.addr < o.addr+uint64(size) && o.addr < m.addr+uint64(n) {
					t.Fatalf("%x+%d overlaps %x+%d", m.addr, n, o.addr, size)
				}
			}
			live[m] = n
		}
		for m := range live {
			must.Do(r.g.Free(m))
		}
	})
	var idle int64
	for class, list := range r.g.pool.free {
		idle += class * int64(len(list))
	}
	if idle != r.g.pool.idle {
		t.Errorf("idle = %d, lists hold %d", r.g.pool.idle, idle)
	}
}
