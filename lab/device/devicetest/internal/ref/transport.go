package ref

import (
	"math"

	"coupling/lab/device"
)

// Plan is P_ij = exp(u_i + h_j − c_ij·inv). Zero U or H is left out.
type Plan struct {
	N, M  int
	Costs []float64 // N×M
	U, H  []float64
	Inv   float64
	Slack float64 // how many roundings a cost took, 1 for costs that were given

	// Far, unless nil, is a cost for each row whose rounding all costs of the row may have: of points
	// that are measured from the middle of the targets, the largest.
	Far []float64

	Expanded bool // Σ w_j(x − y_j) may be x·Σ w_j − Σ w_j·y_j

	// Vanish is the largest exponential that a device may take for 0, over its unit roundoff.
	Vanish float64
}

// Costs is Square·|x−y|² + Abs·|x−y|₁ between points of dimension d.
func Costs(x, y []float64, d int, c device.Cost) []float64 {
	n, m := len(x)/d, len(y)/d
	costs := make([]float64, n*m)
	for i := range n {
		for j := range m {
			var sq, abs Sum
			for k := range d {
				diff := x[i*d+k] - y[j*d+k]
				sq.AddProduct(diff, diff)
				abs.Add(math.Abs(diff))
			}
			costs[i*m+j] = c.Square*sq.Value() + c.Abs*abs.Value()
		}
	}
	return costs
}

// arg is the exponent, and the size of what it is the sum of.
func (p *Plan) arg(i, j int) (arg, size float64) {
	c := p.Costs[i*p.M+j] * p.Inv
	arg, size = -c, math.Abs(c)*max(1, p.Slack)
	if p.Far != nil {
		size += p.Far[i] * p.Inv
	}
	if p.U != nil {
		arg, size = arg+p.U[i], size+math.Abs(p.U[i])
	}
	if p.H != nil {
		arg, size = arg+p.H[j], size+math.Abs(p.H[j])
	}
	return arg, size
}

// LSE is log Σ_j exp(…) for each row.
func (p *Plan) LSE() Result {
	r := NewResult(p.N)
	args, sizes := make([]float64, p.M), make([]float64, p.M)
	for i := range p.N {
		for j := range p.M {
			args[j], sizes[j] = p.arg(i, j)
		}
		v, _ := lse(args)
		r.Value[i], r.Scale[i] = v, 1+math.Abs(v)
		for j, a := range args { // an error of an exponent counts as much as its term
			if w := math.Exp(a - v); w > 0 {
				r.Scale[i] += w * sizes[j]
			}
		}
	}
	return r
}

// Flip is the plan of the transposed problem.
func (p *Plan) Flip() *Plan {
	t := &Plan{
		N:      p.M,
		M:      p.N,
		U:      p.H,
		H:      p.U,
		Inv:    p.Inv,
		Slack:  p.Slack,
		Vanish: p.Vanish,
		Costs:  make([]float64, len(p.Costs)),
	}
	for i := range p.N {
		for j := range p.M {
			t.Costs[j*p.N+i] = p.Costs[i*p.M+j]
		}
	}
	return t
}

// Sum is out_ik = Σ_j P_ij·term(i, j, k), for terms that come with their size.
func (p *Plan) Sum(width int, term func(i, j, k int) (v, size float64)) Result {
	r := NewResult(p.N * width)
	for i := range p.N {
		for k := range width {
			var s Sum
			size := 0.0
			for j := range p.M {
				arg, error := p.arg(i, j)
				w := math.Exp(arg)
				if w == 0 {
					continue
				}
				v, terms := term(i, j, k)
				s.AddProduct(w, v)
				size += terms * (w*(1+error) + p.Vanish)
			}
			r.Value[i*width+k], r.Scale[i*width+k] = s.Value(), size
		}
	}
	return r
}

// Apply is Σ_j P_ij·v_jk, v M×width.
func (p *Plan) Apply(v []float64, width int) Result {
	return p.Sum(width, func(_, j, k int) (float64, float64) {
		return v[j*width+k], math.Abs(v[j*width+k])
	})
}

// Cost is Σ_j P_ij·c_ij.
func (p *Plan) Cost() Result {
	return p.Sum(1, func(i, j, _ int) (float64, float64) {
		c := p.Costs[i*p.M+j]
		return c, math.Abs(c)
	})
}

// Grad is Σ_j P_ij·(1 + r_i + s_j − c_ij·inv)·∂c/∂x_i, or with linear set Σ_j P_ij·(r_i + s_j)·∂c/∂x_i.
func (p *Plan) Grad(x, y []float64, d int, c device.Cost, r, s []float64, linear bool) Result {
	return p.Sum(d, func(i, j, k int) (float64, float64) {
		bracket, size := r[i]+s[j], math.Abs(r[i])+math.Abs(s[j])
		if !linear {
			e := p.Costs[i*p.M+j] * p.Inv
			bracket, size = bracket+1-e, size+1+math.Abs(e)
		}
		a, b := x[i*d+k], y[j*d+k]
		slope := 2*c.Square*(a-b) + c.Abs*sign(a-b)
		gap := math.Abs(a - b)
		if p.Expanded {
			gap = math.Abs(a) + math.Abs(b)
		}
		return bracket * slope, size * (2*c.Square*gap + c.Abs)
	})
}

func sign(x float64) float64 {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	}
	return 0
}
