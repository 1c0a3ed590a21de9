package refine

import (
	"math"
	"slices"

	"coupling/data"
	"coupling/dp/release"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// teacher is multinomial logistic regression on coordinates of images, fitted to private ones by
// noisy gradient descent on all of them. It knows classes better than the samples that it gives
// labels to.
type teacher struct {
	*features
	centre      []float64  // mean of samples' coordinates
	reach       float64    // the unit of distances from it
	weights     *mat.Dense // coordinates and the constant × classes
	speed, mean *mat.Dense // of the descent: momentum, and the mean of the last weights
}

// The last four were found with the share of the budget on held-out training images of Fashion-MNIST and CIFAR-10.
const (
	constant     = .25 // the last value of each row, for intercepts
	residualClip = .5  // norm to which the residual p − e_label of a record is clipped
	lessons      = 60  // steps of the descent
	learning     = 32. // their rate
	momentum     = .9
	margin       = .3 // a sample is moved to where the score of its class is above all others by this
)

// newTeacher takes centre and reach from samples.
func (f *features) newTeacher(m *data.Images) (*teacher, error) {
	_, axes := f.mean.Dims()
	blank := func() *mat.Dense { return mat.NewDense(axes+1, len(m.Classes), nil) }
	t := &teacher{features: f, centre: make([]float64, axes), weights: blank(), speed: blank(), mean: blank()}
	u := mat.NewDense(m.Len(), axes, nil)
	err := f.each(m, func(i int, row []float64) {
		u.SetRow(i, row)
		floats.Add(t.centre, row)
	})
	if err != nil {
		return nil, err
	}
	floats.Scale(1/float64(m.Len()), t.centre)
	far := make([]float64, m.Len())
	for i := range far {
		far[i] = floats.Distance(u.RawRowView(i), t.centre, 2)
	}
	slices.Sort(far)
	t.reach = max(far[int(inside*float64(len(far)-1))], math.SmallestNonzeroFloat32)
	return t, nil
}

// row writes what the teacher sees of coordinates u: (u − centre)/reach clipped, and the constant;
// 0 where u is not finite. Its norm is at most 1.
func (t *teacher) row(to, u []float64) {
	last := len(u)
	floats.SubTo(to[:last], u, t.centre)
	floats.Scale(1/t.reach, to[:last])
	shorten(to[:last], math.Sqrt(1-constant*constant))
	to[last] = constant
}

// table has a row for each image, rounded towards 0, and rows of 0 up to a multiple of chunk. In float32 nothing of
// them is lost: they are multiples of grain, at most 1.
func (t *teacher) table(images *data.Images) ([]float32, error) {
	width, _ := t.weights.Dims()
	x, row := make([]float32, (images.Len()+chunk-1)/chunk*chunk*width), make([]float64, width)
	return x, t.each(images, func(i int, u []float64) {
		t.row(row, u)
		down(row)
		for j, v := range row {
			x[i*width+j] = float32(v)
		}
	})
}

// chunk is the number of records of a product.
const chunk = 500

// down rounds towards 0 to multiples of grain.
func down(values []float64) {
	for j, v := range values {
		values[j] = math.Trunc(v/grain) * grain
	}
}

// gradient is the sum over records of row ⊗ residual, of norm at most residualClip each. Rows and
// residuals are multiples of grain, so that it is exact in any order; scores are products of one
// shape, in which gonum computes each row by itself.
func (t *teacher) gradient(x []float32, labels []int) *mat.Dense {
	width, classes := t.weights.Dims()
	sum, part, r := mat.NewDense(width, classes, nil), mat.NewDense(width, classes, nil),
		mat.NewDense(chunk, classes, nil)
	some := mat.NewDense(chunk, width, nil)
	for from := 0; from*width < len(x); from += chunk {
		for i := range some.RawMatrix().Data {
			some.RawMatrix().Data[i] = float64(x[from*width+i])
		}
		r.Mul(some, t.weights)
		for i := range min(chunk, len(labels)-from) { // rows beyond have no records, and are 0
			residual(r.RawRowView(i), labels[from+i])
		}
		part.Mul(some.T(), r)
		sum.Add(sum, part)
	}
	return sum
}

// residual turns scores into p − e_label with p = softmax(scores), of norm at most residualClip; 0
// where scores are not finite.
func residual(r []float64, label int) {
	all := floats.LogSumExp(r)
	for j, v := range r {
		r[j] = math.Exp(v - all)
	}
	r[label]--
	norm := floats.Norm(r, 2)
	if math.IsNaN(norm) {
		clear(r)
		return
	}
	floats.Scale(min(1, residualClip/norm)*(1-0x1p-40), r)
	down(r)
}

// learn makes the descent; each step releases a gradient. The number of records is what the moments
// say of it, so that weights are a function of releases alone.
func (t *teacher) learn(images *data.Images, records float64, run *release.Run, sigma float64) error {
	x, err := t.table(images)
	if err != nil {
		return err
	}
	for k := range lessons {
		values, err := run.Release("teacher", k, t.gradient(x, images.Labels).RawMatrix().Data, sigma*residualClip,
			residualClip)
		if err != nil {
			return err
		}
		t.descend(k, values, records)
	}
	t.weights.Copy(t.mean)
	return nil
}

// descend is step k of gradient descent with momentum. Mean is over the last third of them.
func (t *teacher) descend(k int, gradient []float64, records float64) {
	weights, speed := t.weights.RawMatrix().Data, t.speed.RawMatrix().Data
	floats.Scale(momentum, speed)
	floats.AddScaled(speed, 1/records, gradient)
	floats.AddScaled(weights, -learning, speed)
	if k >= lessons-lessons/3 {
		floats.AddScaled(t.mean.RawMatrix().Data, 3./lessons, weights)
	}
}

// scores writes those of all classes for coordinates u.
func (t *teacher) scores(to, u []float64) {
	row := make([]float64, len(u)+1)
	t.row(row, u)
	clear(to)
	for j, v := range row {
		floats.AddScaled(to, v, t.weights.RawRowView(j))
	}
}

// convince moves coordinates, as little as the variances of samples have it, until the score of the
// label is above all others by margin: to the plane on which it equals the highest other's, again
// and again. Where there is no such place within reach, they stay.
func (t *teacher) convince(u []float64, label int) {
	width, classes := t.weights.Dims()
	scores, along, to := make([]float64, classes), make([]float64, width-1), slices.Clone(u)
	const planes = 20
	for range planes {
		t.scores(scores, to)
		own := scores[label] - margin
		scores[label] = math.Inf(-1)
		other := floats.MaxIdx(scores)
		if own >= scores[other] {
			copy(u, to)
			return
		}
		slope := 0.
		for j := range along {
			w := (t.weights.At(j, label) - t.weights.At(j, other)) / t.reach
			along[j] = w * t.variance[j]
			slope += w * along[j]
		}
		if floats.AddScaled(to, (scores[other]-own)/slope, along); !(floats.Distance(to, t.centre, 2) <= 2*t.reach) {
			return // also where the two classes have the same weights
		}
	}
	copy(u, to)
}

// label returns the likeliest class of each image.
func (t *teacher) label(m *data.Images) ([]int, error) {
	labels, scores := make([]int, m.Len()), make([]float64, len(m.Classes))
	err := t.each(m, func(i int, u []float64) {
		t.scores(scores, u)
		labels[i] = floats.MaxIdx(scores)
	})
	return labels, err
}
