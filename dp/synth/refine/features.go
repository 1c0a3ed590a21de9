package refine

import (
	"math"
	"slices"

	"coupling/data"
	"coupling/dp/synth"
	"coupling/lab/device"
	"coupling/lab/nn"
	"coupling/lab/nn/arch"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// features describes images by coordinates: what a bank of fixed filters sees in cells, on scaled
// principal axes of samples. Its filters are public, and the axes are as private as the samples.
type features struct {
	dev      *device.Device
	net      nn.Layer
	axes     *device.Array // filters and cells × coordinates
	mean     *mat.Dense    // classes × coordinates, of samples
	variance []float64     // of coordinates of samples about the mean of their class
}

const (
	cell    = arch.GradientCell
	inside  = .95  // share of samples that are not clipped
	beyond  = 1.5  // norm up to which records are not clipped, over that of these samples: records have sharper edges
	floor   = 1e-3 // of variances, over the largest
	nothing = 1e-9 // that features of samples vary by at least
)

// framing is the number of samples from which axes are taken; tests take fewer.
var framing = 5000

// newFeatures is the bank of filters on principal axes of samples.
func newFeatures(dev *device.Device, pool *data.Images, axes int) (*features, error) {
	f := newBank(dev, pool)
	return f, f.frame(pool.Slice(0, min(pool.Len(), framing)), axes)
}

// newBank is the bank of filters for images of that shape, without axes.
func newBank(dev *device.Device, m *data.Images) *features {
	_, channels, _, _ := m.Shape()
	f := &features{dev: dev, net: arch.Gradients(channels)}
	f.net.Init(dev, device.Float32, nil)
	return f
}

// each calls see with the features of each image in turn, on the axes if there are any.
func (f *features) each(m *data.Images, see func(i int, row []float64)) error {
	return synth.Features(f.dev, m,
		func(x *device.Array) (*mat.Dense, error) { return f.of(&nn.Pass{ForwardOnly: true}, x).Mat() }, see)
}

// of returns the features of images on the device, on the axes if there are any.
func (f *features) of(p *nn.Pass, x *device.Array) *device.Array {
	y := f.net.Forward(p, x)
	if f.axes == nil {
		return y
	}
	u := f.dev.New(device.Float32, y.Dim(0), f.axes.Dim(1))
	device.Gemm(u, 1, y.N(), f.axes.N(), 0)
	return u
}

// back takes a cotangent of what of returned to images.
func (f *features) back(p *nn.Pass, du *device.Array) *device.Array {
	dy := f.dev.New(device.Float32, du.Dim(0), f.axes.Dim(0))
	device.Gemm(dy, 1, du.N(), f.axes.T(), 0)
	return f.net.VJP(p, dy)
}

// rows are the features of all images.
func (f *features) rows(m *data.Images) (x *mat.Dense, err error) {
	err = f.each(m, func(i int, row []float64) {
		if x == nil {
			x = mat.NewDense(m.Len(), len(row), nil)
		}
		x.SetRow(i, row)
	})
	return x, err
}

// frame chooses axes, means and scales from samples.
func (f *features) frame(m *data.Images, axes int) error {
	x, err := f.rows(m)
	if err != nil {
		return err
	}
	n, units := x.Dims()
	axes = min(axes, units)
	mean := centre(x, m.Labels, len(m.Classes))
	cov := mat.NewSymDense(units, nil)
	cov.SymOuterK(1/float64(n), x.T())
	var e mat.EigenSym
	if !e.Factorize(cov, true) {
		return in.Bad("samples: their features have no principal axes")
	}
	var vectors, on, u mat.Dense
	e.VectorsTo(&vectors)
	variance := e.Values(nil)[units-axes:]
	for j, v := range variance { // all samples may be alike, such as black
		variance[j] = max(v, nothing)
	}
	scale := make([]float64, axes)
	for j, v := range variance { // between equal variances and equal noise on all coordinates
		scale[j] = math.Pow(v+floor*variance[axes-1], -.25)
	}
	on.Mul(vectors.Slice(0, units, units-axes, units), mat.NewDiagDense(axes, scale))
	u.Mul(x, &on)
	norms := make([]float64, n)
	for i := range norms {
		norms[i] = floats.Norm(u.RawRowView(i), 2)
	}
	slices.Sort(norms)
	longest := max(beyond*norms[int(inside*float64(n-1))], nothing)
	on.Scale(1/longest, &on)
	f.axes, f.mean = f.dev.FromDense(device.Float32, &on), mat.NewDense(len(m.Classes), axes, nil)
	f.mean.Mul(mean, &on)
	for j, v := range variance {
		f.variance = append(f.variance, v*scale[j]*scale[j]/longest/longest)
	}
	return nil
}

// centre subtracts from each row the mean of its class, and returns the means.
func centre(x *mat.Dense, labels []int, classes int) *mat.Dense {
	_, d := x.Dims()
	mean, count := mat.NewDense(classes, d, nil), make([]float64, classes)
	for i, l := range labels {
		count[l]++
		floats.Add(mean.RawRowView(l), x.RawRowView(i))
	}
	for l, n := range count {
		floats.Scale(1/n, mean.RawRowView(l))
	}
	for i, l := range labels {
		floats.Sub(x.RawRowView(i), mean.RawRowView(l))
	}
	return mean
}

// clip turns coordinates u into z: about the mean of the class, of norm at most 1, or 0 where they are not finite.
func (f *features) clip(u []float64, label int) {
	floats.Sub(u, f.mean.RawRowView(label))
	shorten(u, 1)
}

// shorten scales u to a norm of at most most, or to 0 where it is not finite.
func shorten(u []float64, most float64) {
	most *= 1 - 0x1p-40
	switch norm := floats.Norm(u, 2); {
	case math.IsNaN(norm) || math.IsInf(norm, 0):
		clear(u)
	case norm > most:
		floats.Scale(most/norm, u)
	}
}
