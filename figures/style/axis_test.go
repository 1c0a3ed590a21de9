package style

import (
	"math"
	"testing"

	"gonum.org/v1/plot"
)

// An axis says what it cannot show, where nobody would guess it.
func TestRemarks(t *testing.T) {
	for _, c := range []struct {
		axis   Axis
		y      []float64
		remark string
	}{
		{Axis{Log: true}, []float64{1e-300, 1, 1e300}, "2 values beyond 10^{±150} are not drawn"},
		{Axis{}, []float64{-math.MaxFloat64, 1}, "1 value beyond 10^{±150} is not drawn"},
		{Axis{}, []float64{math.NaN(), math.Inf(1)}, "none of 2 values can be drawn"},
		{Axis{Log: true}, []float64{-1, 0, 1, math.NaN()}, ""},
		{Axis{}, nil, ""},
	} {
		p := Plot{Y: c.axis, Items: []plot.Plotter{Line{X: make([]float64, len(c.y)), Y: c.y}}}.remarked()
		if p.Y.remark != c.remark {
			t.Errorf("%v: %q, want %q", c.y, p.Y.remark, c.remark)
		}
	}
}
