package nn

import (
	"math/rand/v2"

	"coupling/lab/device"
	"coupling/lab/nn/initial"
)

// Spectral divides a weight, as a matrix W of its first axis by the others, by an estimate of its largest singular
// value: σ = u·W·vᵀ with v ∝ u·W, u ∝ v·Wᵀ after Steps rounds of power iteration from the u of the last training pass
// (Miyato et al. 2018, algorithm 1; each forward pass iterates, as BigGAN's code does, and training passes keep u).
// The gradient takes u and v as constants, which is exact where the iteration has converged.
type Spectral struct {
	Steps int     // 0: 1
	Eps   float64 // least norm to divide by; 0: 1e-12

	U *Param // 1×rows, state
}

func (s *Spectral) init(dev *device.Device, t device.DType, rng *rand.Rand, rows int) {
	if s == nil {
		return
	}
	s.U = newState(dev, t, "u", initial.Normal(0, 1).Draw(rng, 1, rows), 1, rows)
}

func (s *Spectral) params() []*Param {
	if s == nil {
		return nil
	}
	return present(s.U)
}

// apply returns the weight to use and, with normalisation, u, v and σ.
func (s *Spectral) apply(p *Pass, w *device.Array) (eff *device.Array, vectors []*device.Array) {
	if s == nil {
		return w, nil
	}
	m := w.Reshape(w.Dim(0), -1)
	dev := w.Device()
	u, v, sigma := s.U.Value.Clone(), dev.New(w.Type(), 1, m.Dim(1)), dev.New(w.Type(), 1, 1)
	for range max(1, s.Steps) {
		device.Gemm(v, 1, u.N(), m.N(), 0)
		s.normalise(v, sigma)
		device.Gemm(u, 1, v.N(), m.T(), 0)
		s.normalise(u, sigma)
	}
	wv := u.Like()
	device.Gemm(wv, 1, v.N(), m.T(), 0)
	device.ReduceDot(sigma, wv, u)
	wv.Free()
	if p.Training {
		device.Convert(s.U.Value, u)
	}
	eff = m.Like()
	device.Div(eff, m, sigma)
	return eff, []*device.Array{u, v, sigma}
}

// normalise is x /= max(|x|, Eps), with room for one number.
func (s *Spectral) normalise(x, norm *device.Array) {
	least := norm.Like()
	device.Fill(least, or(s.Eps, 1e-12))
	device.Reduce(norm, x, device.Norm)
	device.Max(norm, norm, least)
	device.Div(x, x, norm)
	least.Free()
}

// grad adds to w.Grad what add adds to the gradient of the weight in use: with Ŵ = W/σ and G = ∂/∂Ŵ,
// ∂/∂W = (G − ⟨G, Ŵ⟩·uᵀv)/σ. saved is Ŵ, u, v, σ.
func (s *Spectral) grad(w *Param, saved []*device.Array, add func(dw *device.Array)) {
	m := w.Grad.Reshape(w.Grad.Dim(0), -1)
	if s == nil {
		add(m)
		return
	}
	eff, u, v, sigma := saved[0], saved[1], saved[2], saved[3]
	g := eff.Like()
	device.Fill(g, 0)
	add(g)
	along := dot(g, eff, 1, 1)
	ux := mul(u, along)
	device.Gemm(g, -1, ux.T(), v.N(), 1)
	device.Div(g, g, sigma)
	device.Add(m, m, g)
}
