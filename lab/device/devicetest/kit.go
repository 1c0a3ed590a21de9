package devicetest

import (
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"testing"

	"coupling/lab/device"
	"coupling/lab/device/devicetest/internal/ref"
)

// scenario is calls of operations with data of its own, the same each time it is played.
type scenario struct {
	name string
	play func(k *kit)
}

// floats are the types that every scenario is played in.
var floats = [...]device.DType{device.Float32, device.Float64}

// reporter is the common part of testing and rapid.
type reporter interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// kit is the device, the random numbers and the results of a scenario.
type kit struct {
	reporter
	dev   *device.Device
	dtype device.DType
	rng   *rand.Rand
	judge bool // compare with references; else only note what came out
	tiny  bool // denormal results must be right too
	fence []fence
	out   []output
	spoil func(got []float64) // changes what the device gave: a test of these tests
}

// output is one array that a scenario made.
type output struct {
	what string
	got  []float64
}

// play runs a scenario in a scope of its own and returns what it made.
func play(t testing.TB, d *device.Device, s scenario, dtype device.DType, judge bool) []output {
	t.Helper()
	h := fnv.New64a()
	h.Write([]byte(s.name))
	k := &kit{reporter: t, dev: d, dtype: dtype, judge: judge, rng: rand.New(rand.NewPCG(h.Sum64(), uint64(dtype)))}
	k.in(s.play)
	return k.out
}

// in calls f in a scope of its own, and looks for what it broke.
func (k *kit) in(f func(*kit)) {
	k.Helper()
	defer k.dev.Scope().Close()
	f(k)
	k.fencesHold()
	k.fence = nil
	if err := k.dev.Recover(); err != nil {
		k.Errorf("the device failed: %v", err)
	}
}

// unit is the unit roundoff of the element type.
func (k *kit) unit() float64 { return k.pick(0x1p-24, 0x1p-53) }

// normal is the smallest normal number of the element type, least its smallest number.
func (k *kit) normal() float64 { return k.pick(0x1p-126, 0x1p-1022) }
func (k *kit) least() float64  { return k.pick(0x1p-149, 0x1p-1074) }
func (k *kit) most() float64   { return k.pick(math.MaxFloat32, math.MaxFloat64) }

func (k *kit) pick(of32, of64 float64) float64 {
	if k.dtype == device.Float32 {
		return of32
	}
	return of64
}

// round rounds to the element type.
func (k *kit) round(v float64) float64 { return k.pick(float64(float32(v)), v) }

func (k *kit) rounded(x []float64) []float64 {
	for i, v := range x {
		x[i] = k.round(v)
	}
	return x
}

// normals is n rounded Gaussian numbers.
func (k *kit) normals(n int, sigma float64) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = k.round(sigma * k.rng.NormFloat64())
	}
	return x
}

// uniforms is n rounded numbers between lo and hi.
func (k *kit) uniforms(n int, lo, hi float64) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = k.round(lo + (hi-lo)*k.rng.Float64())
	}
	return x
}

// scaled is a factor as an operation sees it: parameters are float64, rounded to the element type.
func (k *kit) scaled(lo, hi float64) float64 { return k.round(lo + (hi-lo)*k.rng.Float64()) }

// awkward are sizes that no block, vector or warp divides, and those around them.
var awkward = [...]int{0, 1, 2, 3, 5, 7, 8, 16, 17, 31, 32, 33, 61, 64, 67, 127, 128, 129, 251, 257, 1021, 1025, 4099}

// size is an awkward size between lo and hi.
func (k *kit) size(lo, hi int) int {
	for {
		if s := awkward[k.rng.IntN(len(awkward))]; lo <= s && s <= hi {
			return s
		}
	}
}

// shape is a random shape of at most the given number of elements; one in ten has an empty axis.
func (k *kit) shape(rank, most int) []int {
	s := make([]int, rank)
	side := int(4 * math.Pow(float64(most), 1/float64(rank)))
	for _, axis := range k.rng.Perm(rank) {
		s[axis] = k.size(1, min(most, side))
		most /= s[axis]
	}
	if rank > 0 && k.rng.IntN(10) == 0 {
		s[k.rng.IntN(rank)] = 0
	}
	return s
}

// fence is the memory around a view.
type fence struct {
	around    *device.Array
	lead, len int
}

// sentinel fills borders of views and unwritten destinations; no scenario produces it.
const sentinel = -12345.5

// dst returns an array filled with the sentinel: of its own, or a view at an odd offset.
func (k *kit) dst(shape ...int) *device.Array { return k.place(k.dtype, shape) }

func (k *kit) place(t device.DType, shape []int) *device.Array {
	n := ref.Len(shape)
	if k.rng.IntN(2) == 0 {
		a := k.dev.New(t, shape...)
		device.Fill(a, math.Trunc(sentinel))
		return a
	}
	f := fence{lead: 1 + 2*k.rng.IntN(4), len: n}
	f.around = k.dev.New(t, f.lead+n+1+k.rng.IntN(5))
	device.Fill(f.around, math.Trunc(sentinel))
	k.fence = append(k.fence, f)
	return f.around.Rows(f.lead, f.lead+n).Reshape(shape...)
}

