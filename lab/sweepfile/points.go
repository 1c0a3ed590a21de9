package sweepfile

import (
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distmv"
	"gonum.org/v1/gonum/stat/samplemv"
)

// sampler returns the sampler of points in [0,1)^dim: halton is Owen's randomised Halton sequence
// (arXiv:1706.02808), latin a Latin hypercube, random independent points.
func sampler(kind string, dim int, src rand.Source) samplemv.Sampler {
	cube := distmv.NewUnitUniform(dim, src)
	switch kind {
	case "halton":
		return samplemv.Halton{Kind: samplemv.Owen, Q: cube, Src: src}
	case "latin":
		return samplemv.LatinHypercube{Q: cube, Src: src}
	}
	return samplemv.IID{Dist: cube}
}

// points draws n points of [0,1)^dim, a row each.
func points(kind string, n, dim int, seed uint64) *mat.Dense {
	out := mat.NewDense(n, dim, nil)
	sampler(kind, dim, rand.NewPCG(seed, 0x73776565702d7631)).Sample(out)
	return out
}
