// Package tensors copies between arrays of a device and tensors of gorgonia, of any rank:
//
//	x, err := tensors.From(dev, t)   // N×C×H×W float32
//	…
//	t, err := tensors.To(y)                        // waits for the device
//
// It is a package of its own so that package device does not import gorgonia's. Tensors of float32, float64 and int32
// keep their type. Views and transposes of tensors are copied in the order of their axes, the last running fastest;
// what comes back is contiguous and row-major.
package tensors

import (
	"errors"
	"fmt"

	"gorgonia.org/tensor"

	"coupling/lab/device"
)

// ErrType is a tensor whose elements no device holds.
var ErrType = errors.New("must be float32, float64 or int32")

// From returns an array with a copy of t, or an error that wraps ErrType.
func From(d *device.Device, t *tensor.Dense) (*device.Array, error) {
	t, err := rowMajor(t)
	if err != nil {
		return nil, err
	}
	shape := t.Shape()
	switch x := t.Data().(type) {
	case []float32:
		return d.From32(x, shape...), nil
	case []float64:
		return d.From64(x, shape...), nil
	case []int32:
		return d.FromInts(x, shape...), nil
	case float32: // what Data gives for a scalar
		return d.From32([]float32{x}, shape...), nil
	case float64:
		return d.From64([]float64{x}, shape...), nil
	case int32:
		return d.FromInts([]int32{x}, shape...), nil
	}
	return nil, fmt.Errorf("tensors: t is a tensor of %v: %w", t.Dtype(), ErrType)
}

// Set copies t to an array of its shape and type, or returns an error that names both.
func Set(a *device.Array, t *tensor.Dense) error {
	if !t.Shape().Eq(tensor.Shape(a.Shape())) {
		return fmt.Errorf("tensors: t has shape %v, the array %v: must be equal", t.Shape(), a.Shape())
	}
	t, err := rowMajor(t)
	if err != nil {
		return err
	}
	x, ok := elements(t.Data(), a.Type())
	switch {
	case !ok:
		return fmt.Errorf("tensors: t is a tensor of %v, the array is of %v: must be equal", t.Dtype(), a.Type())
	case a.Type() == device.Float32:
		a.Set32(x.([]float32))
	case a.Type() == device.Float64:
		a.Set64(x.([]float64))
	default:
		a.SetInts(x.([]int32))
	}
	return nil
}

// elements is data, of a tensor, as a slice, if it is of a type.
func elements(data any, t device.DType) (x any, ok bool) {
	switch v := data.(type) {
	case []float32:
		return v, t == device.Float32
	case float32:
		return []float32{v}, t == device.Float32
	case []float64:
		return v, t == device.Float64
	case float64:
		return []float64{v}, t == device.Float64
	case []int32:
		return v, t == device.Int32
	case int32:
		return []int32{v}, t == device.Int32
	}
	return nil, false
}

// To returns a tensor with a copy of the array, or the device's error. Tensors cannot be empty: an array of no elements
// is an error.
func To(a *device.Array) (*tensor.Dense, error) {
	if a.Len() == 0 {
		return nil, fmt.Errorf("tensors: the array has shape %v: tensors cannot be empty", a.Shape())
	}
	var backing any
	var err error
	switch a.Type() {
	case device.Float32:
		backing, err = a.Get32()
	case device.Float64:
		backing, err = a.Get64()
	default:
		backing, err = a.GetInts()
	}
	if err != nil {
		return nil, err
	}
	if a.Rank() == 0 {
		switch x := backing.(type) {
		case []float32:
			return tensor.New(tensor.FromScalar(x[0])), nil
		case []float64:
			return tensor.New(tensor.FromScalar(x[0])), nil
		case []int32:
			return tensor.New(tensor.FromScalar(x[0])), nil
		}
	}
	return tensor.New(tensor.WithShape(a.Shape()...), tensor.WithBacking(backing)), nil
}

// rowMajor is t, or a contiguous row-major copy where it is a view, transposed or column-major.
func rowMajor(t *tensor.Dense) (*tensor.Dense, error) {
	if !t.RequiresIterator() && !t.DataOrder().IsColMajor() && !t.DataOrder().IsTransposed() {
		return t, nil
	}
	switch t.Dtype() {
	case tensor.Float32:
		return gathered[float32](t)
	case tensor.Float64:
		return gathered[float64](t)
	case tensor.Int32:
		return gathered[int32](t)
	}
	return nil, fmt.Errorf("tensors: t is a tensor of %v: %w", t.Dtype(), ErrType)
}

// gathered reads t element by element, by its strides.
func gathered[T float32 | float64 | int32](t *tensor.Dense) (*tensor.Dense, error) {
	data, ok := t.Data().([]T)
	if !ok {
		return nil, fmt.Errorf("tensors: t holds %T: %w", t.Data(), ErrType)
	}
	shape, strides := t.Shape(), t.Strides()
	if len(strides) != len(shape) {
		return nil, fmt.Errorf("tensors: t has shape %v and strides %v: make it contiguous first (Materialize)", shape, strides)
	}
	out := make([]T, shape.TotalSize())
	for flat := range out {
		at, rest := 0, flat
		for k := len(shape) - 1; k >= 0; k-- {
			at += rest % shape[k] * strides[k]
			rest /= shape[k]
		}
		out[flat] = data[at]
	}
	return tensor.New(tensor.WithShape(shape...), tensor.WithBacking(out)), nil
}
