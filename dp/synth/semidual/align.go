package semidual

import (
	"math"
	"math/rand/v2"

	"coupling/dp/synth/internal/warp"

	"gonum.org/v1/gonum/mat"
)

// # Alignment
//
// Images of one class differ by how wide, tall, slanted and far from the middle what they show is. Align takes these five numbers, the
// pose, out of each image before anything else sees it, and puts poses drawn from their law into samples. What is left varies less, so
// that the same atoms show it more sharply.
//
// Privacy. The pose of an image is computed from the brightness of its own pixels, and the aligned image from the image and its pose.
// Neither depends on another record. So the records of all other releases are images in [0, 1] as before, one for each image, and the bounds
// that hold for every image hold for aligned ones.
//
// The law of poses is one more release on all records: for each class the sum of aaᵀ·min(1, poseClip/|a|²)/poseClip, a = (1, pose), as
// upper triangles with √2 off the diagonal. One record more or less changes the block of its label by a matrix of Frobenius norm at most 1,
// and no other. It is the Gaussian mechanism of sensitivity 1. Poses are rounded to grain, so that the sums are exact (see addOuter),
// and its multiplier is such that it takes LawShare of the whole Σ 1/σ².

// pose is slant, logarithms of width and height over the standard ones, and the shift of the centre in x and y, each over its bound: in
// [−1, 1], a multiple of grain.
type pose [5]float64

// The bounds of a pose, and of |(1, pose)|² for an outer product.
const (
	mostSlant   = 1.  // pixels to the side a pixel down
	mostStretch = .8  // logarithm of width and of height
	mostShift   = .25 // of the image's side
	poseClip    = 2.
)

// frame is where aligned images show things: about the middle, with a standard deviation of the brightness of align times the side in
// both directions, and no correlation between them.
type frame struct {
	c, h, w int
	align   float64
}

// pose returns the pose of an image of values in [0, 1]: a function of this image alone.
func (f frame) pose(row []float64) (p pose) {
	var mass, x, y, xx, xy, yy float64
	each := func(visit func(v, col, row float64)) {
		for k, v := range row {
			k %= f.h * f.w
			visit(v, float64(k%f.w), float64(k/f.w))
		}
	}
	each(func(v, col, row float64) { mass, x, y = mass+v, x+v*col, y+v*row })
	if mass == 0 {
		return p
	}
	x, y = x/mass, y/mass
	each(func(v, col, row float64) {
		xx, xy, yy = xx+v*(col-x)*(col-x), xy+v*(col-x)*(row-y), yy+v*(row-y)*(row-y)
	})
	slant := min(max(xy/yy, -mostSlant), mostSlant)
	for i, v := range [...]float64{
		slant / mostSlant,
		math.Log(math.Sqrt((xx-2*slant*xy+slant*slant*yy)/mass)/(f.align*float64(f.w))) / mostStretch,
		math.Log(math.Sqrt(yy/mass)/(f.align*float64(f.h))) / mostStretch,
		(x - float64(f.w-1)/2) / (mostShift * float64(f.w)),
		(y - float64(f.h-1)/2) / (mostShift * float64(f.h)),
	} {
		if !math.IsNaN(v) {
			p[i] = roundTo(min(max(v, -1), 1), grain)
		}
	}
	return p
}

// maps returns where pixels of the aligned image come from in the image of the pose, and where those of the image come from in the aligned one.
func (f frame) maps(p pose) (align, back func(x, y float64) (u, v float64)) {
	slant, wide, high := p[0]*mostSlant, math.Exp(p[1]*mostStretch), math.Exp(p[2]*mostStretch)
	midX, midY := float64(f.w-1)/2, float64(f.h-1)/2
	x0, y0 := midX+p[3]*mostShift*float64(f.w), midY+p[4]*mostShift*float64(f.h)
	align = func(x, y float64) (u, v float64) {
		v = high * (y - midY)
		return x0 + wide*(x-midX) + slant*v, y0 + v
	}
	back = func(x, y float64) (u, v float64) {
		return midX + (x-x0-slant*(y-y0))/wide, midY + (y-y0)/high
	}
	return align, back
}

// take aligns an image in place, and returns its pose.
func (f frame) take(row, scratch []float64) pose {
	p := f.pose(row)
	align, _ := f.maps(p)
	warp.Image(scratch, row, f.c, f.h, f.w, align)
	for k, v := range scratch {
		row[k] = min(v, 1)
	}
	return p
}

// put gives an aligned image in [0, 1] a pose.
func (f frame) put(to, row []float64, p pose) {
	_, back := f.maps(p)
	warp.Image(to, row, f.c, f.h, f.w, back)
}

// law is the distribution of poses in a class.
type law struct {
	mean pose
	root *mat.SymDense // of the covariance
}

// poses is the exact value of the release of laws: class by class, the sum of clipped outer products as upper triangles.
func (t *trainer) poses() (values []float64) {
	for _, of := range t.rec.pose {
		sum := mat.NewSymDense(1+len(pose{}), nil)
		for _, p := range of {
			addOuter(sum, append([]float64{1}, p[:]...), poseClip)
		}
		values = append(values, pack(sum)...)
	}
	for i := range values {
		values[i] /= poseClip
	}
	return values
}

// laws releases the laws of poses.
func (t *trainer) laws() ([]law, error) {
	values, err := t.out.Release("law", 0, t.poses(), t.lawNoise(), 1)
	if err != nil {
		return nil, err
	}
	const d = 1 + len(pose{})
	var out []law
	for range t.x {
		sum := unpack(values[:triangle(d)], d)
		values = values[triangle(d):]
		var l law
		n := max(sum.At(0, 0), 1)
		cov := mat.NewSymDense(d-1, nil)
		for i := range l.mean {
			l.mean[i] = min(max(sum.At(0, i+1)/n, -1), 1)
		}
		for i := range l.mean {
			for j := range i + 1 {
				cov.SetSym(i, j, sum.At(i+1, j+1)/n-l.mean[i]*l.mean[j])
			}
		}
		l.root = root(cov)
		out = append(out, l)
	}
	return out, nil
}

// draw is a pose of the law, within its bounds.
func (l law) draw(rng *rand.Rand) (p pose) {
	for i, u := range gaussian(rng, l.root) {
		p[i] = min(max(l.mean[i]+u, -1), 1)
	}
	return p
}
