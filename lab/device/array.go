package device

import (
	"fmt"
	"math"
	"math/bits"
	"runtime"
	"slices"
	"unsafe"

	"gonum.org/v1/gonum/mat"

	"coupling/lab/device/internal/backend"
)

// DType is an element type.
type DType = backend.DType

// The element types. Int32 holds labels, indices and states.
const (
	Float32 = backend.Float32
	Float64 = backend.Float64
	Int32   = backend.Int32
)

// Array is a row-major array on a device. Memory is explicit: free every array that you make, or
// make it inside a Scope. Reshape and Rows are views, which end with the array that they view.
// Using an array after Free panics.
type Array struct {
	d      *Device
	t      backend.Tensor
	owner  *Array // nil for an array that owns its memory
	number uint64 // arrays of the device that were made before
	freed  bool
	made   []uintptr // the stack of New, of devices that track
}

// New returns an array of unknown contents. It panics on a negative size; without memory it returns
// an array that operations ignore, and the device keeps ErrMemory; after Recover, using that array
// panics.
func (d *Device) New(t DType, shape ...int) *Array {
	a := &Array{d: d, t: backend.Tensor{Type: t, Shape: slices.Clone(shape)}}
	for _, s := range shape {
		if s < 0 {
			panic(fmt.Sprintf("device: New: shape = %v: sizes must be at least 0", shape))
		}
	}
	if d.track {
		a.made = make([]uintptr, 16)
		a.made = a.made[:runtime.Callers(2, a.made)]
	}
	d.do("New", func() error {
		bytes, err := size(t, shape)
		if err == nil {
			a.t.Mem, err = d.b.Alloc(bytes)
		}
		return err
	})
	if a.t.Mem == nil {
		return a // the device has failed
	}
	a.number = d.made
	d.made++
	d.live[a] = struct{}{}
	d.bytes += a.bytes()
	d.peak = max(d.peak, d.bytes)
	if n := len(d.scopes); n > 0 {
		d.scopes[n-1].arrays = append(d.scopes[n-1].arrays, a)
	}
	return a
}

// size is the number of bytes of an array, or ErrMemory if it overflows an int.
func size(t DType, shape []int) (int64, error) {
	bytes := uint64(t.Size())
	for _, s := range shape {
		over, product := bits.Mul64(bytes, uint64(s))
		if bytes = product; over > 0 || bytes > math.MaxInt64 {
			if slices.Contains(shape, 0) {
				return 0, nil
			}
			return 0, fmt.Errorf("%v%v: %w", t, shape, ErrMemory)
		}
	}
	return int64(bytes), nil
}

// Zeros returns an array of zeros.
func (d *Device) Zeros(t DType, shape ...int) *Array {
	a := d.New(t, shape...)
	Fill(a, 0)
	return a
}

// From32 returns a float32 array with a copy of data, whose length must be the product of the shape.
func (d *Device) From32(data []float32, shape ...int) *Array { return from(d, Float32, data, shape) }

// From64 returns a float64 array with a copy of data.
func (d *Device) From64(data []float64, shape ...int) *Array { return from(d, Float64, data, shape) }

// FromInts returns an int32 array with a copy of data.
func (d *Device) FromInts(data []int32, shape ...int) *Array { return from(d, Int32, data, shape) }

// FromDense returns an array of the given float type with the elements of m, whatever its stride.
func (d *Device) FromDense(t DType, m *mat.Dense) *Array {
	r, c := m.Dims()
	data := make([]float64, 0, r*c)
	for i := range r {
		data = append(data, m.RawRowView(i)...)
	}
	switch t {
	case Float64:
		return d.From64(data, r, c)
	case Float32:
		return d.From32(narrow(data), r, c)
	}
	panic(fmt.Sprintf("device: FromDense: t = %v: must be a float", t))
}

func from[T float32 | float64 | int32](d *Device, t DType, data []T, shape []int) *Array {
	a := d.New(t, shape...)
	set(a, t, data)
	return a
}

// Set32 copies data to a float32 array of as many elements.
func (a *Array) Set32(data []float32) { set(a, Float32, data) }

// Set64 copies data to a float64 array of as many elements.
func (a *Array) Set64(data []float64) { set(a, Float64, data) }

// SetInts copies data to an int32 array of as many elements.
func (a *Array) SetInts(data []int32) { set(a, Int32, data) }

func set[T float32 | float64 | int32](a *Array, t DType, data []T) {
	a.use("Set")
	if a.t.Type != t || len(data) != a.Len() {
		panic(fmt.Sprintf("device: %d elements of %v do not fill %v%v", len(data), t, a.t.Type, a.t.Shape))
	}
	a.d.doOutside("upload", func() error { return a.d.b.Upload(a.t, unsafe.Pointer(unsafe.SliceData(data))) })
}

// Get32 returns the elements of a float32 array, or the device's error.
func (a *Array) Get32() ([]float32, error) { return get[float32](a, Float32) }

// Get64 returns the elements of a float64 array, or the device's error.
func (a *Array) Get64() ([]float64, error) { return get[float64](a, Float64) }

// GetInts returns the elements of an int32 array, or the device's error.
func (a *Array) GetInts() ([]int32, error) { return get[int32](a, Int32) }

func get[T float32 | float64 | int32](a *Array, t DType) ([]T, error) {
	a.use("Get")
	if a.t.Type != t {
		panic(fmt.Sprintf("device: an array of %v was read as %v", a.t.Type, t))
	}
	data := make([]T, a.Len())
	a.d.doOutside("download", func() error { return a.d.b.Download(unsafe.Pointer(unsafe.SliceData(data)), a.t) })
	return data, a.d.Err()
}

