package host

import (
	"coupling/lab/device/cpu"
	"coupling/lab/device/internal/backend"
)

// correlation is acc[c, t, o] = Σ over examples and positions p of x[n, c, p + t]·dy[n, o, p]: sums
// over positions, in which the elements of x that four channels or four neighbouring taps read
// stand in for windows. Where dy has few channels, x and dy change places, so that the channels of
// x fill the vectors: acc is then of dy, reversed taps and x. The taps of a row of the kernel leave
// out the positions for which that row lies in the padding, if they make minPart groups or more.
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

// correlatePositions is the number of positions whose cotangents are turned at a time: they stay in
// the first-level cache.
const correlatePositions = 256

func newCorrelation[T cpu.Float](e *engine[T], x, dy tensor, w backend.Window) correlation[T] {
	down, across := (w.Kernel[0]-1)*w.Dilation[0], (w.Kernel[1]-1)*w.Dilation[1]
	turned := dy.Shape[1] <= fewChannels && dy.Shape[1] < x.Shape[1] && w.Stride == [2]int{1, 1} && w.Pad[0] <= down &&
		w.Pad[1] <= across
	if turned {
		x, dy, w.Pad = dy, x, [2]int{down - w.Pad[0], across - w.Pad[1]}
	}
	c := correlation[T]{
		e:      e,
		n:      x.Shape[0],
		in:     x.Shape[1],
		out:    dy.Shape[1],
		x:      view[T](x),
		dy:     view[T](dy),
		turned: turned,
	}
	c.pad = padding{forwardAxis(w, 0, x.Shape[2], dy.Shape[2]), forwardAxis(w, 1, x.Shape[3], dy.Shape[3]), x.Shape[2],
		x.Shape[3]}
	c.positions = dy.Shape[2] * dy.Shape[3]
	c.widths = e.k.Strips(c.out)
	c.batch = max(1, min(c.n, correlatePositions/max(1, c.positions)))
	return c
}

// tapRows is the rows of acc for channels lo to hi: where each group reads, and which element of the weight each row is
// for the first channel of dy; −1 for rows that are there twice or not at all. Groups that sum over the same rows of
// positions make a part.
type tapRows struct {
	groups, of []int
	step       int
	parts      []tapPart
}

// tapPart is the groups from … to−1, and the rows of positions y0 … y1−1 that they sum over.
type tapPart struct{ from, to, y0, y1 int }

// minPart is the smallest number of groups of a row of the kernel that become a part of their own:
// the kernels take up to six groups at a time, and with fewer groups much of that would be unused.
const minPart = 12

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
	byChannel, byTap, channelwise := startsOf(channels), startsOf(len(across.taps)), false
	if len(byChannel)*area <= channels*len(down.taps)*len(byTap) {
		r.step, channelwise = c.pad.plane(), true
	} else if len(across.offsets) > 1 {
		r.step = across.offsets[1]
	}
	for i, y := range down.offsets {
		part := tapPart{from: len(r.groups), y1: down.count}
		// of all channels: a sum does not depend on how they are dealt out
		if c.in*len(across.taps) >= cpu.Group*minPart {
			part.y0, part.y1 = down.reading(i, c.pad.rows.zeros, c.pad.h)
		}
		if channelwise {
			for _, first := range byChannel {
				for j, x := range across.offsets {
					add(first*c.pad.plane()+y*c.pad.cols.size+x, first*area+i*len(across.taps)+j, area,
						min(cpu.Group, channels-first))
				}
			}
		} else {
			for channel := range channels {
				for _, j := range byTap {
					add(channel*c.pad.plane()+y*c.pad.cols.size+across.offsets[j], channel*area+i*len(across.taps)+j, 1,
						min(cpu.Group, len(across.taps)-j))
				}
			}
		}
		part.to = len(r.groups)
		if last := len(r.parts) - 1; last >= 0 && part.y0 == r.parts[last].y0 && part.y1 == r.parts[last].y1 {
			r.parts[last].to = part.to
			continue
		}
		r.parts = append(r.parts, part)
	}
	return r
}

