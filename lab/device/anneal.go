package device

import (
	"math"

	"coupling/lab/device/internal/backend"
)

// annealer is a backend that makes all updates of Anneal in few launches, for problems up to some size.
type annealer interface {
	Anneals(n, m int) bool
	Anneal(f, g, lastF, lastG, c backend.Tensor, eps []float64)
}

// Anneal solves B transport problems of costs c, B×n×m, with uniform weights, by symmetrised
// Sinkhorn updates while ε falls along eps (Feydy et al. 2019, section 3.3): f, B×n, and g, B×m,
// start as the soft minima of c at eps₀ and then, for each ε, become the means of themselves and of
// each other's soft minima,
//
//	f_i ← ½ f_i − ½ ε (log Σ_j exp((g_j − c_ij)/ε) − log m),  g_j ← ½ g_j − ½ ε (log Σ_i exp((f_i − c_ij)/ε) − log n),
//
// both from their values before. lastF and lastG are the soft minima of the result at the last ε,
// without the mean. Work: 2nm exponentials an update and problem. A GPU takes a block a problem,
// where n and m are at most 1024, and one launch for 128 updates of thousands of problems.
func Anneal(f, g, lastF, lastG, c *Array, eps []float64) {
	k := check("Anneal", f).float(g, lastF, lastG, c).shape("c", c, -1, -1, -1)
	s := c.t.Shape
	k.shape("f", f, s[0], s[1]).shape("g", g, s[0], s[2]).shape("lastF", lastF, s[0], s[1]).
		shape("lastG", lastG, s[0], s[2])
	k.apart(g, lastF, lastG, c).into(g).apart(lastF, lastG, c).into(lastF).apart(lastG, c).into(lastG).apart(c)
	if len(eps) == 0 {
		k.fail("eps is empty")
	}
	if b, ok := f.d.b.(annealer); ok && b.Anneals(s[1], s[2]) {
		k.do(func() { b.Anneal(f.t, g.t, lastF.t, lastG.t, c.t, eps) })
		return
	}
	defer f.d.Scope().Close()
	half := softMinima{
		c:    c,
		argF: f.Like(),
		argG: g.Like(),
		logN: math.Log(float64(s[1])),
		logM: math.Log(float64(s[2])),
	}
	Fill(f, 0)
	Fill(g, 0)
	half.update(eps[0], f, g, f, g)
	for _, e := range eps {
		half.update(e, f, g, lastF, lastG)
		Axpby(f, .5, f, .5, lastF)
		Axpby(g, .5, g, .5, lastG)
	}
	half.update(eps[len(eps)-1], f, g, lastF, lastG)
}

// softMinima is an update and what it needs.
type softMinima struct {
	c, argF, argG *Array
	logN, logM    float64
}

// update writes the soft minima of g to toF and those of f to toG.
func (s *softMinima) update(eps float64, f, g, toF, toG *Array) {
	inv := 1 / eps
	Scale(s.argF, inv, f)
	Scale(s.argG, inv, g)
	LSERows(toF, s.c, s.argG, inv)
	LSECols(toG, s.c, s.argF, inv)
	Map(toF, toF, AddConst, -s.logM)
	Map(toG, toG, AddConst, -s.logN)
	Scale(toF, -eps, toF)
	Scale(toG, -eps, toG)
}
