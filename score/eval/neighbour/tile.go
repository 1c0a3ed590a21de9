package neighbour

import (
	"context"
	"errors"
	"math"

	"coupling/lab/device/cpu"
	"coupling/score/internal/fault"
)

// ErrArgument is wrapped by every error about an argument.
var ErrArgument = errors.New("bad argument")

var bad = fault.In("neighbour", ErrArgument)

const (
	tileRows = 128  // queries that one worker takes at a time
	tileCols = 1024 // points that they meet at a time
)

// tiles computes the squared distances of all queries to all points, tile by tile, and hands each row of a tile to see:
// those of query i to the points from at on. Calls for one query come from one goroutine, in the order of the points.
func tiles[T cpu.Float](ctx context.Context, queries, points cpu.Matrix[T], see func(i, at int, squares []T)) error {
	if err := errors.Join(check("queries", queries), check("points", points)); err != nil {
		return err
	}
	if queries.Cols != points.Cols {
		return bad("queries have %d columns, points %d: must be equal", queries.Cols, points.Cols)
	}
	return cpu.Chunks(ctx, queries.Rows, tileRows, func(_, lo, hi int) {
		var g cpu.Gemm[T]
		buf := make([]T, (hi-lo)*tileCols)
		for at := 0; at < points.Rows && ctx.Err() == nil; at += tileCols {
			end := min(at+tileCols, points.Rows)
			c := cpu.Dense(buf[:(hi-lo)*(end-at)], hi-lo, end-at)
			clear(c.Data)
			g.AddSquares(c, queries.Slice(lo, hi), points.Slice(at, end))
			for i := range c.Rows {
				see(lo+i, at, c.Data[i*c.Cols:(i+1)*c.Cols])
			}
		}
	})
}

// check refuses rows without columns and values that are not finite.
func check[T cpu.Float](name string, m cpu.Matrix[T]) error {
	if m.Cols <= 0 {
		return bad("%s have %d columns: must be > 0", name, m.Cols)
	}
	for i := range m.Rows {
		for j := range m.Cols {
			if v := float64(m.Data[i*m.RowStride+j*m.ColStride]); math.IsNaN(v) || math.IsInf(v, 0) {
				return bad("%s[%d][%d] = %v: must be finite", name, i, j, v)
			}
		}
	}
	return nil
}
