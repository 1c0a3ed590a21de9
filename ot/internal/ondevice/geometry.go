// Package ondevice has geometries whose points or costs are on a device, and passes over their arrays.
package ondevice

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"gonum.org/v1/gonum/mat"

	"coupling/lab/device"
	"coupling/ot/cost"
	"coupling/ot/internal/fault"
	"coupling/ot/internal/geometry"
)

// Geometry is a geometry whose passes run on a device. Its arrays are made at the first use and live until Close.
type Geometry struct {
	Type *device.DType // of the passes that converge first, and of costs that are held

	dev     *device.Device
	of      cost.Geometry
	invalid error

	once sync.Once
	host cost.Geometry // with the costs as the device holds them

	mu     sync.Mutex
	closed bool
	at     *Arrays // nil before the first use, and after a failure
	extent float64 // a bound on |c|
}

// New returns g with its passes on dev, in the type that typ points to at the first use, or what reports invalid.
func New(dev *device.Device, g cost.Geometry, typ *device.DType, invalid error) *Geometry {
	return &Geometry{dev: dev, of: g, Type: typ, invalid: invalid}
}

// Held gives a public geometry its Geometry, as geometry.Held its points.
type Held struct{ of *Geometry }

// Hold returns the Held of g.
func Hold(g *Geometry) Held { return Held{g} }

// Engine returns the geometry.
func (h Held) Engine() *Geometry { return h.of }

// Validate reports a geometry that cannot be used.
func (o *Geometry) Validate() error {
	if o.invalid != nil {
		return o.invalid
	}
	if *o.Type != device.Float32 && *o.Type != device.Float64 {
		return fault.OT(fault.ErrParameter, "OnDevice.Type = %v: must be float32 or float64", *o.Type)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return fault.OT(fault.ErrUnsupported, "OnDevice: the geometry is closed")
	}
	return nil
}

// Dims returns the number of sources and of targets.
func (o *Geometry) Dims() (n, m int) { return o.of.Dims() }

// Row fills buf with the costs of source i, computed on the host and rounded as the device holds
// them.
func (o *Geometry) Row(i int, buf []float64) []float64 { return o.OnHost().Row(i, buf) }

// OnHost is the geometry with the costs as the device holds them.
func (o *Geometry) OnHost() cost.Geometry {
	o.once.Do(func() {
		o.host = o.of
		switch {
		case o.MatrixFree():
		case *o.Type == device.Float32:
			o.host = cost.Dense(rounded(geometry.All(o.of)))
		case o.Points() != nil:
			o.host = cost.Dense(geometry.All(o.of))
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

// Points returns the points, nil where there are none.
func (o *Geometry) Points() *geometry.Cloud {
	p, _ := o.of.(*geometry.Cloud)
	return p
}

// MatrixFree reports whether the device makes costs from points.
func (o *Geometry) MatrixFree() bool {
	p := o.Points()
	if p == nil {
		return false
	}
	_, ok := p.Vector()
	return ok
}

// Finite is true: a device knows no forbidden pairs.
func (o *Geometry) Finite() bool { return true }

// Frugal reports whether the device makes costs from points.
func (o *Geometry) Frugal() bool { return o.MatrixFree() }

// Close frees the arrays. Closing twice does no harm; solves afterwards fail with errClosed. A plan keeps working, on
// the host.
func (o *Geometry) Close() {
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
func (o *Geometry) free() {
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

// Release frees some of the arrays of r, unless a failure or Close has done so.
func (o *Geometry) Release(r *Arrays, some []*device.Array) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.at != r {
		return
	}
	o.dev.Lock()
	defer o.dev.Unlock()
	defer func() { _ = deviceFault(recover()) }()
	r.arrays = slices.DeleteFunc(r.arrays, func(a *device.Array) bool { return slices.Contains(some, a) })
	for _, a := range some {
		a.Free()
	}
}

// Use calls f with the geometry's arrays, in a scope of its own. It returns the device's error, if
// any, with the name of the call. After an error the geometry's arrays are freed and the device's
// error is cleared, so that the next call starts afresh.
func (o *Geometry) Use(call string, f func(r *Arrays)) (err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return fault.OT(fault.ErrUnsupported, "%s: the geometry is closed", call)
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
	}
	if o.dev.Err() == nil {
		o.at.Scope = o.dev.Scope()
		defer o.at.Scope.Close()
		f(o.at)
	}
	return o.dev.Recover()
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

// Remote reports whether the device is not the host itself.
func (o *Geometry) Remote() bool { return o.dev.Info().Kind != "cpu" }
