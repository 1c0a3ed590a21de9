package geometry

import (
	"math"

	"coupling/lab/device/cpu"
	"coupling/lab/logspace"
)

// tables are what passes along an axis at one ε share. Where exp(−c/ε) does not underflow, it is
// held whole, and a pass is a matrix product. Elsewhere the sources are cut into blocks, and each
// target's exp(−(c_ij − c_kj)/ε) against the block's middle source k is held, relative to that at
// the middle of a segment of targets: a row of a block takes exponentials for its middle source
// alone.
type tables struct {
	*Axis
	inv   float64
	least float64   // of c/ε
	whole []float64 // exp(−c/ε + least), nil where it underflows

	segment int       // segments begin at its multiples and are twice as long; 0 where there are none
	ratios  []float64 // of block b and segment s, blockRows×2·segment
	bases   []float64 // the logarithms of what ratios are relative to, by block, segment and source
	slope   float64   // the largest change of a ratio's logarithm from one target to the next
}

const (
	// negligible is the logarithm, against the largest, of entries whose sum is below rounding.
	negligible = 45
	// wholeRange is the range of c/ε up to which exp(−c/ε) is held whole: a source's largest term
	// is above e^−600, and what underflows against it is below e^−100 of it.
	wholeRange = 600
	// blockRows is the number of sources in a block.
	blockRows = 12
	// maxSegment and minSegment limit the length of segments.
	maxSegment, minSegment = 48, 6
	// ratioRange limits the logarithms of ratios, so that neither they nor sums of them overflow or
	// underflow, and windowRange their range in a window: where an exponential of the middle source
	// underflows, below e^−745 of its largest, it is then below e^−45 of the largest term of each
	// source of the block.
	ratioRange, windowRange = 650, 700
	// tileRows is the number of rows that are reduced together, so that results are written in
	// runs.
	tileRows = 16
)

// tables returns those of the axis at ε.
func (x *Axis) tables(inv float64) *tables {
	if t := x.held.Load(); t != nil && t.inv == inv {
		return t
	}
	t := &tables{Axis: x, inv: inv, least: math.Inf(1)}
	n, m := x.cost.Dims()
	most := math.Inf(-1)
	for i := range n {
		for _, c := range x.cost.RawRowView(i) {
			t.least, most = min(t.least, c*inv), max(most, c*inv)
		}
	}
	if most-t.least <= wholeRange {
		t.whole = make([]float64, n*m)
		for i := range n {
			kern.ExpScaled(t.whole[i*m:(i+1)*m], x.cost.RawRowView(i), t.least/inv, -inv)
		}
	} else if x.isMonge {
		for t.segment = maxSegment; t.segment >= minSegment && !t.fill(); t.segment /= 2 {
		}
		if t.segment < minSegment {
			t.segment = 0
		}
	}
	x.held.Store(t)
	return t
}

// fill makes the ratios, and reports whether they are in range.
func (t *tables) fill() bool {
	n, m := t.cost.Dims()
	blocks, segments := (n+blockRows-1)/blockRows, (m+t.segment-1)/t.segment
	width := 2 * t.segment
	t.slope = 0
	t.ratios, t.bases = make([]float64, blocks*segments*blockRows*width), make([]float64, blocks*segments*blockRows)
	for i := range n {
		b := i / blockRows
		row, middle := t.cost.RawRowView(i), t.cost.RawRowView(t.middle(b))
		for s := range segments {
			at := (b*segments+s)*blockRows + i%blockRows
			from := s * t.segment
			k := min(from+t.segment, m-1)
			base := row[k] - middle[k]
			t.bases[at] = -base * t.inv
			ratios := t.ratios[at*width:][:min(width, m-from)]
			for j := range ratios {
				v := -(row[from+j] - middle[from+j] - base) * t.inv
				if math.Abs(v) > ratioRange {
					return false
				}
				if ratios[j] = v; j > 0 {
					t.slope = max(t.slope, math.Abs(v-ratios[j-1]))
				}
			}
			kern.Exp(ratios, ratios)
		}
	}
	return true
}

// middle returns the source in the middle of block b.
func (t *tables) middle(b int) int {
	n, _ := t.cost.Dims()
	return min(b*blockRows+blockRows/2, n-1)
}

// axisPass reduces the last axis of a tensor and makes it the first.
type axisPass struct {
	*tables
	h, out      []float64
	field, mean []float64
	withCost    bool
	rest        int // the number of rows of h
}

// axisScratch is the scratch of one goroutine: results of a tile, row by row, and entries of
// targets.
type axisScratch struct {
	sum, mean []float64
	x, e      []float64
	windows   [][2]int // of the first source of each block, and of the last source
	tops      [tileRows]float64
	gemm      cpu.Gemm[float64]
}

func (p *axisPass) scratch() *axisScratch {
	n, m := p.cost.Dims()
	room := func(k int) []float64 { return make([]float64, k*tileRows) }
	return &axisScratch{
		sum:     room(n),
		mean:    room(n),
		x:       room(m),
		e:       room(m),
		windows: make([][2]int, (n+blockRows-1)/blockRows+1),
	}
}

// tile reduces rows [lo, hi) of h.
func (p *axisPass) tile(w *axisScratch, lo, hi int) {
	n, m := p.cost.Dims()
	if p.whole != nil {
		p.product(w, lo, hi)
		return
	}
	for r := lo; r < hi; r++ {
		h := p.h[r*m : (r+1)*m]
		p.search(w, h, 0, len(w.windows), 0, m)
		for b := range w.windows[1:] {
			p.block(w, r, (r-lo)*n, b)
		}
	}
	for i := range n {
		for r := lo; r < hi; r++ {
			p.out[i*p.rest+r] = w.sum[(r-lo)*n+i]
			if p.field != nil {
				p.mean[i*p.rest+r] = w.mean[(r-lo)*n+i]
			}
		}
	}
}

