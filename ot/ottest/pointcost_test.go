package ottest

import (
	"testing"

	"coupling/ot/cost"
)

// recorder is a test that counts its errors.
type recorder struct {
	testing.TB
	errors int
}

func (r *recorder) Errorf(string, ...any) { r.errors++ }

// The check of gradients finds a wrong sign, an assignment in place of a sum, and a factor that is a little off.
func TestGradientFindsMistakes(t *testing.T) {
	value := func(x, y []float64) float64 { return (x[0] - 2*y[0]) * (x[0] - 2*y[0]) }
	for name, byX := range map[string]func(d *float64, slope float64){
		"right":    func(d *float64, slope float64) { *d += slope },
		"sign":     func(d *float64, slope float64) { *d -= slope },
		"assigned": func(d *float64, slope float64) { *d = slope },
		"factor":   func(d *float64, slope float64) { *d += 1.00001 * slope },
	} {
		c := cost.CostFunc{Value: value, Gradient: func(dx, dy []float64, w float64, x, y []float64) {
			slope := 2 * w * (x[0] - 2*y[0])
			if dx != nil {
				byX(&dx[0], slope)
			}
			if dy != nil {
				dy[0] -= 2 * slope
			}
		}}
		rec := &recorder{TB: t}
		gradient(rec, c, []float64{3}, []float64{.5})
		if found := rec.errors > 0; found != (name != "right") {
			t.Errorf("%s: %d errors", name, rec.errors)
		}
	}
}