// Float64s returns the elements of a float array of either type, or the device's error.
func (a *Array) Float64s() ([]float64, error) {
	if a.t.Type == Float64 {
		return a.Get64()
	}
	x, err := a.Get32()
	return widen(x), err
}

// SetFloats copies data to a float array of either type, rounding to it.
func (a *Array) SetFloats(data []float64) {
	if a.t.Type == Float64 {
		a.Set64(data)
		return
	}
	a.Set32(narrow(data))
}

// Mat returns an array of rank 2 and of either float type as a matrix, or the device's error.
func (a *Array) Mat() (*mat.Dense, error) {
	if len(a.t.Shape) != 2 || a.Len() == 0 {
		panic(fmt.Sprintf("device: Mat: shape = %v: rank must be 2, sizes at least 1", a.t.Shape))
	}
	x, err := a.Float64s()
	if err != nil {
		return nil, err
	}
	return mat.NewDense(a.t.Shape[0], a.t.Shape[1], x), nil
}

// Free frees the memory. Freeing a nil array does nothing; freeing an array twice panics, and so
// does freeing a view.
func (a *Array) Free() {
	if a == nil {
		return
	}
	a.alive("Free")
	if a.owner != nil {
		panic("device: Free: a view cannot be freed, only the array that it views")
	}
	a.release()
}

func (a *Array) release() {
	if a.t.Mem == nil {
		a.freed = true
		return
	}
	a.d.record.leave(a)
	a.freed = true
	delete(a.d.live, a)
	a.d.bytes -= a.bytes()
	if err := a.d.b.Free(a.t.Mem); err != nil {
		a.d.fail(fmt.Errorf("device: Free: %w", err))
	}
	a.t.Mem = nil
}

// Owner returns the array whose memory this is: itself, or the one that it views.
func (a *Array) Owner() *Array {
	if a.owner != nil {
		return a.owner
	}
	return a
}

// ops is the operations on arrays of this type.
func (a *Array) ops() backend.Operations { return a.d.b.Of(a.t.Type) }

// Device returns the device that holds the array.
func (a *Array) Device() *Device { return a.d }

// Type returns the element type.
func (a *Array) Type() DType { return a.t.Type }

// Shape returns the sizes of the axes. Do not change them.
func (a *Array) Shape() []int { return a.t.Shape }

// Dim returns the size of an axis; −1 is the last.
func (a *Array) Dim(axis int) int {
	if axis < 0 {
		axis += len(a.t.Shape)
	}
	return a.t.Shape[axis]
}

// Rank returns the number of axes.
func (a *Array) Rank() int { return len(a.t.Shape) }

// Len returns the number of elements.
func (a *Array) Len() int { return a.t.Len() }

// Reshape returns a view of all elements in another shape; one size may be −1.
func (a *Array) Reshape(shape ...int) *Array {
	a.use("Reshape")
	shape = slices.Clone(shape)
	known, hole := 1, -1
	for i, s := range shape {
		if s < 0 {
			hole = i
		} else {
			known *= s
		}
	}
	if hole >= 0 && known > 0 {
		shape[hole] = a.Len() / known
		known *= shape[hole]
	}
	if known != a.Len() || slices.ContainsFunc(shape, func(s int) bool { return s < 0 }) {
		panic(fmt.Sprintf("device: Reshape: %v does not become %v", a.t.Shape, shape))
	}
	t := a.t
	t.Shape = shape
	return a.view(t)
}

// Rows returns a view of the indices lo to hi of the first axis.
func (a *Array) Rows(lo, hi int) *Array {
	a.use("Rows")
	if len(a.t.Shape) == 0 || lo < 0 || hi < lo || hi > a.t.Shape[0] {
		panic(fmt.Sprintf("device: Rows: %d to %d of shape %v", lo, hi, a.t.Shape))
	}
	return a.view(a.t.Rows(lo, hi))
}

func (a *Array) view(t backend.Tensor) *Array { return &Array{d: a.d, t: t, owner: a.Owner()} }

// Clone returns a new array with the same elements.
func (a *Array) Clone() *Array {
	a.use("Clone")
	c := a.d.New(a.t.Type, a.t.Shape...)
	Convert(c, a)
	return c
}

// Like returns a new array of the same type and shape and of unknown contents.
func (a *Array) Like() *Array { return a.d.New(a.t.Type, a.t.Shape...) }

// String describes the array, not its elements.
func (a *Array) String() string {
	return fmt.Sprintf("%v%v on %s", a.t.Type, a.t.Shape, a.d.Info().Kind)
}

func (a *Array) bytes() int64 { return int64(a.Len()) * int64(a.t.Type.Size()) }

// use panics on a freed array, and on one whose allocation failed before the device was recovered.
func (a *Array) use(op string) {
	a.alive(op)
	if a.t.Mem == nil && !slices.Contains(a.t.Shape, 0) && a.d.Err() == nil {
		panic(fmt.Sprintf("device: %s: %v%v has no memory: the device had failed when it was made", op, a.t.Type,
			a.t.Shape))
	}
}

// alive panics on an array that was freed.
func (a *Array) alive(op string) {
	if a.freed || a.owner != nil && a.owner.freed {
		where := ""
		if a.made != nil {
			where = " (made at " + caller(a.made) + ")"
		}
		panic(fmt.Sprintf("device: %s: use of %v%v after Free%s", op, a.t.Type, a.t.Shape, where))
	}
}

func narrow(x []float64) []float32 {
	y := make([]float32, len(x))
	for i, v := range x {
		y[i] = float32(v)
	}
	return y
}

func widen(x []float32) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}
