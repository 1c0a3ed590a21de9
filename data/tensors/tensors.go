// Package tensors views images as gorgonia's tensors and tensors as images, without a copy but of images that are
// bytes (data.Images.Pixels):
//
//	batch := tensors.Of(images)               // N×C×H×W
//	images, err := tensors.Images(t, -1, 1)   // black is -1, white is 1
//
// It is apart from package data because gorgonia's tensors bring Arrow, FlatBuffers and Protocol
// Buffers into a program.
package tensors

import (
	"fmt"

	"gorgonia.org/tensor"

	"coupling/data"
)

// Of returns an N×C×H×W tensor that shares the memory of images of float32. It is nil when there are no
// images, because a tensor cannot be empty.
func Of(m *data.Images) *tensor.Dense {
	n, c, h, w := m.Shape()
	return view(m, n, c, h, w)
}

// Rows is Of as an N×(C·H·W) tensor.
func Rows(m *data.Images) *tensor.Dense { return view(m, m.Len(), m.Dim()) }

func view(m *data.Images, shape ...int) *tensor.Dense {
	if m.Len() == 0 {
		return nil
	}
	return tensor.New(tensor.WithShape(shape...), tensor.WithBacking(m.Pixels()))
}

// Images returns the images that t holds, without a copy. It returns an error when t is not a
// contiguous row-major N×C×H×W tensor of float32. Black is lo, white is hi.
func Images(t *tensor.Dense, lo, hi float32) (*data.Images, error) {
	shape := t.Shape()
	pixels, ok := t.Data().([]float32)
	if !ok || len(shape) != 4 || len(pixels) != shape.TotalSize() || t.RequiresIterator() ||
		t.DataOrder().IsColMajor() {
		return nil, fmt.Errorf("tensors: t is a %v tensor of %v: want a contiguous row-major N×C×H×W tensor of float32",
			shape, t.Dtype())
	}
	return data.FromPixels(pixels, shape[0], shape[1], shape[2], shape[3], lo, hi)
}
