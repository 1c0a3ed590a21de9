package host

import (
	"slices"
	"unsafe"

	"coupling/lab/device/cpu"
)

// Images whose padding is a large part of them are interleaved: pixel by pixel and channel by
// channel, those of eight images lie side by side. A group is then one window of four images, and
// the windows of a row that meet the same columns of the image are summed over the taps that lie in
// it: products with padding, and windows that only fill a group, are left out.

// tapBand is the windows from … to−1 of a row, in the ranges of taps that all of them have.
type tapBand struct {
	from, to int
	taps     [][2]int
}

const (
	octet = 8 // images side by side
	// interleaveBytes is the interleaved images at a time, for the second-level cache: whole
	// octets. One octet may be up to four times as large.
	interleaveBytes = 512 << 10
	// interleaveCost is the multiply-adds that interleaving an element costs as much as, beyond a copy with padding.
	interleaveCost = 16
)

// inside is the taps, from … to−1, with which result o of a phase reads within a source of the given size.
func (p phase) inside(o, zeros, size int) (from, to int) {
	return span(len(p.offsets), func(j int) bool { return p.reads(o, j, zeros, size) })
}

// reading is the results, from … to−1, whose tap j reads within a source of the given size.
func (p phase) reading(j, zeros, size int) (from, to int) {
	return span(p.count, func(o int) bool { return p.reads(o, j, zeros, size) })
}

// reads reports whether tap j of result o reads within a source of the given size.
func (p phase) reads(o, j, zeros, size int) bool {
	at := o*p.stride + p.offsets[j] - zeros
	return at >= 0 && at < size
}

// span is the numbers from … to−1 below n that remain when those at both ends are dropped for which in is false.
func span(n int, in func(i int) bool) (from, to int) {
	to = n
	for from < to && !in(from) {
		from++
	}
	for from < to && !in(to-1) {
		to--
	}
	return from, to
}

// bandsOf is the bands of each row of a phase.
func (g *gathering[T]) bandsOf(r, c phase) [][]tapBand {
	bands := make([][]tapBand, r.count)
	for y := range bands {
		r0, r1 := r.inside(y, g.pad.rows.zeros, g.pad.h)
		for x := 0; x < c.count; {
			b := tapBand{from: x}
			c0, c1 := c.inside(x, g.pad.cols.zeros, g.pad.w)
			for same := true; same && x < c.count; {
				x++
				d0, d1 := c.inside(x, g.pad.cols.zeros, g.pad.w)
				same = d0 == c0 && d1 == c1
			}
			b.to = x
			across := len(c.taps) * g.in
			switch {
			case c0 == c1:
			case c1-c0 == len(c.taps) && r0 < r1:
				b.taps = [][2]int{{r0 * across, r1 * across}}
			default:
				for k := r0; k < r1; k++ {
					b.taps = append(b.taps, [2]int{k*across + c0*g.in, k*across + c1*g.in})
				}
			}
			bands[y] = append(bands[y], b)
		}
	}
	return bands
}

// interleave returns the groups of four images of a batch of interleaved ones, and the bands of
// each phase, or 0 where that does not pay for a full batch. The order of sums depends on it: it is
// the same for all instruction sets, numbers of workers and of images, since what a record
// contributes to private training must not depend on who else is in its batch.
func (g *gathering[T]) interleave() (quads int, bands [][][]tapBand) {
	quad, all := cpu.Group*g.in*g.pad.h*g.pad.w, roundUp(g.n, cpu.Group)/cpu.Group
	bytes := quad * int(unsafe.Sizeof(T(0)))
	quads = max(1, interleaveBytes/max(1, 2*bytes)) * octet / cpu.Group
	if quads*bytes > 4*interleaveBytes || all == 0 || quad == 0 || g.pad.none() {
		return 0, nil
	}
	saved := 0 // products of a tap with a group
	for _, r := range g.pad.rows.phases {
		for _, c := range g.pad.cols.phases {
			saved += quads * r.count * roundUp(c.count, cpu.Group) * len(r.taps) * len(c.taps) * g.in
			phase := g.bandsOf(r, c)
			for _, b := range slices.Concat(phase...) {
				for _, t := range b.taps {
					saved -= max(2, (b.to-b.from)*quads) * (t[1] - t[0])
				}
			}
			bands = append(bands, phase)
		}
	}
	if saved*cpu.Group*g.out < interleaveCost*quads*quad {
		return 0, nil
	}
	quads = min(quads, all)
	if team := g.e.workers(); team > 1 {
		quads = min(quads, max(3, roundUp(all/(2*team), 3)))
	}
	return quads, bands
}

