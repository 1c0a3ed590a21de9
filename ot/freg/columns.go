package freg

// farColumn is the ratio of a column to its weight beyond which a Newton step says little about it;
// its potential is then found from the column's own equation.
const farColumn = 2

// sinkhornColumns solves the equation of every column that is off by a factor of farColumn or more,
// Σ_i a_i m((φ_i + ψ_j − c_ij)/λ) = 1, for the φ of the last eval: a half step of generalised
// Sinkhorn for some of the columns. It never lowers the dual, which for given φ is a sum over
// columns, each of which it maximises. So an atom of very small mass, which has almost no curvature
// and hardly counts in the marginal error, does not delay the steps of all others. It reports
// whether there was such a column; if so it takes a pass over the costs.
func (s *semidual) sinkhornColumns(psi []float64) bool {
	var far []int
	for j, b := range s.b {
		if c := s.col[j]; c < b/farColumn || c > b*farColumn {
			far = append(far, j)
		}
	}
	if far == nil {
		return false
	}
	n := len(s.a)
	phi := make([]float64, n)
	s.phi(phi)
	r, full, pack := newRow(n, 0), make([]float64, len(s.full.b)), make([]float64, len(s.b))
	row := func(i int) []float64 { return s.costs(i, full, pack) }
	eachColumn(n, far, row, func(j int, cost []float64) {
		r.load(s.f, s.lambda, phi, cost)
		r.solve(s.f, s.a, 0)
		psi[j] = s.lambda*r.x - r.top
	})
	return true
}
