package host

// Loops over several arrays of one shape, each with its own strides: broadcasts have stride 0.

// maxAxes and maxOperands bound what loops holds without allocating.
const (
	maxAxes     = 6
	maxOperands = 4
)

// loops is a nest of loops over at most six axes, with the strides of at most four operands. Axes of size 1 are left
// out and neighbours that all operands walk alike are merged, so that a bias over N×C×H×W is three loops and the
// innermost runs over H·W.
type loops struct {
	n    int // axes
	size [maxAxes]int
	step [maxAxes][maxOperands]int
}

// add appends an axis, the innermost so far.
func (l *loops) add(size int, step [maxOperands]int) {
	if size == 1 {
		return
	}
	if l.n > 0 {
		whole := true
		for o, s := range step {
			whole = whole && l.step[l.n-1][o] == s*size
		}
		if whole {
			l.size[l.n-1] *= size
			l.step[l.n-1] = step
			return
		}
	}
	l.size[l.n], l.step[l.n] = size, step
	l.n++
}

// broadcast is the loops over shape of operands that have each axis of it or size 1 there.
func broadcast(shape []int, operands ...[]int) loops {
	var l loops
	steps := make([][maxOperands]int, len(shape))
	for o, s := range operands {
		stride := 1
		for i := len(s) - 1; i >= 0; i-- {
			if s[i] != 1 || shape[i] == 1 {
				steps[i][o] = stride
			}
			stride *= s[i]
		}
	}
	for i, n := range shape {
		l.add(n, steps[i])
	}
	return l
}

// inner takes off the innermost axis; its size is 1 where there is none.
func (l *loops) inner() (size int, step [maxOperands]int) {
	if l.n == 0 {
		return 1, step
	}
	l.n--
	return l.size[l.n], l.step[l.n]
}

// len is the number of turns.
func (l *loops) len() int { return product(l.size[:l.n]) }

// at is the offsets of turn i.
func (l *loops) at(i int) (offset [maxOperands]int) {
	for a := l.n - 1; a >= 0; a-- {
		q := i / l.size[a]
		r := i - q*l.size[a]
		for o, s := range l.step[a] {
			offset[o] += r * s
		}
		i = q
	}
	return offset
}

// rows runs over the loops of contiguous destinations: work gets a run of n destination elements from dst on, the
// offsets of the operands and their strides along the run. Long runs are cut in pieces.
func (c *crew) rows(l loops, work func(dst, n int, at, step [maxOperands]int)) {
	size, step := l.inner()
	piece := min(size, grain)
	if piece == 0 {
		return
	}
	pieces := (size + piece - 1) / piece
	c.each(l.len()*pieces, per(piece), func(_, lo, hi int) {
		for i := lo; i < hi; i++ {
			row, from := i/pieces, i%pieces*piece
			at := l.at(row)
			for o, s := range step {
				at[o] += from * s
			}
			work(row*size+from, min(piece, size-from), at, step)
		}
	})
}
