package score

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"coupling/lab/device/cpu/dense"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
)

// FitMixture fits a mixture of Gaussians to points by expectation maximisation, in their leading
// principal coordinates: a score known at every noise level, with its log-density, and learnt
// without a network. The zero value works.
//
//	field, err := score.FitMixture{}.Run(ctx, rng, y)
//
// Each covariance is shrunk towards the mean covariance within parts, by the weight of Shrink points, so that parts of
// fewer points than coordinates are regular (Friedman 1989, "Regularized discriminant analysis", without its spherical
// term).
type FitMixture struct {
	Parts  int     // Gaussians; 0 means one for every 60 points, at most 150
	Axes   int     // leading principal coordinates; 0 means as many as hold 95 % of the variance
	Steps  int     // of EM, after five of k-means; 0 means 15
	Shrink float64 // points; 0 means half of Axes
	// Trace is called after every step of EM with the mean log-density of the points' coordinates.
	Trace func(step int, logDensity float64)
}

// Run fits the rows of y, n×d. Along the other coordinates the fit is normal with the variances of
// the points, raised to at least 1e-12 of the largest. Cost O(d³) and Steps·n·Parts·Axes².
func (f FitMixture) Run(ctx context.Context, rng *rand.Rand, y *mat.Dense) (*Subspace, error) {
	n, d := y.Dims()
	if n < 2 || d == 0 {
		return nil, misfit("y is %d×%d: need two points", n, d)
	}
	if err := checkFinite("y", y); err != nil {
		return nil, err
	}
	if f.Parts < 0 || f.Parts > n || f.Axes < 0 || f.Axes > d || f.Steps < 0 || !(f.Shrink >= 0) {
		return nil, bad(
			"FitMixture: %d parts in %d axes of %d points in %d dimensions, Steps = %d, Shrink = %g: must "+
				"be ≥ 0, and no more parts than points or axes than dimensions",
			f.Parts, f.Axes, n, d, f.Steps, f.Shrink)
	}
	s, err := f.principal(y)
	if err != nil {
		return nil, err
	}
	f.Parts = cmp.Or(f.Parts, max(1, min(n/60, 150)))
	f.Steps = cmp.Or(f.Steps, 15)
	_, q := s.axes.Dims()
	f.Shrink = cmp.Or(f.Shrink, float64(q)/2)
	u := s.coordinates(y, s.axes)
	shares := f.means(rng, u)
	for step := range f.Steps + 1 { // the first makes Gaussians of the clusters of k-means
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if s.inside, err = f.maximise(u, shares); err != nil {
			return nil, err
		}
		if step == f.Steps {
			break
		}
		logs, all, err := s.inside.logs(u, 0)
		if err != nil {
			return nil, err
		}
		shares = make([][]float64, len(logs))
		for k, l := range logs {
			shares[k] = l
			for i := range l {
				l[i] = math.Exp(l[i] - all[i])
			}
		}
		if f.Trace != nil {
			f.Trace(step+1, stat.Mean(all, nil))
		}
	}
	return s, nil
}

// principal finds the leading axes.
func (f FitMixture) principal(y *mat.Dense) (*Subspace, error) {
	_, d := y.Dims()
	s := &Subspace{mean: make([]float64, d)}
	for j := range d {
		s.mean[j] = stat.Mean(mat.Col(nil, j, y), nil)
	}
	var cov mat.SymDense
	stat.CovarianceMatrix(&cov, y, nil)
	var eig mat.EigenSym
	if !eig.Factorize(&cov, true) {
		return nil, bad("the covariance of the points has no eigenvalues")
	}
	values, total := eig.Values(nil), mat.Trace(&cov)
	q, sum := f.Axes, 0.
	if q == 0 {
		for ; q < d && sum < .95*total; q++ {
			sum += values[d-1-q]
		}
		q = max(q, 1)
	}
	if !(values[d-q] > 1e-12*values[d-1]) {
		return nil, bad("FitMixture: Axes = %d: the points vary in fewer dimensions", q)
	}
	var vectors mat.Dense
	eig.VectorsTo(&vectors)
	s.axes = mat.DenseCopyOf(vectors.Slice(0, d, d-q, d))
	if q < d {
		s.others, s.rest = mat.DenseCopyOf(vectors.Slice(0, d, 0, d-q)), values[:d-q]
		for j, v := range s.rest {
			s.rest[j] = max(v, 1e-12*values[d-1])
		}
	}
	return s, nil
}

// means is k-means from random points: for each part the weight, 0 or 1, that each point has in it.
func (f FitMixture) means(rng *rand.Rand, u *mat.Dense) [][]float64 {
	n, q := u.Dims()
	centres := mat.NewDense(f.Parts, q, nil)
	for k, i := range rng.Perm(n)[:f.Parts] {
		centres.SetRow(k, u.RawRowView(i))
	}
	var shares [][]float64
	for range 5 {
		shares = make([][]float64, f.Parts)
		for k := range shares {
			shares[k] = make([]float64, n)
		}
		// |u − c|²/2 less what does not depend on c.
		products := mat.NewDense(n, f.Parts, nil)
		dense.Multiply(products, u, centres.T())
		half := make([]float64, f.Parts)
		for k := range half {
			half[k] = floats.Dot(centres.RawRowView(k), centres.RawRowView(k)) / 2
		}
		for i := range n {
			row := products.RawRowView(i)
			floats.Sub(row, half)
			shares[floats.MaxIdx(row)][i] = 1
		}
		for k := range centres.RawMatrix().Rows {
			if total := floats.Sum(shares[k]); total > 0 {
				var c mat.VecDense
				c.MulVec(u.T(), mat.NewVecDense(n, shares[k]))
				c.ScaleVec(1/total, &c)
				centres.SetRow(k, c.RawVector().Data)
			}
		}
	}
	return shares
}

