package scones

import (
	"coupling/lab/device"
	"coupling/lab/device/cpu/dense"
	"coupling/ot/gaussian"
	"coupling/score"

	"gonum.org/v1/gonum/mat"
)

// A Potential is one of the two functions φ and ψ of a dual.
type Potential interface {
	// Dim returns the dimension of the points.
	Dim() int
	// Eval writes the values at the rows of y to value, of length N, and the gradients to grad, N×d. Either may be nil.
	Eval(value []float64, grad, y *mat.Dense) error
}

// A DevicePotential also computes where points lie on a device.
type DevicePotential interface {
	Potential
	Device() *device.Device
	// Gradient returns the gradients at the points y, float64 N×d, in a new array of their type.
	// Its work may be recorded.
	Gradient(y *device.Array) *device.Array
}

// Quadratic is the potential (y−m)ᵀS(y−m) + bᵀ(y−m) + c, the form of all potentials between
// Gaussians under KL and |x−y|².
type Quadratic struct {
	M []float64     // length d
	S *mat.SymDense // d×d
	B []float64     // length d
	C float64
}

// Potentials returns the exact potentials of the plan between two Gaussians at the cost |x−y|², for
// Compatibility{F: KL, Lambda: plan.Eps}.
func Potentials(plan *gaussian.Plan) (phi, psi *Quadratic) {
	one := func(p, q gaussian.Normal, k *mat.SymDense, value func([]float64) float64) *Quadratic {
		d := p.Dim()
		out := &Quadratic{M: make([]float64, d), S: mat.NewSymDense(d, nil), B: make([]float64, d)}
		if p.Mean != nil {
			copy(out.M, p.Mean)
		}
		out.S.ScaleSym(-1, k)
		for i := range d {
			out.S.SetSym(i, i, 1+out.S.At(i, i))
			out.B[i] = 2 * out.M[i]
			if q.Mean != nil {
				out.B[i] -= 2 * q.Mean[i]
			}
		}
		out.C = value(out.M) + plan.Eps/2
		return out
	}
	return one(plan.P, plan.Q, plan.Forward, plan.F), one(plan.Q, plan.P, plan.Backward, plan.G)
}

// Dim returns d.
func (q *Quadratic) Dim() int { return len(q.M) }

// Eval implements Potential. Cost 2·N·d².
func (q *Quadratic) Eval(value []float64, grad, y *mat.Dense) error {
	n, d := y.Dims()
	if err := CheckEval(q.Dim(), value, grad, y); err != nil {
		return err
	}
	x := mat.NewDense(n, d, nil)
	for i := range n {
		row := x.RawRowView(i)
		for k, v := range y.RawRowView(i) {
			row[k] = v - q.M[k]
		}
	}
	sx := mat.NewDense(n, d, nil)
	dense.Multiply(sx, x, mat.DenseCopyOf(q.S))
	for i := range n {
		a, b := x.RawRowView(i), sx.RawRowView(i)
		sum := q.C
		for k, v := range a {
			sum += v * (b[k] + q.B[k])
			if grad != nil {
				grad.Set(i, k, 2*b[k]+q.B[k])
			}
		}
		if value != nil {
			value[i] = sum
		}
	}
	return nil
}

// CheckEval returns an error for arguments of Eval that do not fit a potential on R^d.
func CheckEval(d int, value []float64, grad, y *mat.Dense) error {
	if n, _ := y.Dims(); value != nil && len(value) != n {
		return misfit("%d values of %d points", len(value), n)
	}
	return score.CheckBatch(d, grad, y, 0)
}