// reads is where the positions of a batch's results read: those of one row of all examples follow one another.
func (c correlation[T]) reads(channels, batch int) []int {
	down, across := c.pad.rows.phases[0], c.pad.cols.phases[0]
	at := make([]int, 0, batch*c.positions)
	for y := range down.count {
		for b := range batch {
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

// cotangents is the rows y0 … y1−1 of positions of a strip of dy, a row of channels for each in the order of reads.
func (c correlation[T]) cotangents(p *pad[T], first, n, from, width, y0, y1 int) []T {
	row := c.pad.cols.phases[0].count
	d := p.buf(2, n*(y1-y0)*row*width)
	turned, channels := d, min(width, c.out-from)
	if n > 1 {
		turned = p.buf(3, (y1-y0)*row*width)
	}
	if channels < width {
		clear(turned)
	}
	for i := range n {
		c.e.k.Transpose(turned, width, c.dy[((first+i)*c.out+from)*c.positions+y0*row:], c.positions, channels,
			(y1-y0)*row)
		if n > 1 {
			c.e.k.CopyRows(d[i*row*width:], n*row*width, turned, row*width, y1-y0, row*width)
		}
	}
	return d
}

// share is channels lo to hi of x as one worker takes them: the rows of its sums, where the
// positions of a whole batch and of the last one read, and where the rows of each part of each
// strip lie in its accumulator, which ends with the last.
type share struct {
	lo, hi      int
	rows        tapRows
	batch, last cpu.Offsets
	starts      []int
}

func (c correlation[T]) share(lo, hi int) *share {
	s := &share{lo: lo, hi: hi, rows: c.rows(lo, hi), starts: []int{0}}
	s.batch = cpu.NewOffsets[T](c.reads(hi-lo, c.batch))
	s.last = s.batch
	if rest := c.n % c.batch; rest > 0 {
		s.last = cpu.NewOffsets[T](c.reads(hi-lo, rest))
	}
	at := 0
	for _, width := range c.widths {
		for _, part := range s.rows.parts {
			at += roundUp(part.to-part.from, c.e.k.TapGroups(width)) * cpu.Group * width
			s.starts = append(s.starts, at)
		}
	}
	return s
}

// part is where in the accumulator the sums of part j of strip i are.
func (s *share) part(i, j int) (from, to int) {
	k := i*len(s.rows.parts) + j
	return s.starts[k], s.starts[k+1]
}

// sum adds the examples from first on, a batch at most, to the strips in acc, and returns the next.
func (c correlation[T]) sum(p *pad[T], acc []T, s *share, first int) (next int) {
	n, offsets := c.batch, s.batch
	if first+n >= c.n {
		n, offsets = c.n-first, s.last
	}
	image := p.buf(0, c.batch*(s.hi-s.lo)*c.pad.plane()+cpu.Group*max(s.rows.step, 1))
	c.images(image, first, n, s.lo, s.hi)
	channel, across, down := 0, n*c.pad.cols.phases[0].count, c.pad.rows.phases[0].count
	for i, width := range c.widths {
		for y := 0; y < down; {
			next := min(down, y+max(1, correlatePositions/max(1, across)))
			d := c.cotangents(p, first, n, channel, width, y, next)
			for j, q := range s.rows.parts {
				if lo, hi := max(y, q.y0), min(next, q.y1); lo < hi {
					from, to := s.part(i, j)
					c.e.k.SumTaps(acc[from:to], image, s.rows.groups[q.from:q.to], s.rows.step,
						offsets.Slice(lo*across, hi*across), d[(lo-y)*across*width:], width, false)
				}
			}
			y = next
		}
		channel += width
	}
	return first + n
}

// size is the elements of the accumulator.
func (s *share) size() int { return s.starts[len(s.starts)-1] }

// ConvWeight is dW += Σ_n dy_n ⋆ x_n. Channels of x are dealt out; each element's sum goes through
// the examples in order.
func (e *engine[T]) ConvWeight(dw, x, dy tensor, w backend.Window) {
	if dw.Len() == 0 || x.Shape[0] == 0 {
		return
	}
	if whole(x, dy, w) {
		e.Gemm(matrix(dw, dw.Shape[0]), 1, matrix(dy, x.Shape[0]), true, matrix(x, x.Shape[0]), false, 1)
		return
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
			c.addTo(to, p, acc, s)
		}
	})
}

// addTo adds the rows to dw.
func (c correlation[T]) addTo(dw []T, p *pad[T], acc []T, s *share) {
	area := len(c.pad.rows.phases[0].taps) * len(c.pad.cols.phases[0].taps)
	step := c.in * area // from a channel of dy to the next
	if c.turned {
		step = area
	}
	channel := 0
	for i, width := range c.widths {
		for j, q := range s.rows.parts {
			from, to := s.part(i, j)
			of, channels := s.rows.of[q.from*cpu.Group:q.to*cpu.Group], min(width, c.out-channel)
			turned := p.buf(2, channels*len(of))
			c.e.k.Transpose(turned, len(of), acc[from:to], width, len(of), channels)
			for o := range channels {
				to, sums := dw[(channel+o)*step:], turned[o*len(of):][:len(of)]
				for r, k := range of {
					if k >= 0 {
						to[k] += sums[r]
					}
				}
			}
		}
		channel += width
	}
}

// ConvSquares is s_n += |dy_n ⋆ x_n|².
func (e *engine[T]) ConvSquares(squares, x, dy tensor, w backend.Window) {
	to := view[T](squares)
	if len(to) == 0 || x.Shape[1]*dy.Shape[1] == 0 {
		return
	}
	c := newCorrelation(e, x, dy, w)
	c.batch = 1
	s := c.share(0, c.in)
	e.itemsPad(c.n, 1, func(p *pad[T], i int) {
		acc := p.zeros(1, s.size())
		c.sum(p, acc, s, i)
		to[i] += T(c.norm(acc, s))
	})
}

// norm is the sum of the squares of the rows.
func (c correlation[T]) norm(acc []T, s *share) (sum float64) {
	for i, width := range c.widths {
		for j, q := range s.rows.parts {
			from, _ := s.part(i, j)
			for row, k := range s.rows.of[q.from*cpu.Group : q.to*cpu.Group] {
				if k >= 0 {
					v := acc[from+row*width:][:width]
					sum += c.e.k.WideDot(v, v)
				}
			}
		}
	}
	return sum
}