// maximise returns the mixture whose parts have the means and shrunk covariances of the points in
// their shares. Parts with a total share of less than one point are left out.
func (f FitMixture) maximise(u *mat.Dense, shares [][]float64) (*Mixture, error) {
	n, q := u.Dims()
	pooled := mat.NewSymDense(q, nil)
	var weights []float64
	var means [][]float64
	var scatters []*mat.SymDense
	for _, w := range shares {
		total := floats.Sum(w)
		if total < 1 {
			continue
		}
		mean := make([]float64, q)
		for i, v := range w {
			floats.AddScaled(mean, v/total, u.RawRowView(i))
		}
		var scaled []float64
		for i, v := range w {
			if v > 1e-6 {
				row := make([]float64, q)
				floats.SubTo(row, u.RawRowView(i), mean)
				floats.Scale(math.Sqrt(v), row)
				scaled = append(scaled, row...)
			}
		}
		scatter := mat.NewSymDense(q, nil)
		scatter.SymOuterK(1, mat.NewDense(len(scaled)/q, q, scaled).T())
		pooled.AddSym(pooled, scatter)
		weights, means, scatters = append(weights, total), append(means, mean), append(scatters, scatter)
	}
	pooled.ScaleSym(f.Shrink/float64(n), pooled)
	parts := make([]*Gaussian, len(weights))
	for k, s := range scatters {
		s.AddSym(s, pooled)
		s.ScaleSym(1/(weights[k]+f.Shrink), s)
		var err error
		if parts[k], err = NewGaussian(means[k], s); err != nil {
			return nil, err
		}
	}
	return NewMixture(weights, parts...)
}

// A Subspace is the exact field of points that are a mixture along some axes about their mean and,
// independently, normal along the others. Immutable and safe for concurrent use.
type Subspace struct {
	mean   []float64
	axes   *mat.Dense // d×q, orthonormal columns
	others *mat.Dense // d×(d−q); nil if there are none
	rest   []float64  // variances along the others
	inside *Mixture
}

// String describes the fit in a line.
func (s *Subspace) String() string {
	return fmt.Sprintf("mixture of %d Gaussians along %d axes of R^%d, normal along the others", s.Parts(),
		s.Axes(), s.Dim())
}

// Dim returns d.
func (s *Subspace) Dim() int { return len(s.mean) }

// Axes returns the number of axes along which the field is a mixture.
func (s *Subspace) Axes() int { _, q := s.axes.Dims(); return q }

// Parts returns the number of Gaussians.
func (s *Subspace) Parts() int { return len(s.inside.parts) }

// coordinates returns those of the rows of x along axes.
func (s *Subspace) coordinates(x, axes *mat.Dense) *mat.Dense {
	n, _ := x.Dims()
	_, q := axes.Dims()
	u := mat.NewDense(n, q, nil)
	dense.Multiply(u, centred(x, s.mean), axes)
	return u
}

// Score implements Field. Cost 4·N·(d² + K·q²) for K parts in q axes.
func (s *Subspace) Score(dst, x *mat.Dense, sigma float64) error {
	if err := CheckBatch(s.Dim(), dst, x, sigma); err != nil {
		return err
	}
	u := s.coordinates(x, s.axes)
	g := mat.NewDense(u.RawMatrix().Rows, u.RawMatrix().Cols, nil)
	if err := s.inside.Score(g, u, sigma); err != nil {
		return err
	}
	dense.Multiply(dst, g, s.axes.T())
	if s.others == nil {
		return nil
	}
	w, pull := s.coordinates(x, s.others), mat.NewDense(dst.RawMatrix().Rows, s.Dim(), nil)
	w.Apply(func(_, j int, v float64) float64 { return v / (s.rest[j] + sigma*sigma) }, w)
	dense.Multiply(pull, w, s.others.T())
	dst.Sub(dst, pull)
	return nil
}

// LogDensity implements Density, with the constant. Cost half of Score's.
func (s *Subspace) LogDensity(dst []float64, x *mat.Dense, sigma float64) error {
	if err := checkDensity(s.Dim(), dst, x, sigma); err != nil {
		return err
	}
	if err := s.inside.LogDensity(dst, s.coordinates(x, s.axes), sigma); err != nil || s.others == nil {
		return err
	}
	w := s.coordinates(x, s.others)
	for i := range dst {
		for j, v := range w.RawRowView(i) {
			all := s.rest[j] + sigma*sigma
			dst[i] -= (v*v/all + math.Log(2*math.Pi*all)) / 2
		}
	}
	return nil
}