// steps is the elements of interleaved images from a channel to the next, from a pixel and from an
// octet: the channels of a pixel lie together, an odd number of them, so that the same channel of
// neighbouring pixels does not fall on the same lines of the cache. Planes of less than an octet
// lie one after another, since all of them are turned at once.
func (g *gathering[T]) steps() (channel, pixel, images int) {
	plane := g.pad.h * g.pad.w
	if plane < octet {
		return plane * octet, octet, g.in * plane * octet
	}
	return octet, octet * (g.in | 1), octet * (g.in | 1) * plane
}

// room is the elements in front of interleaved images that a window may begin in, and those from
// there on that one octet and its windows take.
func (g *gathering[T]) room() (front, all int) {
	r, c := g.pad.rows, g.pad.cols
	channel, pixel, images := g.steps()
	front = pixel * (r.zeros*g.pad.w + c.zeros)
	return front, max(front+images, pixel*((r.size-1)*g.pad.w+c.size)+channel*(g.in-1))
}

// interleavedGroups is where the windows of a phase begin, each as often as there are quads.
func (g *gathering[T]) interleavedGroups(r, c phase, quads int) []int {
	groups := make([]int, 0, r.count*c.count*quads)
	_, pixel, images := g.steps()
	for y := range r.count {
		for x := range c.count {
			at := pixel * (y*r.stride*g.pad.w + x*c.stride)
			for q := range quads {
				groups = append(groups, at+q*cpu.Group/octet*images+q*cpu.Group%octet)
			}
		}
	}
	return groups
}

// interleaved does some strips of the images from lo to hi.
func (g *gathering[T]) interleaved(pad *pad[T], lo, hi, part, parts int) {
	channel, pixel, next := g.steps()
	front, all := g.room()
	plane := g.pad.h * g.pad.w
	run, source := plane, g.in*plane
	if plane < octet {
		run = source
	}
	images := pad.buf(0, (hi-lo-1)/octet*next+all)
	for i := lo; i < hi; i += octet {
		for at := 0; at < source; at += run {
			to := images[front+(i-lo)/octet*next+at/plane*channel:]
			g.e.k.Transpose(to, pixel, g.src[i*source+at:], source, min(octet, g.n-i), run)
		}
	}
	step := max(1, 2*gatherWindows*len(g.phases)/max(1, roundUp(hi-lo, cpu.Group)*g.w))
	// the phases of some rows one after the other: they write to the same lines
	for first := 0; first < g.h; first += step {
		across := len(g.pad.cols.phases)
		for i := 0; i < len(g.phases); i += across {
			ps := g.phases[i : i+across]
			last := min(first+step, ps[0].rows.count)
			for s := part; first < last && s < len(g.widths); s += parts {
				g.interleavedRows(pad, ps, s, images, lo, hi, first, last)
			}
		}
	}
}

// interleavedRows does a strip for the rows first … last−1 of phases that differ in their columns.
func (g *gathering[T]) interleavedRows(pad *pad[T], ps []gatherPhase[T], s int, images []T, lo, hi, first, last int) {
	width, quads := g.widths[s], roundUp(hi-lo, cpu.Group)/cpu.Group
	team := g.e.k.TapGroups(width)
	room := ((last-first)*ps[0].cols.count*quads + team) * cpu.Group * width // the first phase has the most columns
	sums := pad.buf(1, len(ps)*room)
	for j := range ps {
		groups := ps[j].groups
		if quads < g.quads {
			groups = ps[j].rest
		}
		g.sumBands(sums[j*room:(j+1)*room], &ps[j], s, images, groups[first*ps[j].cols.count*quads:],
			ps[j].bands[first:last], quads)
	}
	from, channels := g.strip(s)
	for b := lo; b < hi; b++ {
		g.write(pad, ps, func(j int) []T { return sums[j*room+(b-lo)*width:] }, quads*cpu.Group*width,
			(b*g.out+from)*g.h*g.w, channels, first, last-first)
	}
}

// sumBands leaves in acc the sums of a strip for the bands of some rows, which begin with groups.
func (g *gathering[T]) sumBands(acc []T, p *gatherPhase[T], s int, images []T, groups []int, rows [][]tapBand,
	quads int) {
	width, team, perRow := g.widths[s], g.e.k.TapGroups(g.widths[s]), p.cols.count*quads
	for y, bands := range rows {
		for _, b := range bands {
			from, to := y*perRow+b.from*quads, y*perRow+b.to*quads
			// the next band overwrites what is too much
			sums := acc[from*cpu.Group*width:][:roundUp(to-from, team)*cpu.Group*width]
			if len(b.taps) == 0 {
				clear(sums)
			}
			for i, t := range b.taps {
				g.e.k.SumTaps(sums, images, groups[from:to], 1, p.offsets.Slice(t[0], t[1]),
					p.packed[s][t[0]*width:t[1]*width], width, i == 0)
			}
		}
	}
}
