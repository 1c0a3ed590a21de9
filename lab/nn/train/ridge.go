package train

import (
	"errors"

	"gonum.org/v1/gonum/mat"
)

// Ridge is ridge regression of classes on rows of numbers: W minimises Σ |xW − e_label|² + λ|W|², where x ends in a
// constant 1 and e_label has a 1 in the label's place. Its state is of d² numbers, whatever the number of rows.
type Ridge struct {
	gram  *mat.SymDense
	cross *mat.Dense
}

// Add adds rows [n, d] with labels in [0, classes). The cost is n·d² multiply-adds.
func (r *Ridge) Add(x mat.Matrix, labels []int, classes int) {
	n, d := x.Dims()
	if r.gram == nil {
		r.gram, r.cross = mat.NewSymDense(d+1, nil), mat.NewDense(d+1, classes, nil)
	}
	one, e := mat.NewDense(n, d+1, nil), mat.NewDense(n, classes, nil)
	one.Slice(0, n, 0, d).(*mat.Dense).Copy(x)
	for i, l := range labels {
		one.Set(i, d, 1)
		e.Set(i, l, 1)
	}
	var gram mat.SymDense
	gram.SymOuterK(1, one.T())
	r.gram.AddSym(r.gram, &gram)
	var cross mat.Dense
	cross.Mul(one.T(), e)
	r.cross.Add(r.cross, &cross)
}

// Fit returns W, [d + 1, classes]; λ is share times the mean of the diagonal of Σ xxᵀ. It returns an error where
// there are no rows.
func (r *Ridge) Fit(share float64) (*mat.Dense, error) {
	var w mat.Dense
	var c mat.Cholesky
	if r.gram == nil {
		return nil, errors.New("train: ridge regression: there are no rows")
	}
	d := r.gram.SymmetricDim()
	for more, i := share*mat.Trace(r.gram)/float64(d), 0; i < d; i++ {
		r.gram.SetSym(i, i, r.gram.At(i, i)+more)
	}
	if !c.Factorize(r.gram) {
		return nil, errors.New("train: ridge regression: rows are not finite, or share is 0")
	}
	return &w, c.SolveTo(&w, r.cross)
}
