package ref

import "math"

// share is a weight with which an input position counts for an output position.
type share struct {
	at     int
	weight float64
}

// Sampler returns the inputs, of n along an axis, that make output o of out, and their weights.
type Sampler func(o, out, n int) []share

// Nearest takes input ⌊o·n/out⌋.
func Nearest(o, out, n int) []share { return []share{{o * n / out, 1}} }

// Bilinear interpolates between two inputs: at o·(n−1)/(out−1) with corners aligned (0 for one output), else at
// (o+½)·n/out − ½, clamped to the border.
func Bilinear(align bool) Sampler {
	return func(o, out, n int) []share {
		var pos float64
		switch {
		case align && out > 1:
			pos = float64(o*(n-1)) / float64(out-1)
		case !align:
			pos = (float64(o)+0.5)*float64(n)/float64(out) - 0.5
		}
		pos = min(max(pos, 0), float64(n-1))
		lo := int(math.Floor(pos))
		t := pos - float64(lo)
		return []share{{lo, 1 - t}, {min(lo+1, n-1), t}}
	}
}

// near is a sampler that gives full weight to every input next to those that s takes: where an error of a position can
// move weight to.
func (s Sampler) near(o, out, n int) []share {
	shares := s(o, out, n)
	lo, hi := max(0, shares[0].at-1), min(n-1, shares[len(shares)-1].at+1)
	var all []share
	for at := lo; at <= hi; at++ {
		all = append(all, share{at, 1})
	}
	return all
}

func (s Sampler) each(m Images, oh, ow int, f func(out, in int, weight float64)) {
	for plane := range m.N * m.C {
		for oy := range oh {
			for ox := range ow {
				for _, a := range s(oy, oh, m.H) {
					for _, b := range s(ox, ow, m.W) {
						f((plane*oh+oy)*ow+ox, (plane*m.H+a.at)*m.W+b.at, a.weight*b.weight)
					}
				}
			}
		}
	}
}

// Resample makes images of oh×ow. The scale counts neighbours in full times the size of the image: a position is a
// number up to n, rounded.
func Resample(s Sampler, m Images, oh, ow int) Result {
	sums, sizes := make([]Sum, m.N*m.C*oh*ow), make([]float64, m.N*m.C*oh*ow)
	s.each(m, oh, ow, func(out, in int, weight float64) { sums[out].AddProduct(weight, m.Data[in]) })
	Sampler(s.near).each(m, oh, ow, func(out, in int, _ float64) { sizes[out] = max(sizes[out], math.Abs(m.Data[in])) })
	return resampled(sums, sizes, m)
}

// ResampleVJP is the transpose: images of m's size from dy.
func ResampleVJP(s Sampler, m Images, dy []float64, oh, ow int) Result {
	sums, sizes := make([]Sum, m.N*m.C*m.H*m.W), make([]float64, m.N*m.C*m.H*m.W)
	s.each(m, oh, ow, func(out, in int, weight float64) { sums[in].AddProduct(weight, dy[out]) })
	Sampler(s.near).each(m, oh, ow, func(out, in int, _ float64) { sizes[in] += math.Abs(dy[out]) })
	return resampled(sums, sizes, m)
}

func resampled(sums []Sum, sizes []float64, m Images) Result {
	r := NewResult(len(sums))
	for i := range sums {
		r.Value[i] = sums[i].Value()
		r.Scale[i] = sizes[i] * float64(1+m.H+m.W)
	}
	return r
}
