package neighbour

import (
	"context"

	"coupling/lab/device/cpu"
)

// Search finds nearest neighbours. The zero value finds the nearest one.
type Search[T cpu.Float] struct {
	K    int  // 0: 1
	Self bool // query i is point i, which is not its own neighbour; copies of it are
}

// Found is the K nearest points of each query, nearest first.
type Found[T cpu.Float] struct {
	K      int
	Index  []int32 // n×K
	Square []T     // n×K, squared distances
}

// Find returns the nearest points, n×K of them. There must be K points, without the query itself when Self is set.
func (s Search[T]) Find(ctx context.Context, queries, points cpu.Matrix[T]) (*Found[T], error) {
	k, others := s.K, points.Rows
	if k == 0 {
		k = 1
	}
	if s.Self {
		others--
	}
	if k < 0 || k > others {
		return nil, bad("K = %d: must be in [1, %d], the number of other points", k, others)
	}
	if s.Self && queries.Rows != points.Rows {
		return nil, bad("%d queries, %d points: must be equal with Self", queries.Rows,
			points.Rows)
	}
	f := &Found[T]{K: k, Index: make([]int32, queries.Rows*k), Square: make([]T, queries.Rows*k)}
	for i := range f.Index {
		f.Index[i] = -1
	}
	err := tiles(ctx, queries, points, func(i, at int, squares []T) {
		index, square := f.Index[i*k:(i+1)*k], f.Square[i*k:(i+1)*k]
		for j, d := range squares {
			if (index[k-1] < 0 || d < square[k-1]) && !(s.Self && at+j == i) {
				insert(index, square, int32(at+j), d)
			}
		}
	})
	if err != nil {
		return nil, err
	}
	return f, nil
}

// insert puts a point where it belongs among the nearest, behind those equally far; the last one falls out.
func insert[T cpu.Float](index []int32, square []T, j int32, d T) {
	at := len(index) - 1
	for ; at > 0 && (index[at-1] < 0 || d < square[at-1]); at-- {
		index[at], square[at] = index[at-1], square[at-1]
	}
	index[at], square[at] = j, d
}

// Furthest returns the squared distance of each query to the last of its K neighbours: the squared radius of the ball
// that reaches it.
func (f *Found[T]) Furthest() []T {
	out := make([]T, len(f.Square)/f.K)
	for i := range out {
		out[i] = f.Square[(i+1)*f.K-1]
	}
	return out
}

// Cover returns for each query the number of points j with |query − point_j|² ≤ squares_j: the closed balls that hold
// it.
func Cover[T cpu.Float](ctx context.Context, queries, points cpu.Matrix[T], squares []T) ([]int, error) {
	if len(squares) != points.Rows {
		return nil, bad("%d squares for %d points: must be equal", len(squares), points.Rows)
	}
	counts := make([]int, queries.Rows)
	err := tiles(ctx, queries, points, func(i, at int, row []T) {
		for j, d := range row {
			if d <= squares[at+j] {
				counts[i]++
			}
		}
	})
	if err != nil {
		return nil, err
	}
	return counts, nil
}
