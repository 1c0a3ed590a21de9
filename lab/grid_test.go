package lab_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"coupling/lab"
)

type xn struct {
	X float64
	N int
}

func TestGridIsTheProduct(t *testing.T) {
	got := lab.Grid(xn{}, lab.Vary(func(p *xn, v float64) { p.X = v }, 1, 2),
		lab.Vary(func(p *xn, v int) { p.N = v }, 5, 6))
	if d := cmp.Diff([]xn{{1, 5}, {1, 6}, {2, 5}, {2, 6}}, got); d != "" {
		t.Error(d)
	}
}
