package host

import "coupling/lab/device/internal/backend"

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

// turns is their number.
func (l *loops) turns() int { return backend.Product(l.size[:l.n]) }

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

// A cursor goes through the turns of loops in order.
type cursor struct {
	l     *loops
	index [maxAxes]int
	at    [maxOperands]int // offsets of the current turn
}

// from is a cursor at turn i.
func (l *loops) from(i int) cursor {
	c := cursor{l: l, at: l.at(i)}
	for a := l.n - 1; a >= 0; a-- {
		c.index[a] = i % l.size[a]
		i /= l.size[a]
	}
	return c
}

// next goes on by one turn.
func (c *cursor) next() {
	for a := c.l.n - 1; a >= 0; a-- {
		step := &c.l.step[a]
		c.index[a]++
		wrap := 0
		if c.index[a] == c.l.size[a] {
			c.index[a], wrap = 0, c.l.size[a]
		}
		for o := range c.at {
			c.at[o] += step[o] * (1 - wrap)
		}
		if wrap == 0 {
			return
		}
	}
}

// rows runs over the loops of contiguous destinations: work gets a run of n destination elements from dst on, the
// offsets of the operands and their strides along the run. Long runs are cut in pieces.
func (c *crew) rows(l loops, work func(dst, n int, at, step [maxOperands]int)) {
	c.rowsThen(l, work, nil)
}

// rowsThen is rows that calls then, unless nil, for the destinations from lo to hi whenever some runs of them are done.
func (c *crew) rowsThen(l loops, work func(dst, n int, at, step [maxOperands]int), then func(lo, hi int)) {
	size, step := l.inner()
	piece := min(size, grain)
	if piece == 0 {
		return
	}
	pieces := (size + piece - 1) / piece
	c.each(l.turns()*pieces, per(piece), func(lo, hi int) {
		cur := l.from(lo / pieces)
		for i := lo; i < hi; i++ {
			from, at := i%pieces*piece, cur.at
			for o, s := range step {
				at[o] += from * s
			}
			work(i/pieces*size+from, min(piece, size-from), at, step)
			if from+piece >= size {
				cur.next()
			}
		}
		if then != nil {
			last := hi - 1
			then(lo/pieces*size+lo%pieces*piece, last/pieces*size+min((last%pieces+1)*piece, size))
		}
	})
}
