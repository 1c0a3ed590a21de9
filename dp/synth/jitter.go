package synth

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"coupling/data"
	"coupling/lab/device"
)

// Jitter changes each synthetic image by a random map that is assumed to keep it plausible and in its
// class: a slightly rotated digit is the same digit. Images are changed after all releases, so this
// costs no budget. The assumption is not learnt from the images; it is knowledge of their kind. It is
// for handwriting: clothes, photographed upright and with shoes pointing one way, give worse
// classifiers with it. The zero value changes nothing.
//
// The map is x → A(x − c) + c + shift + bend(x) about the centre c, with A a rotation, a shear and
// two scales; each number is Gaussian.
type Jitter struct {
	Rotate  float64 // standard deviation of the angle, in radians
	Shear   float64 // of the shear, in pixels sideways for each pixel down
	Scale   float64 // of the logarithms of width and height
	Shift   float64 // of shifts in both directions, as a share of the image's side
	Elastic float64 // of the displacements at 4×4 points, linear between them, as a share of the image's side
}

func (j Jitter) check() error {
	for _, v := range []float64{j.Rotate, j.Shear, j.Scale, j.Shift, j.Elastic} {
		if !(v >= 0 && v <= 1) {
			return bad("Jitter = %+v: numbers must be in [0, 1]", j)
		}
	}
	return nil
}

// Apply returns moved copies of images, whose black is 0. They are a function of images and rng.
func (j Jitter) Apply(rng *rand.Rand, m *data.Images) (*data.Images, error) {
	if err := j.check(); err != nil || j == (Jitter{}) {
		return m, err
	}
	n, c, h, w := m.Shape()
	out, err := data.New(n, c, h, w)
	if err != nil {
		return nil, err
	}
	out.Name, out.Labels, out.Classes, out.Lo, out.Hi = m.Name, m.Labels, m.Classes, m.Lo, m.Hi
	for i := range n {
		warp(out.Row(i), m.Row(i), c, h, w, j.draw(rng, h, w))
	}
	return out, nil
}

// knots is the number of points of Elastic in each direction.
const knots = 4

// draw returns the source position of each pixel of a moved image.
func (j Jitter) draw(rng *rand.Rand, h, w int) func(x, y float64) (u, v float64) {
	side := math.Sqrt(float64(h * w))
	sin, cos := math.Sincos(j.Rotate * rng.NormFloat64())
	shear, wide, high := j.Shear*rng.NormFloat64(), math.Exp(j.Scale*rng.NormFloat64()),
		math.Exp(j.Scale*rng.NormFloat64())
	cx, cy := float64(w-1)/2, float64(h-1)/2
	dx, dy := cx+j.Shift*side*rng.NormFloat64(), cy+j.Shift*side*rng.NormFloat64()
	var bend [knots][knots][2]float64
	for k := range knots * knots {
		bend[k/knots][k%knots] = [2]float64{j.Elastic * side * rng.NormFloat64(), j.Elastic * side * rng.NormFloat64()}
	}
	return func(x, y float64) (u, v float64) {
		kx, ky := x/max(float64(w-1), 1)*(knots-1), y/max(float64(h-1), 1)*(knots-1)
		col, row := min(int(kx), knots-2), min(int(ky), knots-2)
		a, b := kx-float64(col), ky-float64(row)
		x, y = wide*(x-cx)+shear*(y-cy), high*(y-cy)
		u, v = cos*x-sin*y+dx, sin*x+cos*y+dy
		for _, k := range [...]struct {
			weight float64
			by     [2]float64
		}{
			{(1 - a) * (1 - b), bend[row][col]}, {a * (1 - b), bend[row][col+1]}, {(1 - a) * b, bend[row+1][col]},
			{a * b, bend[row+1][col+1]},
		} {
			u, v = u+k.weight*k.by[0], v+k.weight*k.by[1]
		}
		return u, v
	}
}

// Jittered is a method whose samples are moved by a Jitter. Its releases are those of the method.
type Jittered struct {
	Method
	Jitter Jitter
}

// Describe adds the assumption about images.
func (j Jittered) Describe() (mechanism, settings string) {
	mechanism, settings = j.Method.Describe()
	if j.Jitter == (Jitter{}) {
		return mechanism, settings
	}
	return mechanism,
		settings + fmt.Sprintf("; assumed of images of this kind, not learnt from them: a sample may be changed by %+v",
			j.Jitter)
}

// WithNoise sets the method's noise multiplier.
func (j Jittered) WithNoise(sigma float64) Method {
	j.Method = j.Method.WithNoise(sigma)
	return j
}

// Train trains the method, unless the Jitter is out of range.
func (j Jittered) Train(ctx context.Context, dev *device.Device, images *data.Images, r Run) (Sampler, error) {
	if err := j.Jitter.check(); err != nil {
		return nil, err
	}
	s, err := j.Method.Train(ctx, dev, images, r)
	if err != nil {
		return nil, err
	}
	return Moved(s, j.Jitter), nil
}

// Moved returns a sampler whose images are moved by a Jitter.
func Moved(s Sampler, by Jitter) Sampler { return jittered{s, by} }

type jittered struct {
	Sampler
	by Jitter
}

// Sample draws images and moves them.
func (s jittered) Sample(rng *rand.Rand, n int) (*data.Images, error) {
	m, err := s.Sampler.Sample(rng, n)
	if err != nil {
		return nil, err
	}
	return s.by.Apply(rng, m)
}

// warp writes the moved src to dst: the pixel in column x and row y takes the value of src at the
// place from(x, y), linear between the four pixels around it, and 0 outside. Images have c channels
// of h×w pixels, row after row. Values of dst are convex combinations of 0 and values of src, up to
// rounding.
func warp(dst, src []float32, c, h, w int, from func(x, y float64) (u, v float64)) {
	plane := h * w
	for y := range h {
		for x := range w {
			u, v := from(float64(x), float64(y))
			if !(u > -1 && u < float64(w) && v > -1 && v < float64(h)) { // also NaN
				for k := range c {
					dst[k*plane+y*w+x] = 0
				}
				continue
			}
			left, top := int(math.Floor(u)), int(math.Floor(v))
			a, b := float32(u-float64(left)), float32(v-float64(top))
			for k := range c {
				one := src[k*plane : (k+1)*plane]
				at := func(row, column int) float32 {
					if row < 0 || row >= h || column < 0 || column >= w {
						return 0
					}
					return one[row*w+column]
				}
				dst[k*plane+y*w+x] = (1-b)*((1-a)*at(top, left)+a*at(top, left+1)) +
					b*((1-a)*at(top+1, left)+a*at(top+1, left+1))
			}
		}
	}
}
