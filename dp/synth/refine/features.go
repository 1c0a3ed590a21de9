package refine

import (
	"math"
	"math/rand/v2"
	"slices"

	"coupling/data"
	"coupling/dp/synth"
	"coupling/lab/device"
	"coupling/lab/nn"
	"coupling/lab/nn/train"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
)

// features describes images by coordinates: what the last hidden layer of a classifier of samples
// sees, on scaled principal axes. It is a function of samples, and so as private as they are.
type features struct {
	dev  *device.Device
	net  nn.Layer
	axes *mat.Dense // units of the layer × coordinates
	mean *mat.Dense // classes × coordinates
}

const (
	units  = 84   // of the last hidden layer
	inside = .95  // share of samples that are not clipped
	floor  = 1e-3 // of variances, over the largest
)

// learnFeatures trains a LeNet on samples and takes its principal axes.
func learnFeatures(dev *device.Device, rng *rand.Rand, pool *data.Images, c Config) (*features, error) {
	_, channels, h, w := pool.Shape()
	half := func() nn.Layer { return &nn.MaxPool{Window: device.SquareWindow(2, 2, 0)} }
	f := &features{dev: dev, net: nn.Seq(
		&nn.Conv2D{In: channels, Out: 8, Window: device.SquareWindow(5, 1, 2)}, half(), nn.ReLU(),
		&nn.Conv2D{In: 8, Out: 16, Window: device.SquareWindow(5, 1, 0)}, half(), nn.ReLU(), nn.Flatten(),
		&nn.Dense{In: 16 * ((h/2 - 4) / 2) * ((w/2 - 4) / 2), Out: 120}, nn.ReLU(), &nn.Dense{In: 120, Out: units}, nn.ReLU(),
	)}
	classifier := nn.Seq(f.net, &nn.Dense{In: units, Out: len(pool.Classes)})
	classifier.Init(dev, device.Float32, rng)
	opt := train.Adam{Rate: 2e-3}.For(classifier.Params())
	defer opt.Free()
	const batch = 64
	steps := c.Epochs * pool.Len() / batch
	falling := train.Cosine(steps, 0)
	for k := range steps {
		opt.SetFactor(falling(k))
		classify(dev, classifier, opt, pool.Take(draw(rng, pool, batch)))
	}
	return f, f.frame(pool.Slice(0, min(pool.Len(), 5000)), c.Axes)
}

// draw returns places of n images of pool, whose classes are in turn, the classes in turn.
func draw(rng *rand.Rand, pool *data.Images, n int) []int {
	classes := len(pool.Classes)
	out := make([]int, n)
	for i := range out {
		out[i] = rng.IntN(pool.Len()/classes)*classes + i%classes
	}
	return out
}

// classify is one step of the classifier.
func classify(dev *device.Device, net nn.Layer, opt *train.Optimiser, images *data.Images) {
	defer dev.Scope().Close()
	n, c, h, w := images.Shape()
	labels := make([]int32, n)
	for i, l := range images.Labels {
		labels[i] = int32(l)
	}
	p := &nn.Pass{Training: true, ParamsOnly: true}
	y := net.Forward(p, dev.From32(images.Pixels(), n, c, h, w))
	loss, dy := dev.New(device.Float32, n), y.Like()
	device.CrossEntropy(loss, dy, y, dev.FromInts(labels, n))
	device.Scale(dy, 1/float64(n), dy)
	nn.ZeroGrads(net.Params())
	net.VJP(p, dy)
	opt.Step()
}

// each calls see with the output of the layer for each image in turn, on the axes if there are any.
func (f *features) each(m *data.Images, see func(i int, row []float64)) error {
	return synth.Features(f.dev, m, func(x *device.Array) (*mat.Dense, error) { return f.of(&nn.Pass{ForwardOnly: true}, x) }, see)
}

// of returns the output of the layer for images on the device, on the axes if there are any.
func (f *features) of(p *nn.Pass, x *device.Array) (*mat.Dense, error) {
	rows, err := f.net.Forward(p, x).Mat()
	if err != nil || f.axes == nil {
		return rows, err
	}
	var u mat.Dense
	u.Mul(rows, f.axes)
	return &u, nil
}

// frame chooses axes, means and scales from samples.
func (f *features) frame(m *data.Images, axes int) error {
	x := mat.NewDense(m.Len(), units, nil)
	if err := f.each(m, func(i int, row []float64) { x.SetRow(i, row) }); err != nil {
		return err
	}
	mean, count := mat.NewDense(len(m.Classes), units, nil), make([]float64, len(m.Classes))
	for i, l := range m.Labels {
		count[l]++
		floats.Add(mean.RawRowView(l), x.RawRowView(i))
	}
	for l, n := range count {
		floats.Scale(1/n, mean.RawRowView(l))
	}
	for i, l := range m.Labels {
		floats.Sub(x.RawRowView(i), mean.RawRowView(l))
	}
	var pc stat.PC
	if !pc.PrincipalComponents(x, nil) {
		return in.Bad("samples: their features have no principal axes")
	}
	var vectors, u mat.Dense
	pc.VectorsTo(&vectors)
	variance := pc.VarsTo(nil)
	scale := make([]float64, axes)
	for j := range scale { // between equal variances and equal noise on all coordinates
		scale[j] = math.Pow(variance[j]+floor*variance[0], -.25)
	}
	f.axes = mat.NewDense(units, axes, nil)
	f.axes.Mul(vectors.Slice(0, units, 0, axes), mat.NewDiagDense(axes, scale))
	u.Mul(x, f.axes)
	norms := make([]float64, m.Len())
	for i := range norms {
		norms[i] = floats.Norm(u.RawRowView(i), 2)
	}
	slices.Sort(norms)
	f.axes.Scale(1/norms[int(inside*float64(len(norms)-1))], f.axes)
	f.mean = mat.NewDense(len(m.Classes), axes, nil)
	f.mean.Mul(mean, f.axes)
	return nil
}

// clip turns coordinates u into z: about the mean of the class, of norm at most 1, or 0 where they are not finite.
func (f *features) clip(u []float64, label int) {
	floats.Sub(u, f.mean.RawRowView(label))
	switch norm := floats.Norm(u, 2); {
	case math.IsNaN(norm) || math.IsInf(norm, 0):
		clear(u)
	case norm > 1-0x1p-40:
		floats.Scale((1-0x1p-40)/norm, u)
	}
}
