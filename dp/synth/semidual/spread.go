package semidual

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Denoise returns a positive semidefinite estimate of a covariance that was released with noise: s
// on the diagonal, s/√2 off it, a Wigner matrix whose eigenvalues reach ±ρ, ρ = s√(2d). An
// eigenvalue λ of the covariance appears as λ + ρ²/4λ if λ > ρ/2, and is hidden by noise otherwise
// (Capitaine, Donati-Martin, Féral 2009); Denoise inverts this. The hidden directions share the
// rest of the trace, which noise hardly changes.
func Denoise(m *mat.SymDense, s float64) *mat.SymDense {
	d := m.SymmetricDim()
	rho := s * math.Sqrt(2*float64(d))
	left, drowned := mat.Trace(m), 0
	shrink := func(v float64) float64 {
		if v <= rho || v <= 0 {
			return 0
		}
		return (v + math.Sqrt(v*v-rho*rho)) / 2
	}
	spectral(m, func(v float64) float64 {
		if left -= shrink(v); shrink(v) == 0 {
			drowned++
		}
		return 0
	})
	rest := max(left, 0) / float64(max(drowned, 1))
	return spectral(m, func(v float64) float64 {
		if u := shrink(v); u > 0 {
			return u
		}
		return min(rest, rho/2)
	})
}

// root is the symmetric square root of a positive semidefinite matrix.
func root(m *mat.SymDense) *mat.SymDense {
	return spectral(m, func(v float64) float64 { return math.Sqrt(max(v, 0)) })
}

// spectral applies a function to the eigenvalues.
func spectral(m *mat.SymDense, f func(float64) float64) *mat.SymDense {
	var e mat.EigenSym
	if !e.Factorize(m, true) {
		return m // does not happen for finite matrices
	}
	var u mat.Dense
	e.VectorsTo(&u)
	d := m.SymmetricDim()
	out := mat.NewSymDense(d, nil)
	for k, v := range e.Values(nil) {
		if g := f(v); g != 0 {
			out.SymRankOne(out, g, u.ColView(k))
		}
	}
	return out
}

// grow splits each atom into several copies, moved apart by draws from the class's covariance at
// half its size, or by draws of low frequencies if there is none.
func (t *trainer) grow(atoms int, spread []*mat.SymDense) {
	for l, x := range t.x {
		n, dim := x.Dims()
		more, v := mat.NewDense(atoms, dim, nil), make([]float64, atoms)
		scale := .7 / math.Sqrt(float64(n))
		var by *mat.SymDense
		if spread != nil {
			by = root(spread[l])
		}
		for i := range atoms {
			row := more.RawRowView(i)
			copy(row, x.RawRowView(i%n))
			v[i] = t.v[l][i%n]
			if by == nil {
				for j := range min(dim, 16) {
					row[j] += .5 * scale * t.public.NormFloat64()
				}
				continue
			}
			for j, u := range gaussian(t.public, by) {
				row[t.keep[j]] += scale * u
			}
		}
		t.x[l], t.v[l], t.held[l], t.sum[l] = more, v, make([]float64, atoms), make([]float64, dim)
		t.clamp(t.x[l])
	}
}

// gaussian is a draw of covariance by².
func gaussian(rng interface{ NormFloat64() float64 }, by *mat.SymDense) []float64 {
	d := by.SymmetricDim()
	z := mat.NewVecDense(d, nil)
	for i := range d {
		z.SetVec(i, rng.NormFloat64())
	}
	out := mat.NewVecDense(d, nil)
	out.MulVec(by, z)
	return out.RawVector().Data
}

// filter is Wiener's: with the covariance C of a class as the prior of its atoms about their mean,
// and noise of variance s² in each coefficient, the best linear estimate of an atom is mean +
// C(C+s²)⁻¹(x−mean). s is that of the releases of the last size; it depends on the noise, not on
// images.
func (t *trainer) filter(prior []*mat.SymDense, steps int) {
	for l, x := range t.x {
		n, _ := x.Dims()
		want := max(t.count[l]/float64(t.counted), 1) / float64(n)
		s := t.NoiseMultiplier * t.Clip / math.Sqrt(1-t.Split) / want
		s2 := s * s / float64(steps-steps/3) // the later steps average
		if s2 == 0 {
			continue
		}
		gain := spectral(prior[l], func(v float64) float64 { return max(v, 0) / (max(v, 0) + s2) })
		mean, off, to := make([]float64, len(t.keep)), mat.NewVecDense(len(t.keep), nil),
			mat.NewVecDense(len(t.keep), nil)
		for i, k := range t.keep {
			mean[i] = mat.Sum(x.ColView(k)) / float64(n)
		}
		for j := range n {
			for i, k := range t.keep {
				off.SetVec(i, x.At(j, k)-mean[i])
			}
			to.MulVec(gain, off)
			for i, k := range t.keep {
				x.Set(j, k, mean[i]+to.AtVec(i))
			}
		}
		t.clamp(x)
	}
}

// scale is a factor for each of the coefficients keep: v^(−¼), where v = 1/(1 + (f/bend)²) is the
// variance that is assumed of frequency f, halfway between equal variances and equal noise, times a
// constant for which the expected squared length stays as it is. It does not depend on images. For
// bend = 0 it is nil.
func (b *Basis) scale(keep []int, bend float64) []float64 {
	if bend == 0 {
		return nil
	}
	out := make([]float64, len(keep))
	before, after := 0., 0.
	for i, k := range keep {
		f := b.at[k%len(b.at)]
		v := 1 / (1 + float64(f[0]*f[0]+f[1]*f[1])/(bend*bend))
		out[i] = math.Pow(v, -.25)
		before, after = before+v, after+v*out[i]*out[i]
	}
	floats.Scale(math.Sqrt(before/after), out)
	return out
}

// unscale divides row and column i by scale[i].
func unscale(m *mat.SymDense, scale []float64) {
	for i := range scale {
		for j := i; j < len(scale); j++ {
			m.SetSym(i, j, m.At(i, j)/(scale[i]*scale[j]))
		}
	}
}
