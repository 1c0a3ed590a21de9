package host

import (
	"unsafe"

	"coupling/lab/device/cpu"
)

// gathering is dst[n, o, p] = Σ over channels c and taps t of W[o, c, t]·src[n, c, p + t], phase by phase.
type gathering[T cpu.Float] struct {
	e          *engine[T]
	n, in, out int
	h, w       int // of the result
	src, dst   []T
	pad        padding
	weights    tapWeights[T]

	widths []int // of the strips of channels
	phases []gatherPhase[T]
	batch  int // images at a time
	quads  int // groups of four of them where they are interleaved, else 0
}

// gatherPhase is the part of one phase that all images of a batch share.
type gatherPhase[T cpu.Float] struct {
	rows, cols phase
	offsets    cpu.Offsets
	taps       int
	packed     [][]T // weights of each strip, a row for each tap
	starts     []int // groups of a row of windows
	groups     []int // of all rows of a batch

	bands [][]tapBand // of interleaved images
	rest  []int       // the groups of their last batch
}

// tapWeights is a weight with the strides of the channels that are made and read.
type tapWeights[T cpu.Float] struct {
	data            []T
	outStep, inStep int
	across, area    int // taps of a row of the kernel, and of all rows
}

const (
	gatherWindows = 512       // results of a channel at a time: what is accumulated stays in the second-level cache
	gatherBytes   = 256 << 10 // padded images at a time
)

func (g *gathering[T]) run() {
	if g.makesFew() {
		g.few()
		return
	}
	size := g.in * g.pad.plane()
	bytes := max(1, size*int(unsafe.Sizeof(T(0))))
	g.batch = max(1, min(g.n, (gatherWindows+g.h*g.w-1)/max(1, g.h*g.w), gatherBytes/bytes))
	g.widths = g.e.k.Strips(g.out)
	quads, bands := g.interleave()
	if quads > 0 {
		g.quads, g.batch = quads, quads*cpu.Group
	}
	g.prepare(bands)
	batches := (g.n + g.batch - 1) / g.batch
	parts := g.parts(batches)
	g.e.itemsPad(batches*parts, 1, func(pad *pad[T], i int) {
		first := i / parts * g.batch
		if last := min(first+g.batch, g.n); g.quads > 0 {
			g.interleaved(pad, first, last, i%parts, parts)
		} else {
			g.images(pad, first, last, i%parts, parts)
		}
	})
}

// parts is among how many workers the strips of each batch are dealt out. Each copies the images of
// the batch anew, so it is the least number that leaves at most a tenth of the workers' time idle.
func (g *gathering[T]) parts(batches int) int {
	team, most := g.e.workers(), max(1, len(g.widths))
	for parts := 1; parts < most; parts++ {
		if n := batches * parts; 10*n >= 9*roundUp(n, team) {
			return parts
		}
	}
	return most
}

// prepare makes the tables and packs the weights of each phase.
func (g *gathering[T]) prepare(bands [][][]tapBand) {
	for _, r := range g.pad.rows.phases {
		for _, c := range g.pad.cols.phases {
			p := gatherPhase[T]{rows: r, cols: c, taps: g.in * len(r.taps) * len(c.taps), starts: startsOf(c.count)}
			p.offsets = cpu.NewOffsets[T](g.offsets(r, c))
			if g.quads > 0 {
				p.bands, p.groups = bands[len(g.phases)], g.interleavedGroups(r, c, g.quads)
				p.rest = g.interleavedGroups(r, c, (roundUp(g.n, cpu.Group)/cpu.Group-1)%g.quads+1)
			}
			for b := range g.batch {
				for y := 0; y < r.count && g.quads == 0; y++ {
					at := b*g.in*g.pad.plane() + y*r.stride*g.pad.cols.size
					for _, x := range p.starts {
						p.groups = append(p.groups, at+x*c.stride)
					}
				}
			}
			g.phases = append(g.phases, p)
		}
	}
	total := 0
	for _, p := range g.phases {
		for _, width := range g.widths {
			total += p.taps * width
		}
	}
	packed := g.e.hold(0, total)
	for i := range g.phases {
		p := &g.phases[i]
		for _, width := range g.widths {
			p.packed, packed = append(p.packed, packed[:p.taps*width]), packed[p.taps*width:]
		}
	}
	strips := len(g.widths)
	g.e.items(len(g.phases)*strips, 1, func(i int) {
		g.pack(&g.phases[i/max(1, strips)], i%strips)
	})
}

// offsets is where the taps of a phase read, channel by channel, or of interleaved images all channels tap by tap.
func (g *gathering[T]) offsets(r, c phase) []int {
	at := make([]int, 0, g.in*len(r.taps)*len(c.taps))
	if g.quads > 0 {
		channel, pixel, _ := g.steps()
		for _, y := range r.offsets {
			for _, x := range c.offsets {
				for i := range g.in {
					at = append(at, (y*g.pad.w+x)*pixel+i*channel)
				}
			}
		}
		return at
	}
	for channel := range g.in {
		for _, y := range r.offsets {
			for _, x := range c.offsets {
				at = append(at, channel*g.pad.plane()+y*g.pad.cols.size+x)
			}
		}
	}
	return at
}

// strip is the channels of strip s.
func (g *gathering[T]) strip(s int) (from, n int) {
	for _, w := range g.widths[:s] {
		from += w
	}
	return from, min(g.widths[s], g.out-from)
}

