package host

import (
	"coupling/lab/device/cpu"
	"coupling/lab/device/internal/backend"
)

// correlation is acc[c, t, o] = Σ over examples and positions p of x[n, c, p + t]·dy[n, o, p]: sums over positions, in
// which the elements of x that four channels or four neighbouring taps read stand in for windows. Where dy has few channels,
// x and dy change places, so that the channels of x fill the vectors: acc is then of dy, reversed taps and x.
type correlation[T cpu.Float] struct {
	e          *engine[T]
	n, in, out int
	x, dy      []T
	pad        padding
	positions  int
	widths     []int // strips of channels of dy
	batch      int   // examples at a time
	turned     bool  // x and dy have changed places
}

// correlatePositions is how many rows of cotangents are turned at a time: they stay in the first-level cache.
const correlatePositions = 256

func newCorrelation[T cpu.Float](e *engine[T], x, dy tensor, w backend.Window) correlation[T] {
	down, across := (w.Kernel[0]-1)*w.Dilation[0], (w.Kernel[1]-1)*w.Dilation[1]
	turned := dy.Shape[1] <= fewChannels && dy.Shape[1] < x.Shape[1] && w.Stride == [2]int{1, 1} && w.Pad[0] <= down && w.Pad[1] <= across
	if turned {
		x, dy, w.Pad = dy, x, [2]int{down - w.Pad[0], across - w.Pad[1]}
	}
	c := correlation[T]{e: e, n: x.Shape[0], in: x.Shape[1], out: dy.Shape[1], x: view[T](x), dy: view[T](dy), turned: turned}
	c.pad = padding{forwardAxis(w, 0, x.Shape[2], dy.Shape[2]), forwardAxis(w, 1, x.Shape[3], dy.Shape[3]), x.Shape[2], x.Shape[3]}
	c.positions = dy.Shape[2] * dy.Shape[3]
	c.widths = e.k.Strips(c.out)
	c.batch = max(1, min(c.n, correlatePositions/max(1, c.positions)))
	return c
}

// tapRows is the rows of acc for channels lo to hi: where each group reads, and which element of the weight each row is
// for the first channel of dy; −1 for rows that are there twice or not at all.
type tapRows struct {
	groups, of []int
	step       int
}

func (c correlation[T]) rows(lo, hi int) tapRows {
	down, across := c.pad.rows.phases[0], c.pad.cols.phases[0]
	area, channels := len(down.taps)*len(across.taps), hi-lo
	var r tapRows
	seen := make([]bool, channels*area)
	add := func(at, element, elementStep, n int) {
		r.groups = append(r.groups, at)
		for i := range cpu.Group {
			k := element + i*elementStep
			if i >= n || seen[k] {
				r.of = append(r.of, -1)
				continue
			}
			seen[k] = true
			if c.turned {
				r.of = append(r.of, (lo+k/area)*c.out*area+area-1-k%area)
			} else {
				r.of = append(r.of, lo*area+k)
			}
		}
	}
	byChannel, byTap := startsOf(channels), startsOf(len(across.taps))
	if len(byChannel)*area <= channels*len(down.taps)*len(byTap) {
		r.step = c.pad.plane()
		for _, first := range byChannel {
			for i, y := range down.offsets {
				for j, x := range across.offsets {
					add(first*c.pad.plane()+y*c.pad.cols.size+x, first*area+i*len(across.taps)+j, area, min(cpu.Group, channels-first))
				}
			}
		}
		return r
	}
	if len(across.offsets) > 1 {
		r.step = across.offsets[1]
	}
	for channel := range channels {
		for i, y := range down.offsets {
			for _, j := range byTap {
				add(channel*c.pad.plane()+y*c.pad.cols.size+across.offsets[j], channel*area+i*len(across.taps)+j, 1, min(cpu.Group, len(across.taps)-j))
			}
		}
	}
	return r
}

// reads is where the positions of a batch's results read.
func (c correlation[T]) reads(channels, batch int) []int {
	down, across := c.pad.rows.phases[0], c.pad.cols.phases[0]
	at := make([]int, 0, batch*c.positions)
	for b := range batch {
		for y := range down.count {
			for x := range across.count {
				at = append(at, b*channels*c.pad.plane()+y*down.stride*c.pad.cols.size+x*across.stride)
			}
		}
	}
	return at
}

// images is the channels lo to hi of some examples, with zeros around and room behind for groups that overhang.
func (c correlation[T]) images(buf []T, first, n, lo, hi int) {
	clear(buf)
	source, size := c.pad.h*c.pad.w, (hi-lo)*c.pad.plane()
	for i := range n {
		copyPlanes(c.e.k, c.pad, buf[i*size:], c.x[((first+i)*c.in+lo)*source:], hi-lo)
	}
}

// cotangents is a strip of dy, a row of channels for each position.
func (c correlation[T]) cotangents(buf []T, first, n, from, width int) {
	channels := min(width, c.out-from)
	if channels < width {
		clear(buf[:n*c.positions*width])
	}
	for i := range n {
		at := ((first+i)*c.out + from) * c.positions
		c.e.k.Transpose(buf[i*c.positions*width:], width, c.dy[at:], c.positions, channels, c.positions)
	}
}

