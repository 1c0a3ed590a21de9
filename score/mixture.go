package score

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// A Mixture is the exact field of Σ_k w_k N(m_k, S_k): the scores of its parts, weighted by which part x comes from.
// Immutable and safe for concurrent use.
type Mixture struct {
	logw  []float64
	parts []*Gaussian
}

// NewMixture returns the field of a mixture of Gaussians of one dimension. Weights are divided by their sum; nil means
// equal ones.
func NewMixture(weights []float64, parts ...*Gaussian) (*Mixture, error) {
	if len(parts) == 0 {
		return nil, misfit("a mixture without parts")
	}
	for _, p := range parts {
		if p.Dim() != parts[0].Dim() {
			return nil, misfit("parts of dimensions %d and %d", parts[0].Dim(), p.Dim())
		}
	}
	logw, err := logWeights(weights, len(parts))
	return &Mixture{logw: logw, parts: slices.Clone(parts)}, err
}

// Dim returns d.
func (m *Mixture) Dim() int { return m.parts[0].Dim() }

// logs returns for each part the logarithms of w_k p_k(x_i), and their log-sum-exps.
func (m *Mixture) logs(x *mat.Dense, sigma float64) (parts [][]float64, all []float64, err error) {
	n, _ := x.Dims()
	parts = make([][]float64, len(m.parts))
	for k, p := range m.parts {
		parts[k] = make([]float64, n)
		if err := p.LogDensity(parts[k], x, sigma); err != nil {
			return nil, nil, err
		}
		floats.AddConst(m.logw[k], parts[k])
	}
	all = make([]float64, n)
	of := make([]float64, len(m.parts))
	for i := range all {
		for k := range of {
			of[k] = parts[k][i]
		}
		all[i] = floats.LogSumExp(of)
	}
	return parts, all, nil
}

// Score implements Field. Cost 4·K·N·d².
func (m *Mixture) Score(dst, x *mat.Dense, sigma float64) error {
	if err := CheckBatch(m.Dim(), dst, x, sigma); err != nil {
		return err
	}
	logs, all, err := m.logs(x, sigma)
	if err != nil {
		return err
	}
	n, d := x.Dims()
	s := mat.NewDense(n, d, nil)
	dst.Zero()
	for k, p := range m.parts {
		if err := p.Score(s, x, sigma); err != nil {
			return err
		}
		for i := range n {
			floats.AddScaled(dst.RawRowView(i), math.Exp(logs[k][i]-all[i]), s.RawRowView(i))
		}
	}
	return nil
}

// LogDensity implements Density, with the constant. Cost 2·K·N·d².
func (m *Mixture) LogDensity(dst []float64, x *mat.Dense, sigma float64) error {
	if err := checkDensity(m.Dim(), dst, x, sigma); err != nil {
		return err
	}
	_, all, err := m.logs(x, sigma)
	copy(dst, all)
	return err
}
