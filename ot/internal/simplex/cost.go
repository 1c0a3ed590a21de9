package simplex

import (
	"context"
	"fmt"
	"math"

	"coupling/ot/cost"
	"coupling/ot/internal/fault"
	"coupling/ot/internal/geometry"
)

// checkCost reads the whole cost once and returns it with a large number for +Inf. Potentials are
// sums of up to n+m costs and must not overflow.
func checkCost(ctx context.Context, c cost.Geometry) (finite, error) {
	none := finite{c, math.Inf(1)}
	if err := geometry.Check("cost", c); err != nil {
		return none, err
	}
	n, m := c.Dims()
	limit := math.MaxFloat64 / 8 / float64(n+m)
	lo, hi, allowed := math.Inf(1), math.Inf(-1), 0
	list, listed := c.(geometry.Listed)
	zero := make([]float64, m)
	var buf []float64
	if !listed {
		buf = make([]float64, m)
	}
	for i := range n {
		if err := Cancelled(ctx, i); err != nil {
			return none, err
		}
		var row []float64
		if listed {
			_, row = list.Arcs(i)
		} else if row = c.Row(i, buf); len(row) != m {
			return none, fmt.Errorf("ot/exact: len(cost.Row(%d)) = %d, want %d: %w", i, len(row), m, fault.ErrShape)
		}
		least, most := -kern.RowMax(zero[:len(row)], row, 1), kern.Max(row)
		if sum := kern.Sum(row); sum-sum == 0 && max(-least, most) <= limit {
			lo, hi, allowed = min(lo, least), max(hi, most), allowed+len(row)
			continue
		}
		count := 0
		if lo, hi, count = finiteRange(row, limit, lo, hi); count < 0 {
			j := -count - 1
			return none, bad(fault.ErrCost, "cost[%d][%d] = %v: must be at most %.3g in size, or +Inf", i, j,
				row[j], limit)
		}
		allowed += count
	}
	switch {
	case allowed == n*m:
		return none, nil
	case lo > hi:
		return none, fmt.Errorf("ot/exact: every pair is forbidden: %w", fault.ErrInfeasible)
	}
	large := hi + float64(n+m)*(hi-lo)
	if large == hi {
		large += max(math.Abs(hi), 1)
	}
	if !(large <= limit) {
		return none, fmt.Errorf("ot/exact: costs from %v to %v beside +Inf: %w", lo, hi, fault.ErrCost)
	}
	return finite{c, large}, nil
}

// finiteRange widens the range from lo to hi by the costs that are not +Inf, and returns it and their number,
// −1 − j where cost j is out of range.
func finiteRange(row []float64, limit, lo, hi float64) (least, most float64, count int) {
	for j, v := range row {
		switch {
		case math.Abs(v) <= limit:
			if count++; v < lo {
				lo = v
			}
			if v > hi {
				hi = v
			}
		case !math.IsInf(v, 1):
			return lo, hi, -1 - j
		}
	}
	return lo, hi, count
}

// finite is a cost with a finite one for pairs that are forbidden, larger than any others can sum
// to along a cycle, so that an optimal basis sends the least mass that way; +Inf where none is.
type finite struct {
	cost.Geometry
	large float64
}

// Row returns row i.
func (c finite) Row(i int, buf []float64) []float64 {
	row := c.Geometry.Row(i, buf)
	if math.IsInf(c.large, 1) {
		return row
	}
	for j, v := range row {
		buf[j] = min(v, c.large)
	}
	return buf
}

// Cancelled reports the context's error, looking at it for every 64th row only.
func Cancelled(ctx context.Context, row int) error {
	if row%64 == 0 && ctx.Err() != nil {
		return fmt.Errorf("ot/exact: stopped: %w", context.Cause(ctx))
	}
	return nil
}
