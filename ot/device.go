package ot

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"gonum.org/v1/gonum/mat"

	"coupling/lab/device"
)

// OnDevice is a geometry whose passes run on a device: PointsOn and DenseOn make it. Every solver and every gradient
// works with it unchanged; what moves between the device and the host is vectors of n and m, a few for each pass.
//
// What is rounded. Points are on the device in both types, and no digit of them is lost. Costs that are held (DenseOn,
// and PointsOn for costs that the kernels do not know) are rounded to Type, once; the problem that is
// solved is the one of the rounded costs, and Row returns those.
//
// What is not. Float32 passes converge first and give way to float64 passes on the device where the L1 error comes
// down to what float32 can see, and from then on float32 computes differences from the last float64 pass only, whose
// error is as much smaller as the potentials have moved less. No plan is returned but with the marginal error of a
// float64 pass over all the costs, and any Tol that the host reaches is reached. Products, values and gradients of a
// plan are float64 on the device, with an error of |c|/ε units in the last place. What has no form there (lists of the
// entries of T for Newton's steps, VJP and JVP, the last digits where Tol is at the rounding of |c|/ε) is made on the
// host, from rows.
//
// What moves. Potentials are the solvers', which are the same for every geometry, and live on the host: a pass over the
// n·m pairs takes h to the device, brings the rows' soft maxima back, takes u, and brings the columns', 8(n+m) bytes in
// float32, 16(n+m) in float64 and 12(n+m) for differences from a float64 pass, in two waits. With n = m = 32768 that is
// half a megabyte for 2·10⁹ exponentials. Points and costs move once.
//
// The arrays are made at the first use and live until Close. Where the device fails, Solve returns what it says; methods
// of a plan, which return no error, do their work on the host.
//
// An OnDevice may be used by several goroutines, and so may several on one device: each locks the device for a pass at a
// time. What else uses the device meanwhile must lock it too (device.Device.Lock). Where a Scope of the device is open
// at the first use, the arrays end with it, and the next use fails.
type OnDevice struct {
	// Type is the element type of the passes that converge first, and of costs that are held: device.Float32, the zero
	// value, or device.Float64. It is set before the first use.
	Type device.DType

	dev     *device.Device
	of      Geometry
	invalid error

	once sync.Once
	host Geometry // with the costs as the device has them

	mu     sync.Mutex
	closed bool
	at     *resident // nil before the first use, and after a failure
	extent float64   // a bound on |c|
}

// ErrClosed marks the use of an OnDevice after Close.
var ErrClosed = errors.New("the geometry is closed")

// PointsOn is Points on a device. |x−y|², L1 and SqEuclideanL1 are never held: memory is that of the points and of
// vectors of n and m. Other costs are made on the host once, and held on both.
func PointsOn(dev *device.Device, x, y *mat.Dense, c PointCost) *OnDevice {
	p := MatrixFree(x, y, c)
	return newOnDevice(dev, p, p.invalid)
}

// DenseOn is Dense on a device, with the costs held there in Type.
func DenseOn(dev *device.Device, cost mat.Matrix) *OnDevice {
	c := Dense(cost)
	return newOnDevice(dev, c, c.invalid)
}

func newOnDevice(dev *device.Device, g Geometry, invalid error) *OnDevice {
	if invalid == nil && dev == nil {
		invalid = bad(ErrParameter, "PointsOn, DenseOn: dev is nil")
	}
	return &OnDevice{dev: dev, of: g, invalid: invalid}
}

func (o *OnDevice) validate() error {
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

// Row fills buf with the costs of source i as the device has them, made on the host.
func (o *OnDevice) Row(i int, buf []float64) []float64 { return o.onHost().Row(i, buf) }

// onHost is the geometry with the costs as the device has them.
func (o *OnDevice) onHost() Geometry {
	o.once.Do(func() {
		o.host = o.of
		switch {
		case o.matrixFree():
		case o.Type == device.Float32:
			o.host = Dense(rounded(Cost(o.of)))
		case o.cloud() != nil:
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

// cloud returns the points, nil where there are none.
func (o *OnDevice) cloud() *PointCloud {
	p, _ := o.of.(*PointCloud)
	return p
}

// matrixFree reports whether the device makes costs from points.
func (o *OnDevice) matrixFree() bool {
	p := o.cloud()
	if p == nil {
		return false
	}
	_, ok := p.vector()
	return ok
}

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

// free gives the arrays back, which a closed device has done already.
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

// use calls f with the geometry's arrays, in a scope of its own. It returns what the device says of it, naming the
// call. A device that fails is left without the geometry's arrays and without the error, which was handed over: the
// next call begins afresh.
func (o *OnDevice) use(call string, f func(r *resident) error) (err error) {
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
		o.at = o.reside()
		if o.dev.Err() != nil {
			return o.dev.Recover()
		}
	}
	scope := o.dev.Scope()
	defer scope.Close()
	err = f(o.at)
	if o.dev.Err() != nil {
		return o.dev.Recover()
	}
	return err
}

// deviceFault turns the panic of a device that was closed, or of arrays that were freed with a scope of the user's, into
// an error. Other panics go on.
func deviceFault(r any) error {
	if r == nil {
		return nil
	}
	if msg, ok := r.(string); ok && strings.HasPrefix(msg, "device: ") {
		return errors.New(msg)
	}
	panic(r)
}
