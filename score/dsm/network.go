package dsm

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"coupling/lab/device"
	"coupling/lab/nn"
	"coupling/score"
	"coupling/score/internal/fault"

	"gonum.org/v1/gonum/mat"
)

// ErrParameter reports an argument out of range, for errors.Is; it is that of package score.
var ErrParameter = score.ErrParameter

var bad, misfit = fault.In("dsm", ErrParameter), fault.In("dsm", score.ErrShape)

// A Network is a score.Field computed by a neural network. It belongs to one goroutine at a time,
// as its device does.
type Network struct {
	Net    nn.Layer
	Device *device.Device
	Type   device.DType // the network's; 0 is Float32
	Shape  []int        // of one example, as the network takes it: [d], or [C H W]
	Sigmas []float64    // the noise levels, falling
	Batch  int          // rows at once; 0 means 1024
	// Base is a field to which the network's output is added, nil is none; at noise above the first
	// level it is the whole score.
	Base score.Field
}

// String describes the network in a line.
func (f *Network) String() string {
	return fmt.Sprintf("score network of %d parameters at %d noise levels, examples %v", nn.Count(f.Net.Params()),
		len(f.Sigmas), f.Shape)
}

// Dim returns the number of elements of an example.
func (f *Network) Dim() int {
	d := 1
	for _, s := range f.Shape {
		d *= s
	}
	return d
}

// Level returns the number of the noise level nearest to σ on the logarithmic scale; 0 gives the last.
func (f *Network) Level(sigma float64) int {
	best, off := len(f.Sigmas)-1, math.Inf(1)
	for k, s := range f.Sigmas {
		if o := math.Abs(math.Log(s / sigma)); sigma > 0 && o < off {
			best, off = k, o
		}
	}
	return best
}

// Score implements score.Field.
func (f *Network) Score(dst, x *mat.Dense, sigma float64) error {
	return f.score(dst, x, sigma, f.block)
}

// score is Score with block for the rows that go through the network at once.
func (f *Network) score(dst, x *mat.Dense, sigma float64,
	block func(x *mat.Dense, level int32) (*mat.Dense, error)) error {
	if err := score.CheckBatch(f.Dim(), dst, x, sigma); err != nil {
		return err
	}
	if len(f.Sigmas) == 0 || f.Batch < 0 {
		return bad("%d noise levels, batch %d: must be > 0 and ≥ 0", len(f.Sigmas), f.Batch)
	}
	n, d := x.Dims()
	if f.Base != nil {
		if err := f.Base.Score(dst, x, sigma); err != nil || sigma > f.Sigmas[0]*(1+1e-9) {
			return err
		}
	}
	level, batch := int32(f.Level(sigma)), f.batch(n)
	for lo := 0; lo < n; lo += batch {
		hi := min(lo+batch, n)
		s, err := block(x.Slice(lo, hi, 0, d).(*mat.Dense), level)
		if err != nil {
			return err
		}
		if out := dst.Slice(lo, hi, 0, d).(*mat.Dense); f.Base != nil {
			out.Add(out, s)
		} else {
			out.Copy(s)
		}
	}
	return nil
}

// batch is the number of rows of n that go through the network at once.
func (f *Network) batch(n int) int { return max(1, min(n, cmp.Or(f.Batch, 1024))) }

func (f *Network) block(x *mat.Dense, level int32) (*mat.Dense, error) {
	defer f.Device.Scope().Close()
	n, _ := x.Dims()
	return f.forward(f.Device.FromDense(f.Type, x), f.Device.FromInts(slices.Repeat([]int32{level}, n), n)).Mat()
}

// forward is the score at the rows of x.
func (f *Network) forward(x, class *device.Array) *device.Array {
	s := f.Device.Scope()
	defer s.Close()
	out := f.Net.Forward(&nn.Pass{ForwardOnly: true, Class: class}, x.Reshape(append([]int{x.Dim(0)}, f.Shape...)...))
	return s.Keep(out).Reshape(x.Shape()...)
}

// OnDevice returns the scores on a GPU, for score.OnDevice. It is nil on a CPU, and with a Base,
// since the sum is made on the host.
func (f *Network) OnDevice(n int) *score.DeviceField {
	if f.Device.Key() == "cpu" || len(f.Sigmas) == 0 || f.Batch < 0 || f.Base != nil {
		return nil
	}
	class, batch := f.Device.New(device.Int32, n), f.batch(n)
	return &score.DeviceField{
		Device: f.Device,
		Level: func(sigma float64) error {
			class.SetInts(slices.Repeat([]int32{int32(f.Level(sigma))}, n))
			return nil
		},
		Score: func(x *device.Array) *device.Array {
			out := x.Like()
			for lo := 0; lo < n; lo += batch {
				hi := min(lo+batch, n)
				f.convert(out.Rows(lo, hi), x.Rows(lo, hi), class.Rows(lo, hi))
			}
			return out
		},
		Close: class.Free,
	}
}

// convert is forward between points and scores of another type than the network's.
func (f *Network) convert(dst, x, class *device.Array) {
	defer f.Device.Scope().Close()
	in := f.Device.New(f.Type, x.Shape()...)
	device.Convert(in, x)
	device.Convert(dst, f.forward(in, class))
}

// recorded is a Network whose pass, for one number of rows, is recorded.
type recorded struct {
	*Network
	x, class, out *device.Array
	level         int32 // in class
	pass          device.Replay
}

// Prepare records a pass, for score.Prepare. Its memory is kept until done is called.
func (f *Network) Prepare(n int) (prepared score.Field, done func()) {
	n = f.batch(n)
	r := &recorded{Network: f, x: f.Device.New(f.Type, n, f.Dim()), class: f.Device.New(device.Int32, n), level: -1}
	return r, func() {
		r.pass.Close()
		r.x.Free()
		r.class.Free()
	}
}

// Score implements score.Field.
func (r *recorded) Score(dst, x *mat.Dense, sigma float64) error {
	return r.score(dst, x, sigma, r.block)
}

func (r *recorded) block(x *mat.Dense, level int32) (*mat.Dense, error) {
	n, _ := x.Dims()
	if n != r.x.Dim(0) { // the rows that are left
		return r.Network.block(x, level)
	}
	defer r.Device.Scope().Close()
	r.x.SetFloats(mat.DenseCopyOf(x).RawMatrix().Data)
	if level != r.level {
		r.class.SetInts(slices.Repeat([]int32{level}, n))
		r.level = level
	}
	r.pass.Do(r.Device, func() { r.out = r.forward(r.x, r.class) })
	return r.out.Mat()
}