// product reduces rows by products with exp(−c/ε).
func (p *axisPass) product(w *axisScratch, lo, hi int) {
	n, m := p.cost.Dims()
	k := hi - lo
	e := w.e[:k*m]
	for r := range k {
		h := p.h[(lo+r)*m : (lo+r+1)*m]
		if w.tops[r] = kern.Max(h); math.IsInf(w.tops[r], -1) {
			w.tops[r] = 0
		}
		kern.ExpAt(e[r*m:(r+1)*m], h, w.tops[r])
	}
	into := func(dst []float64) cpu.Matrix[float64] {
		return cpu.Matrix[float64]{Data: dst[lo:], Rows: n, Cols: k, RowStride: p.rest, ColStride: 1}
	}
	kernel := cpu.Dense(p.whole, n, m)
	w.gemm.Add(into(p.out), 1, kernel, cpu.Dense(e, k, m).T())
	if p.field != nil {
		x := w.x[:k*m]
		kern.Mul(x, e, p.field[lo*m:hi*m])
		w.gemm.Add(into(p.mean), 1, kernel, cpu.Dense(x, k, m).T())
		if p.withCost {
			weighted := make([]float64, n*m)
			kern.Mul(weighted, p.whole, p.cost.RawMatrix().Data)
			w.gemm.Add(into(p.mean), 1, cpu.Dense(weighted, n, m), cpu.Dense(e, k, m).T())
		}
	}
	for i := range n {
		for r := range k {
			at := i*p.rest + lo + r
			sum := p.out[at]
			if p.field != nil && sum > 0 {
				p.mean[at] /= sum
			}
			p.out[at] = w.tops[r] - p.least + logspace.Log(sum)
		}
	}
}

// search finds windows [lo, hi) of a row of h, whose entries outside [from, to) are negligible
// there. Where the cost is Monge, what is negligible at small j is so for all later sources, and at
// large j for all earlier ones.
func (p *axisPass) search(w *axisScratch, h []float64, lo, hi, from, to int) {
	if lo >= hi {
		return
	}
	mid := (lo + hi) / 2
	n, _ := p.cost.Dims()
	first, last := from, to
	if p.isMonge {
		first, last = window(h, p.cost.RawRowView(min(mid*blockRows, n-1)), p.inv, from, to)
	}
	w.windows[mid] = [2]int{first, last}
	p.search(w, h, lo, mid, from, last)
	p.search(w, h, mid+1, hi, first, to)
}

// window returns the part of [from, to) outside which h − c/ε is negligible.
func window(h, c []float64, inv float64, from, to int) (first, last int) {
	const run = 16
	cut := kern.RowMax(h[from:to], c[from:to], inv) - negligible
	for from+run <= to && kern.RowMax(h[from:from+run], c[from:from+run], inv) < cut {
		from += run
	}
	for to-run >= from && kern.RowMax(h[to-run:to], c[to-run:to], inv) < cut {
		to -= run
	}
	for from < to && h[from]-c[from]*inv < cut {
		from++
	}
	for to > from && h[to-1]-c[to-1]*inv < cut {
		to--
	}
	return from, to
}

// block reduces row r for block b, whose results begin at w.sum[to].
func (p *axisPass) block(w *axisScratch, r, to, b int) {
	n, m := p.cost.Dims()
	lo, hi := b*blockRows, min((b+1)*blockRows, n)
	from, end := w.windows[b][0], w.windows[b+1][1]
	h := p.h[r*m : (r+1)*m]
	if s := from / max(1, p.segment); !p.withCost && end <= (s+2)*p.segment &&
		p.slope*float64(end-from) <= windowRange {
		segments := (m + p.segment - 1) / p.segment
		p.byRatios(w, h, r, to+lo, hi-lo, from, end, b, (b*segments+s)*blockRows)
		return
	}
	for i := lo; i < hi; i++ {
		x, c := w.x[:end-from], p.cost.RawRowView(i)[from:end]
		top := kern.RowLogits(x, h[from:end], c, p.inv)
		if w.sum[to+i] = top; math.IsInf(top, -1) {
			w.mean[to+i] = 0
			continue
		}
		e := w.e[:len(x)]
		sum := kern.ExpAt(e, x, top)
		w.sum[to+i] += logspace.Log(sum)
		if p.field != nil {
			mean := kern.Dot(e, p.field[r*m+from:r*m+end])
			if p.withCost {
				mean += kern.Dot(e, c)
			}
			w.mean[to+i] = mean / sum
		}
	}
}

// byRatios is block by the ratios at the given place.
func (p *axisPass) byRatios(w *axisScratch, h []float64, r, to, rows, from, end, b, at int) {
	width := 2 * p.segment
	x, c := w.x[:end-from], p.cost.RawRowView(p.middle(b))[from:end]
	top := kern.RowLogits(x, h[from:end], c, p.inv)
	if math.IsInf(top, -1) {
		top = 0 // and all sums are 0
	}
	kern.ExpAt(x, x, top)
	ratios := p.ratios[at*width+from%p.segment:]
	var sums [blockRows]float64
	kern.Gemv(sums[:rows], ratios, width, x)
	for i, v := range sums[:rows] {
		w.sum[to+i] = top + p.bases[at+i] + logspace.Log(v)
	}
	if p.field != nil {
		kern.Mul(x, x, p.field[r*len(h)+from:][:len(x)])
		kern.Gemv(w.mean[to:to+rows], ratios, width, x)
		for i, v := range sums[:rows] {
			if v > 0 {
				w.mean[to+i] /= v
			}
		}
	}
}
