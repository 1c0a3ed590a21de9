package dsm

import (
	"coupling/lab/nn"
	"coupling/lab/nn/arch"
)

// MLP is a score network for points of R^d: the point beside an embedding of its noise level, dense
// layers with SiLU, and division by σ, so that what is learnt is of order one at every level.
func MLP(d int, sigmas []float64, hidden ...int) *nn.Sequential {
	const width = 16
	sizes := append(append([]int{d + width}, hidden...), d)
	return nn.Seq(
		&nn.AppendClass{Embedding: nn.Embedding{Classes: len(sigmas), Width: width}},
		arch.MLP{Sizes: sizes, Hidden: func() nn.Layer { return nn.SiLU() }}.Net(),
		&arch.ByLevel{Sigmas: sigmas},
	)
}