// share is channels lo to hi of x as one worker takes them: the rows of its sums, where the positions of a whole batch
// and of the last one read, and where the rows of each strip lie in its accumulator, which ends with the last.
type share struct {
	lo, hi      int
	rows        tapRows
	batch, last cpu.Offsets
	strips      []int
}

func (c correlation[T]) share(lo, hi int) *share {
	s := &share{lo: lo, hi: hi, rows: c.rows(lo, hi), strips: []int{0}}
	s.batch = cpu.NewOffsets[T](c.reads(hi-lo, c.batch))
	s.last = cpu.NewOffsets[T](c.reads(hi-lo, (c.n-1)%c.batch+1))
	at, groups := 0, len(s.rows.groups)
	for _, width := range c.widths {
		team := c.e.k.TapGroups(width)
		at += (groups + team - 1) / team * team * cpu.Group * width
		s.strips = append(s.strips, at)
	}
	return s
}

// sum adds the examples from first on, a batch at most, to the strips in acc, and returns the next.
func (c correlation[T]) sum(p *pad[T], acc []T, s *share, first int) (next int) {
	n, offsets := c.batch, s.batch
	if first+n >= c.n {
		n, offsets = c.n-first, s.last
	}
	image := p.buf(0, c.batch*(s.hi-s.lo)*c.pad.plane()+cpu.Group*max(s.rows.step, 1))
	c.images(image, first, n, s.lo, s.hi)
	from := 0
	for i, width := range c.widths {
		d := p.buf(2, n*c.positions*width)
		c.cotangents(d, first, n, from, width)
		c.e.k.SumTaps(acc[s.strips[i]:s.strips[i+1]], image, s.rows.groups, s.rows.step, offsets, d, width, false)
		from += width
	}
	return first + n
}

// size is the elements of the accumulator.
func (s *share) size() int { return s.strips[len(s.strips)-1] }

// ConvWeight is dW += Σ_n dy_n ⋆ x_n. Channels of x are dealt out; each element's sum goes through the examples in order.
func (e *engine[T]) ConvWeight(dw, x, dy tensor, w backend.Window) error {
	if dw.Len() == 0 || x.Shape[0] == 0 {
		return nil
	}
	if whole(x, dy, w) {
		return e.Gemm(matrix(dw, dw.Shape[0]), 1, matrix(dy, x.Shape[0]), true, matrix(x, x.Shape[0]), false, 1)
	}
	c := newCorrelation(e, x, dy, w)
	team := e.workers()
	size := roundUp((c.in+team-1)/team, cpu.Group) // few shares: each turns all cotangents anew
	var shares []*share
	for lo := 0; lo < c.in; lo += size {
		shares = append(shares, c.share(lo, min(lo+size, c.in)))
	}
	to := view[T](dw)
	e.eachPad(len(shares), 1, func(p *pad[T], lo, hi int) {
		for _, s := range shares[lo:hi] {
			acc := p.zeros(1, s.size())
			for first := 0; first < c.n; {
				first = c.sum(p, acc, s, first)
			}
			c.addTo(to, acc, s)
		}
	})
	return nil
}

// addTo adds the rows to dw.
func (c correlation[T]) addTo(dw, acc []T, s *share) {
	area := len(c.pad.rows.phases[0].taps) * len(c.pad.cols.phases[0].taps)
	step := c.in * area // from a channel of dy to the next
	if c.turned {
		step = area
	}
	from := 0
	for i, width := range c.widths {
		strip := acc[s.strips[i]:]
		for o := range min(width, c.out-from) {
			to := dw[(from+o)*step:]
			for row, k := range s.rows.of {
				if k >= 0 {
					to[k] += strip[row*width+o]
				}
			}
		}
		from += width
	}
}

// ConvSquares is s_n += |dy_n ⋆ x_n|².
func (e *engine[T]) ConvSquares(squares, x, dy tensor, w backend.Window) error {
	to := view[T](squares)
	if len(to) == 0 || x.Shape[1]*dy.Shape[1] == 0 {
		return nil
	}
	c := newCorrelation(e, x, dy, w)
	c.batch = 1
	s := c.share(0, c.in)
	e.eachPad(c.n, 1, func(p *pad[T], lo, hi int) {
		for i := lo; i < hi; i++ {
			acc := p.zeros(1, s.size())
			c.sum(p, acc, s, i)
			to[i] += T(c.norm(acc, s))
		}
	})
	return nil
}

// norm is the sum of the squares of the rows.
func (c correlation[T]) norm(acc []T, s *share) (sum float64) {
	for i, width := range c.widths {
		for row, k := range s.rows.of {
			if k >= 0 {
				v := acc[s.strips[i]+row*width:][:width]
				sum += c.e.k.WideDot(v, v)
			}
		}
	}
	return sum
}
