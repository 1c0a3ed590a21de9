package semidual

import (
	"math"
	"math/rand/v2"

	"coupling/data"
	"coupling/dp/synth"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Model is the result of training: post-processing of releases, and so as private as they are,
// however often it is sampled.
type Model struct {
	Public synth.Public
	Basis  Basis
	Atoms  []*mat.Dense    // of each class, coefficients
	Weight [][]float64     // of each atom in its class, summing to 1; 0 for atoms of negligible mass
	Spread []*mat.SymDense // covariance about the atoms of a class, of the Keep coefficients; nil without Local
	Keep   []int
	Tone   *Tone     // of samples; nil: they are only clamped
	Count  []float64 // noisy number of records of each class
	Mean   []float64 // of each pixel in records, classes counting alike
}

func (t *trainer) model(p synth.Public, spread []*mat.SymDense) *Model {
	m := &Model{Public: p, Basis: *t.basis, Atoms: t.x, Spread: spread, Keep: t.keep}
	for _, h := range t.held {
		m.Weight = append(m.Weight, weightsOf(h))
	}
	m.Mean = t.mean()
	for _, c := range t.count {
		m.Count = append(m.Count, max(0, c/float64(t.counted)))
	}
	if spread != nil && t.Contrast > 0 {
		m.Tone = m.tone(t.Contrast)
	}
	return m
}

// mean is the mean of each pixel by the releases themselves. That of atoms is too large where
// records are black: atoms there are noise and waves of the basis, of which clamping leaves the
// bright half.
func (t *trainer) mean() []float64 {
	_, dim := t.x[0].Dims()
	mean := mat.NewDense(1, dim, nil)
	for l, sum := range t.sum {
		records := max(floats.Sum(t.held[l])/math.Sqrt(t.Split), 1)
		floats.AddScaled(mean.RawRowView(0), 1/records/float64(len(t.sum)), sum)
	}
	return t.basis.Decode(mean).RawRowView(0)
}

// weightsOf turns noisy masses into weights. At the optimum of the semi-dual all atoms have the
// same mass; the remaining differences after training are limited to a factor of two. An atom with
// less than a third of that mass was lost in training, and has weight 0.
func weightsOf(held []float64) []float64 {
	want := max(floats.Sum(held), 0) / float64(len(held))
	out := make([]float64, len(held))
	for i, h := range held {
		if h >= want/3 {
			out[i] = min(max(h, want/2), 2*want)
		}
	}
	sum := floats.Sum(out)
	if sum == 0 { // only noise
		for i := range out {
			out[i] = 1 / float64(len(out))
		}
		return out
	}
	floats.Scale(1/sum, out)
	return out
}

// draw is an index with the probability of its weight.
func draw(rng *rand.Rand, weight []float64) int {
	u, last := rng.Float64(), 0
	for i, w := range weight {
		if u -= w; w > 0 {
			if last = i; u < 0 {
				break
			}
		}
	}
	return last
}

// Sample draws n images, the classes in turn: an atom and, if covariances were learnt, a Gaussian
// step from it, mapped by the Tone.
func (m *Model) Sample(rng *rand.Rand, n int) (*data.Images, error) {
	roots := make([]*mat.SymDense, len(m.Atoms))
	for l, s := range m.Spread {
		roots[l] = root(s)
	}
	_, dim := m.Atoms[0].Dims()
	return synth.Draw(m.Public, "semi-dual", n, 0, func(labels []int) ([]float64, error) {
		x := mat.NewDense(len(labels), dim, nil)
		for i, l := range labels {
			row := x.RawRowView(i)
			copy(row, m.Atoms[l].RawRowView(draw(rng, m.Weight[l])))
			if roots[l] != nil {
				for j, u := range gaussian(rng, roots[l]) {
					row[m.Keep[j]] += u
				}
			}
		}
		pixels := m.Basis.Decode(x)
		for i := range labels {
			if m.Tone != nil {
				m.Tone.apply(pixels.RawRowView(i))
			}
		}
		return pixels.RawMatrix().Data, nil
	})
}
