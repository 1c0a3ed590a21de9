package host

import (
	"coupling/lab/device/internal/backend"
)

// Permute writes src with its axes permuted. Elements are moved, not computed with: their size is all that matters.
func (d *Host) Permute(dst, src tensor, perm []int) error {
	if dst.Type == backend.Float64 {
		permute(&d.crew, view[float64](dst), view[float64](src), dst.Shape, src.Shape, perm)
	} else {
		permute(&d.crew, view[int32](dst), view[int32](src), dst.Shape, src.Shape, perm)
	}
	return nil
}

func permute[T float64 | int32](c *crew, dst, src []T, shape, from []int, perm []int) {
	var stride [maxAxes]int
	n := 1
	for i := len(from) - 1; i >= 0; i-- {
		stride[i] = n
		n *= from[i]
	}
	var l loops
	for i, p := range perm {
		l.add(shape[i], [maxOperands]int{stride[p]})
	}
	c.rows(l, func(d, n int, at, step [maxOperands]int) {
		out, k := dst[d:d+n], at[0]
		if step[0] == 1 {
			copy(out, src[k:])
			return
		}
		for i := range out {
			out[i] = src[k]
			k += step[0]
		}
	})
}
