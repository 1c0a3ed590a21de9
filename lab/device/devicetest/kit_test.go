package devicetest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"coupling/lab/device"
	"coupling/lab/device/devicetest/internal/ref"
	"coupling/lab/must"
)

// record keeps failures instead of reporting them.
type record struct{ failures []string }

func (r *record) Helper() {}
func (r *record) Errorf(format string, args ...any) {
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}
func (r *record) Fatalf(format string, args ...any) { r.Errorf(format, args...) }

// rig is a kit on the CPU whose failures are kept.
func rig(t *testing.T, dtype device.DType) (*kit, *record) {
	t.Helper()
	d := must.Get(device.CPU{}.Open())
	t.Cleanup(func() { closed(t, d) })
	r := &record{}
	return &kit{reporter: r, dev: d, dtype: dtype, judge: true, rng: rand.New(rand.NewPCG(1, 2))}, r
}

// Every result of every scenario is compared: one that is off by a hundredth, or finite where it must not be, is found.
func TestSpoiltResultsAreFound(t *testing.T) {
	for _, s := range scenarios() {
		t.Run(s.name, func(t *testing.T) {
			if testing.Short() && strings.HasPrefix(s.name, "Large") {
				t.Skip("the same comparisons at length")
			}
			k, r := rig(t, device.Float32)
			k.spoil = func(got []float64) {
				for i, v := range got {
					if got[i] = v + 0.01*(1+math.Abs(v)); math.IsInf(v, 0) || math.IsNaN(v) {
						got[i] = 0
					}
				}
			}
			k.in(s.play)
			compared := 0
			for _, o := range k.out {
				if len(o.got) == 0 {
					continue
				}
				compared++
				if strings.Contains(o.what, "inv = 1e+06") {
					continue // float32 leaves nothing of e^(u − c·inv) there; that it stays finite is looked at
				}
				if !found(r.failures, o.what) {
					t.Errorf("%s is not compared", o.what)
				}
			}
			if compared == 0 && s.name != largerThanGrids {
				t.Error("nothing is compared")
			}
		})
	}
}

func found(failures []string, what string) bool {
	for _, f := range failures {
		if strings.HasPrefix(f, what) {
			return true
		}
	}
	return false
}

func TestNear(t *testing.T) {
	k, r := rig(t, device.Float32)
	inf, nan := math.Inf(1), math.NaN()
	for _, c := range []struct {
		got, want, scale float64
		ok               bool
	}{
		{1, 1 + 0x1p-23, 1, true},
		{1, 1 + 0x1p-20, 1, false},
		{1, 1 + 0x1p-20, 100, true},
		{inf, 1e39, 1e39, true}, // what float32 makes of it
		{inf, 1, 1e30, false},
		{-inf, inf, 0, false},
		{nan, 1, 1e30, false},
		{1, nan, 0, false},
		{nan, nan, 0, true},
		{0, 1e-39, 1e-39, true}, // denormal
		{0, 1e-37, 1e-37, false},
	} {
		r.failures = nil
		k.in(func(k *kit) {
			k.near("x", k.put([]float64{c.got}, 1), 4, func() ref.Result {
				return ref.Result{Value: []float64{c.want}, Scale: []float64{c.scale}}
			})
		})
		if ok := len(r.failures) == 0; ok != c.ok {
			t.Errorf("%v for %v of scale %v: accepted %v: %v", c.got, c.want, c.scale, ok, r.failures)
		}
	}
}

func TestFences(t *testing.T) {
	k, r := rig(t, device.Float64)
	k.in(func(k *kit) {
		for len(k.fence) == 0 {
			k.dst(7)
		}
		f := k.fence[0]
		device.Fill(f.around.Rows(f.lead-1, f.lead+1), 3)
	})
	if len(r.failures) != 1 || !strings.Contains(r.failures[0], "element -1 of a view of 7") {
		t.Errorf("a write before a view: %v", r.failures)
	}
}

func TestDiffer(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		x, y []float64
		want int
	}{
		{[]float64{1, nan}, []float64{1, nan}, -1},
		{[]float64{1, 2}, []float64{1, math.Nextafter(2, 3)}, 1},
		{[]float64{0}, []float64{math.Copysign(0, -1)}, 0},
		{[]float64{0, 1}, []float64{0}, 1},
	} {
		if got := differ(c.x, c.y); got != c.want {
			t.Errorf("%v and %v differ at %d: must be %d", c.x, c.y, got, c.want)
		}
	}
}
