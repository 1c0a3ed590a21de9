package pld

import "math"

// A filling holds for each cell of a grid the sums of mass·(z − low) and of mass·(high − z) over
// the values z in it, and in the last cell, if it has no end, those of mass·(z − low) and of mass.
type filling struct {
	nodes      []float64
	above, gap []float64
	far        float64
}

// fill sorts all combinations of values into cells, tile by tile: a block of a with one of b, or these
// moved, down in convex order if low and up if not. The first node is not above any value, the last
// not below. Arithmetic is monotone, so that no value leaves the range of the nodes, nor of its tile.
func (o operation) fill(nodes []float64, a, b law, low bool) filling {
	f := filling{
		nodes: nodes,
		above: make([]float64, len(nodes)-1),
		gap:   make([]float64, len(nodes)-1),
		far:   o.far(a, b),
	}
	square := &a.x[0] == &b.x[0] && len(a.x) == len(b.x)
	side := 1 + int(math.Sqrt(float64(max(len(a.x), len(b.x)))))
	cells, t := f.cells(), o.tiles(nodes, a.blocks(side, low), b.blocks(side, low))
	for i := range t.rows.mass {
		first, factor := 0, 1.0
		if square { // each combination once, twice its mass, but with itself
			o.addSquare(cells, t.reach[i][i][0], t.rows.block(i, false))
			f.take(cells, t.reach[i][i])
			first, factor = i+1, 2
		}
		for j := first; j < len(t.columns.mass); j++ {
			moveRow, moveColumn := t.moves(i, j)
			o.addTile(cells, t.reach[i][j][0], t.rows.block(i, moveRow), t.columns.block(j, moveColumn), factor)
			f.take(cells, t.reach[i][j])
		}
	}
	return f
}

// addTile adds all combinations, by rows that are short, so that few of them pass from cell to cell.
func (o operation) addTile(cells []cell, at int, a, b law, factor float64) {
	if o.width(a) < o.width(b) {
		a, b = b, a
	}
	for k, x := range a.x {
		at = add(cells, at, b, o.row(x, factor*a.q[k]))
	}
}

// addSquare adds all combinations of a block with itself.
func (o operation) addSquare(cells []cell, at int, l law) {
	for k, x := range l.x {
		at = add(cells, at, law{x: l.x[k : k+1], q: l.q[k : k+1]}, o.row(x, l.q[k]))
		if k+1 < len(l.x) {
			add(cells, at, law{x: l.x[k+1:], q: l.q[k+1:]}, o.row(x, 2*l.q[k]))
		}
	}
}

// width is that of a combination with one other value, up to a factor.
func (o operation) width(l law) float64 {
	first, last := l.x[0], l.x[len(l.x)-1]
	if o == sum {
		return last - first
	}
	return last / first
}

// A row is slope·y + offset with the mass weight times that of y.
type row struct{ slope, offset, weight float64 }

func (o operation) row(x, weight float64) row {
	slope, offset := o.of(x)
	return row{slope, offset, weight}
}

// A blocks is a law in blocks of side points each, with their masses, and bounds of the variances that it
// adds to move these, times mass. In the law moved each block is at its two ends, which is above it in convex
// order, or at its mean, which is below: by Jensen's inequality, as in a cell, and for each value of the
// other ratio, which is independent. A mean is moved down by more than is rounded, which is (2·side + 3)·ulp
// of the distance from the first value, and 2 ulp, for blocks of two values or more.
type blocks struct {
	law
	moved        law
	side, points int // of a block, and of a block moved
	mass, spread []float64
}

func (l law) blocks(side int, low bool) blocks {
	b := blocks{law: l, side: side, points: 2}
	if low {
		b.points = 1
	}
	for i := 0; i < len(l.x); i += side {
		x, q := l.x[i:min(i+side, len(l.x))], l.q[i:min(i+side, len(l.x))]
		first, last := x[0], x[len(x)-1]
		above, gap, mass := 0.0, 0.0, 0.0
		for k := range x {
			above += q[k] * (x[k] - first)
			gap += q[k] * (last - x[k])
			mass += q[k]
		}
		b.mass, b.spread = append(b.mass, mass), append(b.spread, above*gap/mass)
		switch width := last - first; {
		case low:
			mean := first*(1-2*ulp) + above/mass*(1-4*ulp*float64(side))
			b.moved.x, b.moved.q = append(b.moved.x, min(max(mean, first), last)), append(b.moved.q, mass)
		case width == 0:
			b.moved.x, b.moved.q = append(b.moved.x, first, last), append(b.moved.q, mass, 0)
		default:
			b.moved.x, b.moved.q = append(b.moved.x, first, last), append(b.moved.q, gap/width, above/width)
		}
	}
	return b
}

// ends are the least and the largest value of a block.
func (b blocks) ends(k int) (first, last float64) {
	return b.x[k*b.side], b.x[min((k+1)*b.side, len(b.x))-1]
}

// block returns a block, as it is or moved.
func (b blocks) block(k int, moved bool) law {
	l, side := b.law, b.side
	if moved {
		l, side = b.moved, b.points
	}
	from := k * side
	to := min(from+side, len(l.x))
	return law{x: l.x[from:to], q: l.q[from:to]}
}

const (
	// movedShare is the largest share that a block which is moved may add to the variance that the cells of
	// its tile add.
	movedShare = .006
	// worthMoving is the number of points of a block from which it is worth it.
	worthMoving = 16
)

