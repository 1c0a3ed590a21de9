package score

import (
	"math"

	"coupling/lab/device"
	"coupling/score/internal/fault"
	"coupling/score/internal/soft"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Empirical is the exact field of weighted points that are smoothed by a Gaussian: Σ_j w_j N(y_j,
// (h² + σ²) I), h the bandwidth. Its score is (E[y|x] − x)/(h² + σ²), with E[y|x] the softmax
// average of the points. With h = 0 it is the score that a network learns from these points by
// denoising score matching if it memorises them. Immutable and safe for concurrent use.
type Empirical struct {
	points    *soft.Points
	bandwidth float64
}

// NewEmpirical returns the field of the rows of y, m×d, copied. Weights are divided by their sum; nil means equal ones.
// With bandwidth 0 the field is defined for σ > 0 only.
func NewEmpirical(y *mat.Dense, weights []float64, bandwidth float64) (*Empirical, error) {
	m, d := y.Dims()
	if m == 0 || d == 0 {
		return nil, misfit("y is %d×%d", m, d)
	}
	if err := checkFinite("y", y); err != nil {
		return nil, err
	}
	if !(bandwidth >= 0) || math.IsInf(bandwidth, 1) {
		return nil, bad("bandwidth = %g: must be finite and ≥ 0", bandwidth)
	}
	h, err := logWeights(weights, m)
	if err != nil {
		return nil, err
	}
	return &Empirical{points: soft.New(y, h), bandwidth: bandwidth}, nil
}

// logWeights returns the logarithms of n weights divided by their sum, equal ones for nil.
func logWeights(weights []float64, n int) ([]float64, error) {
	h := make([]float64, n)
	if weights == nil {
		floats.AddConst(-math.Log(float64(n)), h)
		return h, nil
	}
	if len(weights) != n {
		return nil, misfit("%d weights of %d points or parts", len(weights), n)
	}
	total := floats.Sum(weights)
	for j, w := range weights {
		if !(w >= 0) || !(total > 0) || math.IsInf(total, 1) {
			return nil, bad("weights[%d] = %g of sum %g: must be finite and ≥ 0, not all 0", j, w,
				total)
		}
		h[j] = math.Log(w / total)
	}
	return h, nil
}

// checkFinite returns an error that names the first entry of m that is not a number or infinite.
func checkFinite(name string, m *mat.Dense) error {
	return fault.Finite(bad, name, m, math.Abs, "")
}

// Dim returns d.
func (e *Empirical) Dim() int { _, d := e.points.Dims(); return d }

// variance of the smoothed points.
func (e *Empirical) variance(sigma float64) (float64, error) {
	v := e.bandwidth*e.bandwidth + sigma*sigma
	if math.IsInf(1/v, 1) || math.IsInf(v, 1) {
		return 0, bad("sigma = %g with bandwidth %g: points have no score", sigma, e.bandwidth)
	}
	return v, nil
}

// Score implements Field. Cost N·m·(d + one exponential).
func (e *Empirical) Score(dst, x *mat.Dense, sigma float64) error {
	if err := CheckBatch(e.Dim(), dst, x, sigma); err != nil {
		return err
	}
	v, err := e.variance(sigma)
	if err != nil {
		return err
	}
	e.points.Each(x, .5/v, func(i int, _ float64, mean []float64) {
		to := floats.SubTo(dst.RawRowView(i), mean, x.RawRowView(i))
		floats.Scale(1/v, to)
	})
	return nil
}

// LogDensity implements Density, with the constant. Cost as Score.
func (e *Empirical) LogDensity(dst []float64, x *mat.Dense, sigma float64) error {
	if err := checkDensity(e.Dim(), dst, x, sigma); err != nil {
		return err
	}
	v, err := e.variance(sigma)
	if err != nil {
		return err
	}
	constant := -.5 * float64(e.Dim()) * math.Log(2*math.Pi*v)
	e.points.Each(x, .5/v, func(i int, lse float64, _ []float64) { dst[i] = lse + constant })
	return nil
}

// On returns the field as one with a DeviceField on dev, which holds the points from the begin of a
// run to its end. Where dev is no GPU, Score is the way. Scores there are float64; those of points
// so far away that their squares overflow are NaN.
func (e *Empirical) On(dev *device.Device) Field { return empiricalOn{e, dev} }

type empiricalOn struct {
	*Empirical
	dev *device.Device
}

// OnDevice returns the field on a GPU, for OnDevice. Memory m·d, and as much as x twice.
func (e empiricalOn) OnDevice(int) *DeviceField {
	if e.dev.Key() == "cpu" {
		return nil
	}
	points, inverse := e.points.OnDevice(e.dev), e.dev.New(device.Float64, 1, 1)
	return &DeviceField{
		Device: e.dev,
		Level: func(sigma float64) error {
			v, err := e.variance(sigma)
			if err == nil {
				points.Sharpen(.5 / v)
				inverse.Set64([]float64{1 / v})
			}
			return err
		},
		Score: func(x *device.Array) *device.Array {
			s := points.Means(x)
			device.Sub(s, s, x)
			device.Mul(s, s, inverse)
			return s
		},
		Close: func() {
			points.Close()
			inverse.Free()
		},
	}
}
