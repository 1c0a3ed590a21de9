package refine

import (
	"math"

	"coupling/data"
	"coupling/dp/release"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// moments are the means of z and of zzᵀ in each class.
type moments struct {
	first  []*mat.VecDense
	second []*mat.SymDense
}

func (f *features) noMoments() (m moments) {
	classes, axes := f.mean.Dims()
	for range classes {
		m.first, m.second = append(m.first, mat.NewVecDense(axes, nil)), append(m.second, mat.NewSymDense(axes, nil))
	}
	return m
}

const (
	// grain is the step to which z is rounded towards 0. Sums of zzᵀ, whose entries are multiples of grain² and at most 1 in a
	// record, are then exact in float64 for up to mostRecords.
	grain       = 0x1p-13
	mostRecords = 1 << 27
	// counts and means are the shares γ² and β² of the squared norm of a record's part.
	counts, means = .01, .3
)

// sums are the exact sums of a record's part over records, before the factors γ, β and √(1−β²−γ²): in each class the number of
// records, the sum of z and that of zzᵀ.
func (f *features) sums(images *data.Images) (n []float64, sum moments, err error) {
	n, sum = make([]float64, f.mean.RawMatrix().Rows), f.noMoments()
	err = f.each(images, func(i int, z []float64) {
		l := images.Labels[i]
		f.clip(z, l)
		for j, v := range z {
			z[j] = math.Trunc(v/grain) * grain
		}
		n[l]++
		floats.Add(sum.first[l].RawVector().Data, z)
		sum.second[l].SymRankOne(sum.second[l], 1, mat.NewVecDense(len(z), z))
	})
	return n, sum, err
}

// visit calls do for each value of a release, with the factor by which it is released.
func (m moments) visit(n []float64, do func(v *float64, factor float64)) {
	rest := math.Sqrt(1 - counts - means)
	for l := range n {
		do(&n[l], math.Sqrt(counts))
		first, second := m.first[l].RawVector().Data, m.second[l].RawSymmetric()
		for i := range first {
			do(&first[i], math.Sqrt(means))
			for j := i; j < len(first); j++ {
				factor := rest * math.Sqrt2
				if j == i {
					factor = rest
				}
				do(&second.Data[i*second.Stride+j], factor)
			}
		}
	}
}

// release returns the moments of private images with noise of multiplier sigma: noisy sums over noisy numbers of records.
func (f *features) release(images *data.Images, run *release.Run, sigma float64) (moments, error) {
	n, m, err := f.sums(images)
	if err != nil {
		return m, err
	}
	var values []float64
	m.visit(n, func(v *float64, factor float64) { values = append(values, factor**v) })
	if values, err = run.Release("moments", 0, values, sigma, 1); err != nil {
		return m, err
	}
	m.visit(n, func(v *float64, factor float64) { *v, values = values[0]/factor, values[1:] })
	for l := range n {
		by := 1 / max(n[l], 1)
		m.first[l].ScaleVec(by, m.first[l])
		m.second[l].ScaleSym(by, m.second[l])
	}
	return m, nil
}
