package dpsinkhorn

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"

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
	case t.Parameters || t.Sanitiser == nil:
		return bad("Project: what is projected is the sanitised gradient at the images: there is none")
	}
	for _, v := range t.Project.RawMatrix().Data {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return bad("Project: holds %g: must be finite", v)
		}
	}
	return nil
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
