package refine

import (
	"math"

	"coupling/data"
	"coupling/dp/release"
	"coupling/dp/synth/semidual"
	"coupling/ot/gaussian"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// moments are the number of records and the sum of z in each class, and the sum of zzᵀ over all of them.
type moments struct {
	count  []float64
	first  *mat.Dense // classes × coordinates
	second *mat.SymDense
}

func (f *features) noMoments() moments {
	classes, axes := f.mean.Dims()
	return moments{make([]float64, classes), mat.NewDense(classes, axes, nil), mat.NewSymDense(axes, nil)}
}

const (
	// grain is the step to which z is rounded towards 0. Sums of zzᵀ, whose entries are multiples
	// of grain² and at most 1 in a record, are then exact in float64 for up to mostRecords.
	grain       = 0x1p-13
	mostRecords = 1 << 27
	// counts and means are the shares γ² and β² of the squared norm of a record's part.
	counts, means = .01, .3
	// ridge is added to covariances, over their mean variance: the map between them is then well conditioned.
	ridge = .01
)

var others = math.Sqrt(1 - counts - means) // the factor of zzᵀ

// sums are the exact sums of a record's part over records, before the factors γ, β and √(1−β²−γ²).
func (f *features) sums(images *data.Images) (moments, error) {
	m := f.noMoments()
	err := f.each(images, func(i int, z []float64) {
		l := images.Labels[i]
		f.clip(z, l)
		for j, v := range z {
			z[j] = math.Trunc(v/grain) * grain
		}
		m.count[l]++
		floats.Add(m.first.RawRowView(l), z)
		m.second.SymRankOne(m.second, 1, mat.NewVecDense(len(z), z))
	})
	return m, err
}

// visit calls do for each value of a release, with the factor by which it is released.
func (m moments) visit(do func(v *float64, factor float64)) {
	for l := range m.count {
		do(&m.count[l], math.Sqrt(counts))
		for j := range m.first.RawRowView(l) {
			do(&m.first.RawRowView(l)[j], math.Sqrt(means))
		}
	}
	second := m.second.RawSymmetric()
	for i := range second.N {
		for j := i; j < second.N; j++ {
			factor := others * math.Sqrt2
			if j == i {
				factor = others
			}
			do(&second.Data[i*second.Stride+j], factor)
		}
	}
}

// release returns the moments of private images with noise of multiplier sigma.
func (f *features) release(images *data.Images, run *release.Run, sigma float64) (moments, error) {
	m, err := f.sums(images)
	if err != nil {
		return m, err
	}
	var values []float64
	m.visit(func(v *float64, factor float64) { values = append(values, factor**v) })
	if values, err = run.Release("moments", 0, values, sigma, 1); err != nil {
		return m, err
	}
	m.visit(func(v *float64, factor float64) { *v, values = values[0]/factor, values[1:] })
	return m, nil
}

// transport returns the map of coordinates of each class: samples have the private images' mean in
// it after the map and, over all classes, the covariance about those means.
func (f *features) transport(m moments, sigma float64) ([]gaussian.Affine, error) {
	total := max(floats.Sum(m.count), 1)
	classes, axes := m.first.Dims()
	within := mat.NewSymDense(axes, nil)
	within.ScaleSym(1/total, m.second)
	maps := make([]gaussian.Affine, classes)
	for l, n := range m.count {
		first := m.first.RawRowView(l)
		floats.Scale(1/max(n, 1), first)
		within.SymRankOne(within, -max(n, 0)/total, mat.NewVecDense(axes, first))
		maps[l] = gaussian.Affine{From: f.mean.RawRowView(l), To: make([]float64, axes)}
		floats.AddTo(maps[l].To, maps[l].From, first)
	}
	if sigma > 0 {
		within = semidual.Denoise(within, sigma/others/total)
	}
	ours := mat.NewSymDense(axes, nil)
	for j, v := range f.variance {
		ours.SetSym(j, j, v+ridge*floats.Sum(f.variance)/float64(axes))
	}
	more := ridge * max(mat.Trace(within), 0) / float64(axes)
	for j := range axes {
		within.SetSym(j, j, within.At(j, j)+more)
	}
	all, err := gaussian.Map(gaussian.Normal{Cov: ours}, gaussian.Normal{Cov: within})
	for l := range maps {
		maps[l].Linear = all.Linear
	}
	return maps, err
}
