package ot

import (
	"gonum.org/v1/gonum/mat"

	"coupling/lab/device"
	"coupling/ot/cost"
	"coupling/ot/internal/geometry"
	"coupling/ot/internal/ondevice"
)

// OnDevice is a geometry whose passes run on a device; PointsOn and DenseOn make it. Every solver
// and every gradient works with it unchanged. Only vectors of n and m move between the device and
// the host, a few for each pass.
//
// What is rounded. Points are on the device in both types, so none of their digits is lost. Costs
// that are held (DenseOn, and PointsOn for costs without a kernel) are rounded once to Type; the
// problem solved is that of the rounded costs, which Row returns.
//
// What is exact. Float32 passes converge first, until the L1 error reaches the rounding of float32.
// Then float64 passes on the device take over, and float32 computes only differences from the last
// float64 pass, whose error is smaller in proportion to how far the potentials have moved since.
// Every plan has the marginal error of a float64 pass over all the costs, and every Tol that the
// host reaches is reached. Products, values and gradients of a plan are float64 on the device, with
// an error of |c|/ε units in the last place. The host computes, from rows, what the device has no
// kernel for: lists of the entries of T for Newton steps, VJP, and the last digits where
// Tol is at the rounding of |c|/ε.
//
// What moves. On a GPU the steps of Sinkhorn, and those with which LBFGS begins, leave the potentials
// there: the host reads the error after 1, 2, 4, … steps, to 32 of small problems, and Trace is called
// then. Other passes belong to solvers that are the same for every geometry, and whose potentials live on
// the host. Such a pass over the n·m pairs copies h to the device and the soft maxima of the rows back,
// then u to the device and those of the columns back: 8(n+m) bytes in float32, 16(n+m) in float64
// and 12(n+m) for differences from a float64 pass, with two waits. With n = m = 32768 that is half
// a megabyte for 2·10⁹ exponentials. Points and costs move once.
//
// The arrays are made at the first use and live until Close. If the device fails, Solve returns its
// error; methods of a plan, which return no error, do their work on the host.
//
// An OnDevice may be used by several goroutines, and so may several on one device: each locks the
// device for one pass at a time. Other users of the device must lock it too (device.Device.Lock).
// If a Scope of the device is open at the first use, the arrays are freed with it, and the next use
// fails.
type OnDevice struct {
	// Type is the element type of the passes that converge first, and of costs that are held: device.Float32, the zero
	// value, or device.Float64. It is set before the first use.
	Type device.DType

	engine
}

type engine = ondevice.Held

// PointsOn is Points on a device. |x−y|², L1 and cost.SqEuclideanL1 are never held: memory is that of
// the points and of vectors of n and m. Other costs are computed on the host once, and held on
// both.
func PointsOn(dev *device.Device, x, y *mat.Dense, c cost.PointCost) *OnDevice {
	p := geometry.MatrixFree(x, y, c)
	return newOnDevice(dev, p, p.Validate())
}

// DenseOn is Dense on a device, with the costs held there in Type.
func DenseOn(dev *device.Device, cost mat.Matrix) *OnDevice {
	c := Dense(cost)
	return newOnDevice(dev, c, c.Validate())
}

func newOnDevice(dev *device.Device, g cost.Geometry, invalid error) *OnDevice {
	if invalid == nil && dev == nil {
		invalid = bad(ErrParameter, "PointsOn, DenseOn: dev is nil")
	}
	o := &OnDevice{}
	o.engine = ondevice.Hold(ondevice.New(dev, g, &o.Type, invalid))
	return o
}

// Validate reports a geometry that cannot be used.
func (o *OnDevice) Validate() error {
	if o == nil {
		return bad(ErrShape, "geometry is a nil *OnDevice")
	}
	return o.Engine().Validate()
}

// Dims returns the number of sources and of targets.
func (o *OnDevice) Dims() (n, m int) { return o.Engine().Dims() }

// Row fills buf with the costs of source i, computed on the host and rounded as the device holds
// them.
func (o *OnDevice) Row(i int, buf []float64) []float64 { return o.Engine().Row(i, buf) }

// Close frees the arrays. Closing twice does no harm; solves afterwards fail with ErrUnsupported. A
// plan keeps working, on the host.
func (o *OnDevice) Close() { o.Engine().Close() }
