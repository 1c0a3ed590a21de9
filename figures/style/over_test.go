package style

import (
	"math"
	"testing"

	"coupling/lab"
)

// Two lines, named by what differs, of means over seeds with their standard errors; one seed has
// marks and no band.
func TestOver(t *testing.T) {
	type params struct {
		N   int     `json:"n"`
		Eps float64 `json:"eps"`
	}
	var cells []lab.Result[params, float64]
	for seed := range 3 {
		for _, n := range []int{20, 10} {
			for _, eps := range []float64{1, .1} {
				cells = append(cells, lab.Result[params, float64]{
					Seed: uint64(seed), Params: params{n, eps}, Value: float64(n)*eps + float64(seed),
				})
			}
		}
	}
	value := func(v float64) float64 { return v }
	items := Over(cells, "eps", value)
	line, points := items[0].(Line), items[1].(Points)
	se := 1 / math.Sqrt(3) // of 0, 1 and 2
	if len(items) != 4 || line.Name != "n = 20" || items[2].(Line).Name != "n = 10" || len(points.X) != 6 ||
		line.X[0] != .1 || line.Y[0] != 3 || line.Y[1] != 21 ||
		math.Abs(line.Hi[1]-21-se) > 1e-14 || math.Abs(line.Lo[1]-21+se) > 1e-14 {
		t.Errorf("%+v", items)
	}
	if one := Over(cells[2:4], "eps", value)[0].(Line); one.Name != "" || !one.Marks || one.Lo != nil || one.Y[0] != 1 {
		t.Errorf("one seed: %+v", one)
	}
	if err := func() (err error) {
		defer lab.End(&err)
		Over(cells, "epz", value)
		return nil
	}(); err == nil {
		t.Error("a parameter that is not there is drawn over")
	}
}