// A tiling tells which blocks of which tiles may be moved at little loss. Most can: pairs of values of
// the tails are rare beside others with the same result.
type tiling struct {
	operation
	rows, columns blocks
	reach         [][][2]int // of each tile, the cells of the least and the largest value
	variance      []float64  // about what each cell adds, if tiles were uniform over the cells
}

func (o operation) tiles(nodes []float64, rows, columns blocks) tiling {
	last := len(nodes) - 2
	t := tiling{o, rows, columns, make([][][2]int, len(rows.mass)), make([]float64, len(nodes))}
	for i := range t.reach {
		t.reach[i] = make([][2]int, len(columns.mass))
		low, high := 0, 0
		a, b := rows.ends(i)
		for j := range t.reach[i] {
			c, d := columns.ends(j)
			for ; low < last && nodes[low+1] <= o.on(a, c); low++ {
			}
			for ; high < last && nodes[high+1] <= o.on(b, d); high++ {
			}
			t.reach[i][j] = [...]int{low, high}
			share := rows.mass[i] * columns.mass[j] / float64(high-low+1)
			for c := low; c <= high; c++ { // not by differences, whose rounding would be all that the tails have
				t.variance[c] += share
			}
		}
	}
	for c := range last + 1 {
		t.variance[c] *= (nodes[c+1] - nodes[c]) * (nodes[c+1] - nodes[c])
	}
	return t
}

// moves reports whether the row and the column of a tile may be moved.
func (t tiling) moves(i, j int) (row, column bool) {
	low, high := t.reach[i][j][0], t.reach[i][j][1]
	if t.rows.side < worthMoving || high == len(t.variance)-2 { // the last cell may have no end
		return false, false
	}
	allowed := math.Inf(1)
	for k := range 5 {
		allowed = min(allowed, t.variance[low+(high-low)*k/4])
	}
	allowed *= movedShare * float64(high-low+1)
	_, x := t.rows.ends(i)
	_, y := t.columns.ends(j)
	byX, byY := t.row(x, 0).slope, t.row(y, 0).slope
	return byY*byY*t.rows.spread[i]*t.columns.mass[j] <= allowed,
		byX*byX*t.columns.spread[j]*t.rows.mass[i] <= allowed
}

// A cell is one of a filling, with the sums over a tile. A value z is in it, or beyond, if not below
// low, and before end. The second sum is that of mass·(high − sign·z).
type cell struct{ low, end, high, sign, above, gap float64 }

func (f filling) cells() []cell {
	out := make([]cell, len(f.above))
	for c := range out {
		out[c] = cell{
			low:  f.nodes[c],
			end:  f.nodes[c+1],
			high: f.nodes[c+1],
			sign: 1,
		}
	}
	last := &out[len(out)-1]
	if last.end = math.Inf(1); math.IsInf(last.high, 1) {
		last.high, last.sign = 1, 0
	}
	return out
}

// add adds a row of values, none of which is in a cell before c, and returns that of the first.
func add(cells []cell, c int, l law, r row) int {
	ys, qs := l.x, l.q[:len(l.x)]
	for r.slope*ys[0]+r.offset >= cells[c].end {
		c++
	}
	first, p := c, &cells[c]
	above, gap := 0.0, 0.0
	low, end, high, sign := p.low, p.end, p.high, p.sign
	for j, y := range ys {
		z, w := r.slope*y+r.offset, r.weight*qs[j]
		if z >= end {
			p.above += above
			p.gap += gap
			for c++; z >= cells[c].end; c++ {
			}
			p = &cells[c]
			low, end, high, sign = p.low, p.end, p.high, p.sign
			above, gap = 0, 0
		}
		above += w * (z - low)
		gap += w * (high - sign*z)
	}
	p.above += above
	p.gap += gap
	return first
}

// take adds the sums of a tile, which has filled some cells, and clears them.
func (f *filling) take(cells []cell, reach [2]int) {
	for c := reach[0]; c <= reach[1]; c++ {
		p := &cells[c]
		f.above[c] += p.above
		f.gap[c] += p.gap
		p.above, p.gap = 0, 0
	}
}

// law returns the law without points.
func (f filling) law() law {
	last := len(f.nodes) - 1
	return law{far: f.far, least: f.nodes[0], most: f.nodes[last]}
}

// ends moves all mass to the ends of cells.
func (f filling) ends() law {
	out := f.law()
	for c, above := range f.above {
		low, high := f.nodes[c], f.nodes[c+1]
		if math.IsInf(high, 1) {
			out.add(low, f.gap[c])
			out.far += above
			continue
		}
		out.add(low, f.gap[c]/(high-low))
		out.add(high, above/(high-low))
	}
	return out
}

// barycentres moves the mass of each cell to its mean, or below it by a share of the cell, if not 0.
func (f filling) barycentres(down float64) law {
	out := f.law()
	for c, above := range f.above {
		low, high, gap := f.nodes[c], f.nodes[c+1], f.gap[c]
		switch {
		case above+gap == 0:
		case math.IsInf(high, 1):
			at := low + above/gap
			if down > 0 {
				at = max(low, at-down*(at-low)-8*ulp*at)
			}
			out.add(at, gap)
		default:
			at := (low*gap + high*above) / (above + gap)
			if down > 0 {
				at -= down*(high-low) + 8*ulp*at
			}
			out.add(min(max(at, low), high), (above+gap)/(high-low))
		}
	}
	return out
}