// pack writes the weights of a strip of channels, a row for each tap.
func (g *gathering[T]) pack(p *gatherPhase[T], s int) {
	if p.taps == 0 {
		return
	}
	from, n := g.strip(s)
	to, width, w := p.packed[s], g.widths[s], g.weights
	if n < width {
		clear(to)
	}
	area := len(p.rows.taps) * len(p.cols.taps)
	every := area == w.area
	tapStep, channelStep := width, area*width
	if g.quads > 0 {
		tapStep, channelStep = g.in*width, width
	} else if every && w.outStep == p.taps {
		g.e.k.Transpose(to, width, w.data[from*w.outStep:], w.outStep, n, p.taps)
		return
	}
	for c := range g.in {
		at := w.data[c*w.inStep+from*w.outStep:]
		if every {
			g.e.k.Transpose(to[c*channelStep:], tapStep, at, w.outStep, n, w.area)
			continue
		}
		row := c * channelStep
		for _, i := range p.rows.taps {
			for _, j := range p.cols.taps {
				for o, k := 0, i*w.across+j; o < n; o, k = o+1, k+w.outStep {
					to[row+o] = at[k]
				}
				row += tapStep
			}
		}
	}
}

// images does some strips of the images from lo to hi.
func (g *gathering[T]) images(pad *pad[T], lo, hi, part, parts int) {
	source := g.in * g.pad.h * g.pad.w
	images := g.src[lo*source : hi*source]
	last := g.pad.cols.phases[len(g.pad.cols.phases)-1]
	if !g.pad.none() || last.count < cpu.Group { // a group alone in its row reads beyond it
		size := g.in * g.pad.plane()
		images = pad.buf(0, (hi-lo)*size+cpu.Group*last.stride)
		clear(images)
		copyPlanes(g.e.k, g.pad, images, g.src[lo*source:], (hi-lo)*g.in)
	}
	across := len(g.pad.cols.phases)
	for i := 0; i < len(g.phases); i += across {
		ps := g.phases[i : i+across]
		rows := (hi - lo) * ps[0].rows.count
		step := max(1, gatherWindows/max(1, ps[0].cols.count))
		for s := part; s < len(g.widths); s += parts {
			for r := 0; r < rows; r += step {
				g.block(pad, ps, s, images, lo, r, min(r+step, rows))
			}
		}
	}
}

// block does a strip for rows r0 to r1 of windows, counted through the images from lo on, of the
// phases ps, which differ in their columns.
func (g *gathering[T]) block(pad *pad[T], ps []gatherPhase[T], s int, images []T, lo, r0, r1 int) {
	width := g.widths[s]
	team := g.e.k.TapGroups(width)
	room := ((r1-r0)*len(ps[0].starts) + team) * cpu.Group * width // the first phase has the most columns
	sums := pad.buf(1, len(ps)*room)
	for j, p := range ps {
		acc, across := sums[j*room:(j+1)*room], len(p.starts)
		groups := p.groups[r0*across : r1*across]
		g.e.k.SumTaps(acc[:roundUp(len(groups), team)*cpu.Group*width], images, groups, p.cols.stride, p.offsets,
			p.packed[s], width, true)
		compact(acc, r1-r0, p.cols.count, across, width)
	}
	from, n := g.strip(s)
	height := ps[0].rows.count
	for r := r0; r < r1; { // an image's rows at a time
		b, y := r/height, r%height
		rows := min(height-y, r1-r)
		g.write(pad, ps, func(j int) []T { return sums[j*room+(r-r0)*ps[j].cols.count*width:] }, width,
			((lo+b)*g.out+from)*g.h*g.w, n, y, rows)
		r += rows
	}
}

// compact closes the gaps where the last group of a row overlaps or overhangs.
func compact[T any](acc []T, rows, count, across, width int) {
	if count%cpu.Group == 0 {
		return
	}
	for r := range rows {
		for i := range count {
			at := i // within the groups of a row
			if i >= (across-1)*cpu.Group && across > 1 {
				at += across*cpu.Group - count
			}
			copy(acc[(r*count+i)*width:][:width], acc[(r*across*cpu.Group+at)*width:][:width])
		}
	}
}

// write turns rows of windows, stride elements of the sums of each phase apart, n channels of each,
// into the planes from at on.
func (g *gathering[T]) write(pad *pad[T], ps []gatherPhase[T], sums func(j int) []T, stride, at, n, y, rows int) {
	first, plane := ps[0], g.h*g.w
	if first.rows.step == 1 && first.cols.step == 1 {
		g.e.k.Transpose(g.dst[at+y*g.w:], plane, sums(0), stride, rows*g.w, n)
		return
	}
	woven := pad.buf(2, rows*g.w*n) // pixels of all phases side by side
	for j, p := range ps {
		from := sums(j)
		for r := range rows {
			g.e.k.CopyRows(woven[(r*g.w+p.cols.first)*n:], p.cols.step*n, from[r*p.cols.count*stride:], stride,
				p.cols.count, n)
		}
	}
	for r := range rows {
		g.e.k.Transpose(g.dst[at+(first.rows.first+(y+r)*first.rows.step)*g.w:], plane, woven[r*g.w*n:], n, g.w, n)
	}
}