// put is an array of the given numbers, which must be rounded.
func (k *kit) put(x []float64, shape ...int) *device.Array {
	a := k.place(k.dtype, shape)
	a.SetFloats(x)
	return a
}

// ints is an array of whole numbers.
func (k *kit) ints(x []int32, shape ...int) *device.Array {
	a := k.place(device.Int32, shape)
	a.SetInts(x)
	return a
}

// fencesHold looks for writes beyond a view.
func (k *kit) fencesHold() {
	k.Helper()
	for _, f := range k.fence {
		all, err := values(f.around)
		if err != nil {
			return
		}
		for i, v := range all {
			if (i < f.lead || i >= f.lead+f.len) && v != math.Trunc(sentinel) {
				k.Errorf("element %d of a view of %d was written: %v", i-f.lead, f.len, v)
			}
		}
	}
}

// values is the elements of an array of any type.
func values(a *device.Array) ([]float64, error) {
	if a.Type() != device.Int32 {
		return a.Float64s()
	}
	w, err := a.GetInts()
	x := make([]float64, len(w))
	for i, v := range w {
		x[i] = float64(v)
	}
	return x, err
}

// near compares with a reference. The result passes when it differs by at most c roundings of the size of its terms,
// c·u·scale, or is the correctly rounded reference, infinities and NaN included. Below the smallest normal number
// devices may give 0 instead (tiny forbids that). What c is made of: one for each rounding on the way, 2 for an
// elementary function, twice that for safety; for a sum of n terms, see sums.
func (k *kit) near(what string, a *device.Array, c float64, reference func() ref.Result) {
	k.Helper()
	floor := math.Sqrt2 * k.normal()
	if k.tiny {
		floor = k.least()
	}
	k.compare(what, a, func() (want, tol []float64) {
		r := reference()
		tol = make([]float64, len(r.Scale))
		for i, scale := range r.Scale {
			if tol[i] = c*k.unit()*scale + floor; math.IsNaN(r.Value[i]) || math.IsInf(r.Value[i], 0) {
				tol[i] = floor
			}
		}
		return r.Value, tol
	})
}

// compare judges what the device made by a reference and its tolerances, and keeps it.
func (k *kit) compare(what string, a *device.Array, reference func() (want, tol []float64)) {
	k.Helper()
	got, ok := k.take(what, a)
	k.out = append(k.out, output{what, got})
	if !ok || !k.judge {
		return
	}
	want, tol := reference()
	if len(want) != len(got) {
		k.Fatalf("%s: %d elements, the reference has %d", what, len(got), len(want))
	}
	var bad mismatches
	for i, v := range got {
		if !close(a.Type(), v, want[i], tol[i]) {
			bad.add(i, v, want[i], tol[i])
		}
	}
	bad.report(k, what, a)
}

// close is whether v is within tol of want, or is want rounded to a type.
func close(t device.DType, v, want, tol float64) bool {
	rounded := want
	if t == device.Float32 {
		rounded = float64(float32(want))
	}
	return math.IsNaN(want) && math.IsNaN(v) || v == rounded ||
		tol > 0 && !math.IsInf(want, 0) && math.Abs(v-want) <= tol
}

// sums is the roundings of a sum of n terms beyond those of the terms: √n with three standard deviations, where the
// roundings are as random as the data (Higham and Mary 2019), and two for the end.
func sums(n int) float64 { return 2 + 3*math.Sqrt(float64(n)) }

// accurateSums is the promise of Reduce: an error that does not grow with n, or as in pairwise summation.
func accurateSums(n int) float64 { return 4 + math.Log2(float64(n+2)) }

// nearTo is near for a reference that is there already.
func (k *kit) nearTo(what string, a *device.Array, c float64, r ref.Result) {
	k.Helper()
	k.near(what, a, c, func() ref.Result { return r })
}

// exact demands the very numbers of the reference, after rounding to the element type.
func (k *kit) exact(what string, a *device.Array, want []float64) {
	k.Helper()
	k.exactBy(what, a, func() []float64 { return want })
}

// exactBy is exact for a reference that is computed where it is compared with.
func (k *kit) exactBy(what string, a *device.Array, reference func() []float64) {
	k.Helper()
	k.compare(what, a, func() (want, tol []float64) { want = reference(); return want, make([]float64, len(want)) })
}

func (k *kit) take(what string, a *device.Array) ([]float64, bool) {
	k.Helper()
	got, err := values(a)
	if err != nil {
		k.Errorf("%s: %v", what, err)
	}
	if k.spoil != nil {
		k.spoil(got)
	}
	return got, err == nil
}

// mismatches collects the first few.
type mismatches struct {
	count int
	first []string
	worst float64
}

func (m *mismatches) add(i int, got, want, tol float64) {
	m.count++
	m.worst = max(m.worst, math.Abs(got-want)/tol)
	if len(m.first) < 4 {
		m.first = append(m.first, fmt.Sprintf("[%d] = %v: must be %v within %.2g", i, got, want, tol))
	}
}

func (m *mismatches) report(k *kit, what string, a *device.Array) {
	k.Helper()
	if m.count > 0 {
		k.Errorf("%s: %d of %d elements of %v are wrong, by up to %.3g tolerances: %s",
			what, m.count, a.Len(), a, m.worst, m.first)
	}
}
