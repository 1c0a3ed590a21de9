package ot

import (
	"context"
	"math"

	"gonum.org/v1/gonum/mat"
)

// Annealed is the Sinkhorn loss as GeomLoss 0.2.3 computes it, and so what the published DP-Sinkhorn trains on: a fixed
// number of symmetrised (averaged) updates while ε falls from the diameter of the points to Blurᵖ, one last update of
// both potentials from each other, and gradients with those potentials held still. It does not converge, and says so:
// the Status of its Term is IterationLimit unless the marginals happen to be right. It is here to reproduce that paper
// faithfully; use Solved for anything else.
type Annealed struct {
	// Blur is ε^(1/p); 0 is 0.05.
	Blur float64
	// P is the p of the scale: ε = Blurᵖ, and ε starts at Diameterᵖ; 0 is 1. The cost is the geometry's all the same.
	P float64
	// Scaling in (0, 1) is the ratio of one Blur to the last; 0 is ½.
	Scaling float64
	// Diameter is the size of the points; 0 measures it: the norm of the ranges of all coordinates.
	Diameter float64
}

// Eval returns <a,f> + <b,g> and its gradients. The gradient of source i is aᵢ Σⱼ softmaxⱼ ∂c_ij/∂xᵢ,
// and those of the weights are f and g.
func (o Annealed) Eval(ctx context.Context, p Problem, grad bool) (*Term, error) {
	in, err := p.check(0)
	if err != nil {
		return nil, err
	}
	pc, ok := in.g.(*PointCloud)
	if !ok {
		return nil, bad(ErrUnsupported, "Annealed: the geometry is %T, want one of ot.Points", in.g)
	}
	schedule, err := o.schedule(pc)
	if err != nil {
		return nil, err
	}
	u := newAveraged(in)
	u.update(schedule[0], true)
	u.f, u.nextF = u.nextF, u.f
	u.g, u.nextG = u.nextG, u.g
	for _, eps := range schedule {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		u.update(eps, false)
		for i, v := range u.nextF {
			u.f[i] = (u.f[i] + v) / 2
		}
		for j, v := range u.nextG {
			u.g[j] = (u.g[j] + v) / 2
		}
	}
	eps := schedule[len(schedule)-1]
	u.update(eps, false)
	t := &Term{Value: dotPositive(in.a, u.nextF) + dotPositive(in.b, u.nextG), Status: IterationLimit}
	t.MarginalL1 = u.columnError(eps)
	if t.MarginalL1 <= defaultTol {
		t.Status = Converged
	}
	if grad {
		t.X, t.Y = u.gradients(pc, eps)
		t.A, t.B = u.nextF, u.nextG
	}
	return t, nil
}

// schedule lists the values of ε, the first for the starting potentials as well.
func (o Annealed) schedule(pc *PointCloud) ([]float64, error) {
	blur, p, scaling, diameter := o.Blur, o.P, o.Scaling, o.Diameter
	for _, f := range []struct {
		name string
		v    *float64
		zero float64
	}{{"Blur", &blur, 0.05}, {"P", &p, 1}, {"Scaling", &scaling, 0.5}, {"Diameter", &diameter, pc.diameter()}} {
		if math.IsNaN(*f.v) || *f.v < 0 || math.IsInf(*f.v, 0) {
			return nil, bad(ErrParameter, "Annealed.%s = %g: must be > 0 and finite, or 0 for %g", f.name, *f.v, f.zero)
		}
		if *f.v == 0 {
			*f.v = f.zero
		}
	}
	if scaling >= 1 {
		return nil, bad(ErrParameter, "Annealed.Scaling = %g: must be in (0, 1), or 0 for 0.5", scaling)
	}
	if diameter == 0 { // all points coincide
		diameter = blur
	}
	out := []float64{math.Pow(diameter, p)}
	lo, hi, step := p*math.Log(blur), p*math.Log(diameter), p*math.Log(scaling)
	for k := range max(0, int(math.Ceil((lo-hi)/step))) {
		out = append(out, math.Exp(hi+float64(k)*step))
	}
	return append(out, math.Pow(blur, p)), nil
}

