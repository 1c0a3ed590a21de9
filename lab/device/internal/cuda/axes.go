package cuda

import (
	"math"
	"math/bits"
)

// maxRank is the most axes that the front lets through.
const maxRank = 6

// axes is the struct Axes of the kernels.
type axes struct {
	Len        int64
	Rank, Wide int32
	Size       [maxRank]int64
	Step       [3][maxRank]int64
	Div        [maxRank]div
}

// div is the struct Div of the kernels: division of numbers below 2^31 by a product and a shift.
type div struct{ By, Mul, Shift uint32 }

// divBy is for sizes from 1 to 2^31; a size of 0 divides nothing.
func divBy(size int) div {
	if size <= 0 || size > math.MaxInt32 {
		return div{By: 1}
	}
	shift := bits.Len(uint(size - 1))
	mul := (uint64(1)<<(31+shift) + uint64(size) - 1) / uint64(size)
	return div{By: uint32(size), Mul: uint32(mul), Shift: uint32(shift)}
}

// newAxes describes where the elements of a tensor of a shape lie in tensors with the given steps between indices.
// Axes of size 1 go, and neighbours that can be walked as one become one: most broadcasts have two or three left.
func newAxes(shape []int, steps ...[]int) axes {
	a := axes{Len: 1}
	for k, size := range shape {
		a.Len *= int64(size)
		if size == 1 {
			continue
		}
		if last := int(a.Rank) - 1; last >= 0 && a.merges(last, size, k, steps) {
			a.Size[last] *= int64(size)
			for t := range steps {
				a.Step[t][last] = int64(steps[t][k])
			}
			continue
		}
		a.Size[a.Rank] = int64(size)
		for t := range steps {
			a.Step[t][a.Rank] = int64(steps[t][k])
		}
		a.Rank++
	}
	if a.Rank == 0 {
		a.Rank, a.Size[0] = 1, 1
	}
	if a.Len > math.MaxInt32 {
		a.Wide = 1
	}
	for k := range a.Rank {
		a.Div[k] = divBy(int(a.Size[k]))
	}
	return a
}

// merges reports whether axis k continues the last one in every tensor.
func (a *axes) merges(last, size, k int, steps [][]int) bool {
	for t := range steps {
		if a.Step[t][last] != int64(size)*int64(steps[t][k]) {
			return false
		}
	}
	return true
}

// transposes reports whether the axes are those of a batch of matrices that are turned around, and their sizes before.
func (a *axes) transposes() (batch, rows, cols int, ok bool) {
	r := int(a.Rank)
	if r < 2 || r > 3 {
		return 0, 0, 0, false
	}
	c, d := a.Size[r-2], a.Size[r-1] // of the result
	batch = 1
	if r == 3 {
		batch = int(a.Size[0])
		ok = a.Step[0][0] == c*d
	} else {
		ok = true
	}
	return batch, int(d), int(c), ok && a.Step[0][r-2] == 1 && a.Step[0][r-1] == c && c > 1
}

// contiguous is the steps of a row-major tensor.
func contiguous(shape []int) []int {
	steps := make([]int, len(shape))
	step := 1
	for k := len(shape) - 1; k >= 0; k-- {
		steps[k] = step
		step *= shape[k]
	}
	return steps
}

// broadcast is the steps of a tensor when it is read as a bigger one: 0 along axes of size 1.
func broadcast(shape []int) []int {
	steps := contiguous(shape)
	for k, size := range shape {
		if size == 1 {
			steps[k] = 0
		}
	}
	return steps
}
