package host

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"pgregory.net/rapid"

	"coupling/lab/device/cpu"
	"coupling/lab/device/internal/backend"
	_ "coupling/lab/draws"
	"coupling/lab/must"
)

// TestClass: classes hold what was asked for, waste at most an eighth beyond the least class, and are their own class.
func TestClass(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(0, 1<<46).Draw(t, "n")
		c := class(n)
		if c < n || c > max(4*alignment, n+n/8+1) || class(c) != c || c%(alignment/2) != 0 {
			t.Fatalf("class(%d) = %d", n, c)
		}
	})
}

func TestBlocks(t *testing.T) {
	h := open(t, cpu.Auto, 1)
	seen := map[backend.Memory]bool{}
	for _, n := range []int64{0, 1, 63, 1000, 1001, 1 << 20} {
		m, err := h.Alloc(n)
		must.Do(err)
		if b := m.(*block); uintptr(b.at)%alignment != 0 || b.size < n {
			t.Errorf("Alloc(%d) = %+v: must be aligned and large enough", n, b)
		}
		if seen[m] {
			t.Errorf("Alloc(%d) returned a block that is in use", n)
		}
		seen[m] = true
	}
	for m := range seen {
		must.Do(h.Free(m))
	}
	again, err := h.Alloc(1 << 20)
	must.Do(err)
	if !seen[again] {
		t.Error("a freed block was not used again")
	}
	must.Do(h.Free(again))
	if h.trim(); h.spare != 0 || len(h.kept) != 0 {
		t.Errorf("trim keeps %d bytes", h.spare)
	}
}

// TestKeptIsBounded: a device whose arrays change size all the time does not pile up what it once needed.
func TestKeptIsBounded(t *testing.T) {
	var h heap
	for n := int64(1 << 20); n < 64<<20; n += 1 << 20 {
		m, err := h.Alloc(n)
		must.Do(err)
		must.Do(h.Free(m))
	}
	if h.used != 0 || h.spare > 2*h.peak+slack {
		t.Errorf("%d bytes in use and %d kept of a peak of %d", h.used, h.spare, h.peak)
	}
}

func TestOutOfMemory(t *testing.T) {
	h := open(t, cpu.Auto, 1)
	free, total, err := h.MemInfo()
	if errors.Is(err, errUnknown) {
		t.Skip(err)
	}
	must.Do(err)
	if free <= 0 || total < free {
		t.Fatalf("MemInfo: %d free of %d", free, total)
	}
	for _, n := range []int64{-1, total + 1, 1 << 47, 1 << 62} {
		if _, err := h.Alloc(n); !errors.Is(err, backend.ErrMemory) {
			t.Errorf("Alloc(%d): %v: must be ErrMemory", n, err)
		}
	}
	m, err := h.Alloc(1 << 20) // life goes on
	must.Do(err)
	must.Do(h.Free(m))
	if after, _, err := h.MemInfo(); err != nil || after < 1<<20 {
		t.Errorf("MemInfo: %d free, %v: kept memory counts as free", after, err)
	}
}

func TestMachine(t *testing.T) {
	if runtime.GOOS == "linux" {
		if name := modelName(); name == "" {
			t.Error("the processor has no name")
		}
	}
	root := t.TempDir()
	write := func(name, text string) {
		must.Do(os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755))
		must.Do(os.WriteFile(filepath.Join(root, name), []byte(text), 0o644))
	}
	write("a/memory.max", "1000\n")
	write("a/memory.current", "700\n")
	write("a/memory.stat", "anon 1\ninactive_file 200\n")
	write("a/b/memory.max", "max\n")
	write("memory/c/memory.limit_in_bytes", "500")
	write("memory/c/memory.usage_in_bytes", "100")
	for _, c := range []struct {
		own  string
		want map[int64]int64 // used, by limit
	}{
		{"0::/a/b\n", map[int64]int64{1000: 500}},
		{"4:cpu:/x\n3:memory:/c\n", map[int64]int64{500: 100}},
		{"", map[int64]int64{}},
	} {
		got := map[int64]int64{}
		for _, g := range groups(root, c.own) {
			if limit, used := g.bytes(); limit >= 0 {
				got[limit] = used
			}
		}
		if len(got) != len(c.want) {
			t.Errorf("%q: limits %v, want %v", c.own, got, c.want)
		}
		for limit, used := range c.want {
			if got[limit] != used {
				t.Errorf("%q: limits %v, want %v", c.own, got, c.want)
			}
		}
	}
}

func FuzzMeminfo(f *testing.F) {
	f.Add("MemTotal:       24000000 kB\nMemAvailable:   100 kB\n")
	f.Add("MemTotal:\nMemTotal: -5 kB")
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		if n := meminfo(text, "MemTotal"); n < -1 {
			t.Errorf("meminfo(%q) = %d", text, n)
		}
	})
}
