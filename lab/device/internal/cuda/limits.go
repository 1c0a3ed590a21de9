package cuda

import "math"

// limits is where work is cut: constants, but for tests, in which small problems take the loops of
// large ones.
type limits struct {
	flat   int // elements that 31-bit indices count
	chunk  int // bytes that are held of a plan at a time
	blocks int // of kernels that stride over their grid: enough to fill any GPU several times
	rows   int // of a grid in y and z: the driver's limit
	split  int // blocks: sums of fewer outputs are split into so many; several for each multiprocessor of any GPU
	few    int // blocks that leave multiprocessors without work on the largest GPUs
	fill   int // blocks of a product that fill a GPU
}

// Sums are taken in the same order on all GPUs, since these are constants.
var standard = limits{
	flat:   math.MaxInt32,
	chunk:  256 << 20,
	blocks: 1 << 14,
	rows:   65535,
	split:  1024,
	few:    256,
	fill:   128,
}

// splits cuts length into chunks that are multiples of unit, so that blocks times chunks is about
// enough.
func (l limits) splits(blocks, length, unit int) (count, chunk int) {
	if length == 0 {
		return 1, unit
	}
	most := (length + unit - 1) / unit
	count = max(1, min(l.split/max(blocks, 1), most, l.rows))
	chunk = (most + count - 1) / count * unit
	return (length + chunk - 1) / chunk, chunk
}

// pointUnit is the shortest chunk of points that is worth a block of its own: 256, or less, to 32,
// where blocks are few.
func (l limits) pointUnit(blocks, length int) int {
	unit := 256
	for unit > 32 && blocks*((length+unit-1)/unit) < l.few {
		unit /= 2
	}
	return unit
}