// diameter returns the norm of the ranges of the coordinates over both clouds.
func (p *PointCloud) diameter() float64 {
	var s float64
	for k := range p.d {
		lo, hi := math.Inf(1), math.Inf(-1)
		for i := range p.n {
			lo, hi = min(lo, p.x.At(i, k)), max(hi, p.x.At(i, k))
		}
		for _, v := range p.yt[k*p.m : (k+1)*p.m] {
			lo, hi = min(lo, v), max(hi, v)
		}
		s += (hi - lo) * (hi - lo)
	}
	return math.Sqrt(s)
}

// averaged holds the potentials of the symmetrised iteration.
type averaged struct {
	*instance
	f, g, nextF, nextG []float64
	h, e, top, sum     []float64
}

func newAveraged(in *instance) *averaged {
	v := func(k int) []float64 { return make([]float64, k) }
	return &averaged{instance: in, f: v(in.n), g: v(in.m), nextF: v(in.n), nextG: v(in.m), h: v(in.m), e: v(in.m), top: v(in.m), sum: v(in.m)}
}

// update computes nextF from g and nextG from f by soft minima at ε, one pass over the costs; first takes f = g = 0.
func (u *averaged) update(eps float64, first bool) {
	inv := 1 / eps
	for j, b := range u.b {
		u.h[j] = math.Log(b)
		if !first {
			u.h[j] += u.g[j] * inv
		}
	}
	kern.ColStart(u.top, u.sum)
	for i, a := range u.a {
		c := u.instance.g.Row(i, u.e)
		u.nextF[i] = -eps * kern.RowLSE(u.h, c, inv)
		if a == 0 {
			continue
		}
		at := math.Log(a)
		if !first {
			at += u.f[i] * inv
		}
		kern.ColAdd(u.top, u.sum, c, at, inv)
	}
	kern.ColLSE(u.nextG, u.top, u.sum)
	for j := range u.nextG {
		u.nextG[j] *= -eps
	}
}

// columnError returns Σ|Tᵀ1−b| for T = aᵢ softmaxⱼ of g, whose rows are right.
func (u *averaged) columnError(eps float64) float64 {
	col := make([]float64, u.m)
	for i, a := range u.a {
		sum := u.softmax(i, eps)
		axpy(col, u.e, a/sum)
	}
	return kern.L1Diff(col, u.b)
}

// softmax writes the unnormalised softmax of row i at g to e and returns its sum.
func (u *averaged) softmax(i int, eps float64) float64 {
	for j, b := range u.b {
		u.h[j] = math.Log(b) + u.g[j]/eps
	}
	_, sum := kern.RowExp(u.e, u.h, u.instance.g.Row(i, u.e), 1/eps)
	return sum
}

// gradients returns aᵢ Σⱼ softmaxⱼ ∂c_ij/∂xᵢ and bⱼ Σᵢ softmaxᵢ ∂c_ij/∂yⱼ.
func (u *averaged) gradients(pc *PointCloud, eps float64) (dx, dy *mat.Dense) {
	dx, dy = mat.NewDense(u.n, pc.d, nil), mat.NewDense(u.m, pc.d, nil)
	cost := make([]float64, u.m)
	for i, a := range u.a {
		sum := u.softmax(i, eps)
		x := pc.x.RawRowView(i)
		c := pc.Row(i, cost)
		for j, e := range u.e {
			y := pc.y.RawRowView(j)
			if w := a * e / sum; w > 0 {
				pc.Kind.Grad(dx.RawRowView(i), nil, w, x, y)
			}
			// nextG is the soft minimum of the column, so this is its softmax.
			if w := u.b[j] * a * math.Exp((u.f[i]+u.nextG[j]-c[j])/eps); w > 0 {
				pc.Kind.Grad(nil, dy.RawRowView(j), w, x, y)
			}
		}
	}
	return dx, dy
}
