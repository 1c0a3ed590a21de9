package dpsinkhorn

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"coupling/lab/device"

	"gonum.org/v1/gonum/mat"
)

// checkProject is for images of d pixels.
func (t Training) checkProject(d int) error {
	if t.Project == nil {
		return nil
	}
	rows, k := t.Project.Dims()
	switch {
	case rows != d:
		return bad("Project: %d×%d: must have a row for each of %d pixels", rows, k, d)
	case k > d:
		return bad("Project: %d×%d: more columns than pixels cannot be orthonormal", rows, k)
	}
	var gram mat.Dense
	gram.Mul(t.Project.T(), t.Project)
	for i := range k {
		gram.Set(i, i, gram.At(i, i)-1)
	}
	// Rounding of the device's float32 is .6e-7: nearer than a few of them no basis can be to itself there.
	if off := mat.Norm(&gram, 2); !(off < 1e-6) {
		return bad("Project: columns are off from orthonormal by %g: must be orthonormal to 1e-6", off)
	}
	return nil
}

// along is x·P·Pᵀ, or x where there is no P.
func along(project, x *device.Array) *device.Array {
	if project == nil {
		return x
	}
	low := x.Device().New(device.Float32, x.Dim(0), project.Dim(1))
	out := x.Device().New(device.Float32, x.Shape()...)
	device.Gemm(low, 1, x.N(), project.N(), 0)
	device.Gemm(out, 1, low.N(), project.T(), 0)
	return out
}

// loadProject brings Project to the device.
func (r *run) loadProject() {
	if r.Project != nil {
		r.project = r.dev.FromDense(device.Float32, r.Project)
	}
}

// digestOf names a matrix.
func digestOf(m *mat.Dense) string {
	if m == nil {
		return ""
	}
	rows, cols := m.Dims()
	h := sha256.New()
	_ = binary.Write(h, binary.LittleEndian, []int64{int64(rows), int64(cols)}) // a hash takes everything
	_ = binary.Write(h, binary.LittleEndian, mat.DenseCopyOf(m).RawMatrix().Data)
	return fmt.Sprintf("%x", h.Sum(nil)[:16])
}

// releaseImages sanitises the gradient at n images, n×d, in place, or its projection, and returns what was released.
func (r *run) releaseImages(k int, g *device.Array) (*device.Array, error) {
	if r.project == nil {
		return g, sanitise(r.Sanitiser, g, r.key, k, r.spend(k))
	}
	low := r.dev.New(device.Float32, g.Dim(0), r.project.Dim(1))
	device.Gemm(low, 1, g.N(), r.project.N(), 0)
	if err := sanitise(r.Sanitiser, low, r.key, k, r.spend(k)); err != nil {
		return nil, err
	}
	device.Gemm(g, 1, low.N(), r.project.T(), 0)
	return low, nil
}
