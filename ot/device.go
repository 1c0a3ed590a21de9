package ot

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"gonum.org/v1/gonum/mat"

	"coupling/lab/device"
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

	dev     *device.Device
	of      Geometry
	invalid error

	once sync.Once
	host Geometry // with the costs as the device holds them

	mu     sync.Mutex
	closed bool
	at     *deviceArrays // nil before the first use, and after a failure
	extent float64       // a bound on |c|
}

// ErrClosed marks the use of an OnDevice after Close.
var ErrClosed = errors.New("the geometry is closed")

// PointsOn is Points on a device. |x−y|², L1 and SqEuclideanL1 are never held: memory is that of
// the points and of vectors of n and m. Other costs are computed on the host once, and held on
// both.
func PointsOn(dev *device.Device, x, y *mat.Dense, c PointCost) *OnDevice {
	p := MatrixFree(x, y, c)
	return newOnDevice(dev, p, p.Validate())
}

// DenseOn is Dense on a device, with the costs held there in Type.
func DenseOn(dev *device.Device, cost mat.Matrix) *OnDevice {
	c := Dense(cost)
	return newOnDevice(dev, c, c.Validate())
}

func newOnDevice(dev *device.Device, g Geometry, invalid error) *OnDevice {
	if invalid == nil && dev == nil {
		invalid = bad(ErrParameter, "PointsOn, DenseOn: dev is nil")
	}
	return &OnDevice{dev: dev, of: g, invalid: invalid}
}

// Validate reports a geometry that cannot be used.
func (o *OnDevice) Validate() error {
	if o == nil {
		return bad(ErrShape, "geometry is a nil *OnDevice")
	}
	if o.invalid != nil {
		return o.invalid
	}
	if o.Type != device.Float32 && o.Type != device.Float64 {
		return bad(ErrParameter, "OnDevice.Type = %v: must be float32 or float64", o.Type)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return fmt.Errorf("ot: OnDevice: %w", ErrClosed)
	}
	return nil
}

// Dims returns the number of sources and of targets.
func (o *OnDevice) Dims() (n, m int) { return o.of.Dims() }

// Row fills buf with the costs of source i, computed on the host and rounded as the device holds
// them.
func (o *OnDevice) Row(i int, buf []float64) []float64 { return o.onHost().Row(i, buf) }

// onHost is the geometry with the costs as the device holds them.
func (o *OnDevice) onHost() Geometry {
	o.once.Do(func() {
		o.host = o.of
		switch {
		case o.matrixFree():
		case o.Type == device.Float32:
			o.host = Dense(rounded(Cost(o.of)))
		case o.Cloud() != nil:
			o.host = Dense(Cost(o.of))
		}
	})
	return o.host
}

// rounded rounds the elements of c to float32.
func rounded(c *mat.Dense) *mat.Dense {
	data := c.RawMatrix().Data
	for k, v := range data {
		data[k] = float64(float32(v))
	}
	return c
}

// Cloud returns the points, nil where there are none.
func (o *OnDevice) Cloud() *PointCloud {
	p, _ := o.of.(*PointCloud)
	return p
}

// matrixFree reports whether the device makes costs from points.
func (o *OnDevice) matrixFree() bool {
	p := o.Cloud()
	if p == nil {
		return false
	}
	_, ok := p.Vector()
	return ok
}

// Finite is true: a device knows no forbidden pairs.
func (o *OnDevice) Finite() bool { return true }

// Frugal reports whether the device makes costs from points.
func (o *OnDevice) Frugal() bool { return o.matrixFree() }

// Close frees the arrays. Closing twice does no harm; solves afterwards fail with ErrClosed. A plan keeps working, on
// the host.
func (o *OnDevice) Close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	if o.at != nil {
		o.dev.Lock()
		defer o.dev.Unlock()
		o.free()
	}
}

// free frees the arrays, unless closing the device has freed them already.
func (o *OnDevice) free() {
	if o.at == nil {
		return
	}
	arrays := o.at.arrays
	o.at = nil
	defer func() { _ = deviceFault(recover()) }()
	for _, a := range arrays {
		a.Free()
	}
}

// use calls f with the geometry's arrays, in a scope of its own. It returns the device's error, if
// any, with the name of the call. After an error the geometry's arrays are freed and the device's
// error is cleared, so that the next call starts afresh.
func (o *OnDevice) use(call string, f func(r *deviceArrays) error) (err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return fmt.Errorf("ot: %s: %w", call, ErrClosed)
	}
	o.dev.Lock()
	defer o.dev.Unlock()
	defer func() {
		if fault := deviceFault(recover()); fault != nil {
			err = fault
		}
		if err != nil {
			o.free()
			err = fmt.Errorf("ot: %s on %s: %w", call, o.dev, err)
		}
	}()
	if err := o.dev.Err(); err != nil {
		return fmt.Errorf("the device had failed before: %w", err)
	}
	if o.at == nil {
		o.at = o.makeArrays()
		if o.dev.Err() != nil {
			return o.dev.Recover()
		}
	}
	scope := o.dev.Scope()
	defer scope.Close()
	o.at.scope = scope
	err = f(o.at)
	if o.dev.Err() != nil {
		return o.dev.Recover()
	}
	return err
}

// deviceFault turns the panic of a closed device, or of arrays freed with a user's scope, into an
// error. It passes other panics on.
func deviceFault(r any) error {
	if r == nil {
		return nil
	}
	if msg, ok := r.(string); ok && strings.HasPrefix(msg, "device: ") {
		return errors.New(msg)
	}
	panic(r)
}
