package simplex

import (
	"context"
	"fmt"
	"math"
	"slices"

	"coupling/ot/cost"
	"coupling/ot/internal/fault"
	"coupling/ot/internal/geometry"
)

// checkCost reads the whole cost once and returns it with a large number for +Inf, and the least cost of each column.
// Potentials are sums of up to n+m costs and must not overflow.
func checkCost(ctx context.Context, c cost.Geometry) (all finite, columns []float64, err error) {
	all = finite{c, math.Inf(1)}
	if err := geometry.Check("cost", c); err != nil {
		return all, nil, err
	}
	n, m := c.Dims()
	limit := math.MaxFloat64 / 8 / float64(n+m)
	lo, hi, allowed := math.Inf(1), math.Inf(-1), 0
	list, listed := c.(geometry.Listed)
	zero := make([]float64, m)
	columns = slices.Repeat([]float64{math.Inf(1)}, m)
	var buf []float64
	if !listed {
		buf = make([]float64, m)
	}
	for i := range n {
		if err := Cancelled(ctx, i); err != nil {
			return all, nil, err
		}
		var to []int32
		var row []float64
		if listed {
			to, row = list.Arcs(i)
		} else if row = c.Row(i, buf); len(row) != m {
			return all, nil, fmt.Errorf("ot/exact: len(cost.Row(%d)) = %d, want %d: %w", i, len(row), m, fault.ErrShape)
		}
		least, most := -kern.RowMax(zero[:len(row)], row, 1), kern.Max(row)
		if sum := kern.Sum(row); sum-sum == 0 && max(-least, most) <= limit {
			lo, hi, allowed = min(lo, least), max(hi, most), allowed+len(row)
		} else {
			count := 0
			if lo, hi, count = finiteRange(row, limit, lo, hi); count < 0 {
				j := -count - 1
				return all, nil, bad(fault.ErrCost, "cost[%d][%d] = %v: must be at most %.3g in size, or +Inf", i, j,
					row[j], limit)
			}
			allowed += count
		}
		lower(columns, to, row, 0)
	}
	switch {
	case allowed == n*m:
		return all, columns, nil
	case lo > hi:
		return all, nil, fmt.Errorf("ot/exact: every pair is forbidden: %w", fault.ErrInfeasible)
	}
	all.large = hi + float64(n+m)*(hi-lo)
	if all.large == hi {
		all.large += max(math.Abs(hi), 1)
	}
	if !(all.large <= limit) {
		return all, nil, fmt.Errorf("ot/exact: costs from %v to %v beside +Inf: %w", lo, hi, fault.ErrCost)
	}
	fill(columns, all.large)
	return all, columns, nil
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

// list is the geometry if it lists its pairs, else nil, with the large cost for those at +Inf.
func (c finite) list() geometry.Listed {
	of, _ := c.Geometry.(geometry.Listed)
	if of == nil {
		return nil
	}
	return geometry.Relist(of, func(_ int, _ []int32, row []float64) []float64 {
		if !slices.Contains(row, math.Inf(1)) {
			return row
		}
		row = slices.Clone(row)
		for k, v := range row {
			row[k] = min(v, c.large)
		}
		return row
	})
}

// Cancelled reports the context's error, looking at it for every 64th row only.
func Cancelled(ctx context.Context, row int) error {
	if row%64 == 0 && ctx.Err() != nil {
		return fmt.Errorf("ot/exact: stopped: %w", context.Cause(ctx))
	}
	return nil
}
