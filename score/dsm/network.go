package dsm

import (
	"fmt"
	"math"

	"coupling/lab/device"
	"coupling/lab/nn"
	"coupling/score"

	"gonum.org/v1/gonum/mat"
)

// ErrParameter reports an argument out of range, for errors.Is; it is that of package score.
var ErrParameter = score.ErrParameter

// A Network is a score.Field computed by a neural network. It belongs to one goroutine at a time,
// as its device does.
type Network struct {
	Net    nn.Layer
	Device *device.Device
	Type   device.DType // the network's; 0 is Float32
	Shape  []int        // of one example, as the network takes it: [d], or [C H W]
	Sigmas []float64    // the noise levels, falling
	Batch  int          // rows at once; 0 means 1024
}

// Dim is the number of elements of an example.
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
	n, d := x.Dims()
	if d != f.Dim() {
		return fmt.Errorf("dsm: x is %d×%d, the network takes %d: %w", n, d, f.Dim(), score.ErrShape)
	}
	if a, b := dst.Dims(); a != n || b != d {
		return fmt.Errorf("dsm: dst is %d×%d, x is %d×%d: %w", a, b, n, d, score.ErrShape)
	}
	if !(sigma >= 0) || math.IsInf(sigma, 1) || len(f.Sigmas) == 0 || f.Batch < 0 {
		return fmt.Errorf("dsm: sigma = %g of %d levels, batch %d: must be finite and ≥ 0: %w", sigma, len(f.Sigmas), f.Batch, ErrParameter)
	}
	level, batch := int32(f.Level(sigma)), f.Batch
	if batch == 0 {
		batch = 1024
	}
	for lo := 0; lo < n; lo += batch {
		hi := min(lo+batch, n)
		if err := f.block(dst.Slice(lo, hi, 0, d).(*mat.Dense), x.Slice(lo, hi, 0, d).(*mat.Dense), level); err != nil {
			return err
		}
	}
	return nil
}

func (f *Network) block(dst, x *mat.Dense, level int32) error {
	defer f.Device.Scope().Close()
	n, d := x.Dims()
	levels := make([]int32, n)
	for i := range levels {
		levels[i] = level
	}
	in := f.Device.FromDense(f.Type, x).Reshape(append([]int{n}, f.Shape...)...)
	out := f.Net.Forward(&nn.Pass{ForwardOnly: true, Class: f.Device.FromInts(levels, n)}, in)
	s, err := out.Reshape(n, d).Mat()
	if err != nil {
		return err
	}
	dst.Copy(s)
	return nil
}
