package host

import (
	"slices"

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

// Reverse turns the last axis round.
func (d *Host) Reverse(dst, src tensor) error {
	if dst.Type == backend.Float64 {
		reverse(&d.crew, view[float64](dst), view[float64](src), src.Shape)
	} else {
		reverse(&d.crew, view[int32](dst), view[int32](src), src.Shape)
	}
	return nil
}

func reverse[T float64 | int32](c *crew, dst, src []T, shape []int) {
	n := shape[len(shape)-1]
	c.each(product(shape[:len(shape)-1]), per(n), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			out := dst[i*n : (i+1)*n]
			copy(out, src[i*n:(i+1)*n])
			slices.Reverse(out)
		}
	})
}

func permute[T float64 | int32](c *crew, dst, src []T, shape, from []int, perm []int) {
	var stride [maxAxes]int
	n := 1
	for i := len(from) - 1; i >= 0; i-- {
		stride[i] = n
		n *= from[i]
	}
	last := len(perm) - 1
	near := slices.IndexFunc(perm, func(p int) bool { return stride[p] == 1 && from[p] > 1 })
	if near >= 0 && near != last && stride[perm[last]] != 1 {
		transposePlanes(c, dst, src, shape, near, func(i int) int { return stride[perm[i]] })
		return
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

// transposePlanes is permute where axis near of dst is the one that is adjacent in src: planes over it and dst's last
// axis are transposed square by square, so that both sides stay in the cache.
func transposePlanes[T float64 | int32](c *crew, dst, src []T, shape []int, near int, stride func(axis int) int) {
	last := len(shape) - 1
	var l loops
	pitch := 1 // of dst along near
	for i, n := range shape {
		to := product(shape[i+1:])
		if i == near {
			pitch = to
		} else if i != last {
			l.add(n, [maxOperands]int{stride(i), to})
		}
	}
	const side = 32
	rows, cols, jump := shape[near], shape[last], stride(last)
	strips := (rows + side - 1) / side
	c.each(l.turns()*strips, per(side*cols), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			at, r0 := l.at(i/strips), i%strips*side
			r1 := min(r0+side, rows)
			for c0 := 0; c0 < cols; c0 += side {
				c1 := min(c0+side, cols)
				for r := r0; r < r1; r++ {
					out, k := dst[at[1]+r*pitch+c0:at[1]+r*pitch+c1], at[0]+r+c0*jump
					for j := range out {
						out[j] = src[k]
						k += jump
					}
				}
			}
		}
	})
}
