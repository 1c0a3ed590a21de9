package simplex

import (
	"math"
	"slices"

	"coupling/ot/internal/rows"
)

// An assignment is the state of a problem of equal weights and as many targets as sources, solved by shortest
// augmenting paths (Jonker and Volgenant 1987). Potentials g of targets only fall, so that a list of arcs stays
// a bound for the others: full rows are read where a path may need them, which is seldom.
type assignment struct {
	*simplex
	f, g []float64
	to   []int32   // the target of each source, or None
	of   []int32   // the source of each target, or None
	paid []float64 // the cost of each source's arc

	dist    []float64 // the length of the shortest path to each target, +Inf where none was found
	before  []int32   // the source before each target on it
	arc     []float64 // the cost of the arc between them
	near    queue     // targets, and sources (j = None) whose rest may be near
	reached []int32   // targets of finite dist
	settled []int32   // those whose dist is final
	steps   int       // arcs read by all paths
}

// assign solves the problem from potentials g_j ≤ C_ij of the targets, and reports whether it did: not where paths are
// slow, or there is no plan by allowed pairs.
func (s *simplex) assign(g []float64) bool {
	a := &assignment{
		simplex: s, g: g, paid: make([]float64, s.n),
		to: slices.Repeat([]int32{None}, s.n), of: slices.Repeat([]int32{None}, s.m),
	}
	if s.listed == nil {
		s.makeLists(g)
	}
	if a.matchAll() && a.isOptimal() {
		s.matched = a
		return true
	}
	s.pivots = 0
	return false
}

// listOf returns the list of source i.
func (a *assignment) listOf(i int32) (to []int32, cost []float64, rest float64) {
	if a.listed != nil {
		to, cost = a.listed.Arcs(int(i))
		return to, cost, math.Inf(1)
	}
	l := &a.list[i]
	return l.to, l.cost, l.rest
}

// matchAll reports whether it matched every source.
func (a *assignment) matchAll() bool {
	if a.bid() > a.n/contended {
		return false
	}
	for i, j := range a.to {
		if j == None && (a.err != nil || a.isSlow() || !a.augment(int32(i))) {
			return false
		}
	}
	return true
}

// isOptimal centres g, sets f to its c-transform and reports whether every arc costs f_i + g_j, but for rounding.
func (a *assignment) isOptimal() bool {
	a.f = make([]float64, a.n)
	shift := (kern.Sum(a.paid)/2 - kern.Sum(a.g)) / float64(a.n)
	rows.Shift(a.g, shift)
	for range maxPolish {
		if a.tight(shift) {
			return true
		}
	}
	return false
}

// maxPolish is the most sweeps that remove the rounding of paths from potentials. They follow chains of tight arcs,
// which are long where few pairs are allowed: 91 sweeps between 6000 points with 20 neighbours.
const maxPolish = 300

// tight sets f and reports whether every arc costs f_i + g_j but for rounding. It raises g where not. The lists
// are of potentials lower by shift.
func (a *assignment) tight(shift float64) bool {
	ok := true
	for i, j := range a.to {
		to, cost, rest := a.listOf(int32(i))
		c := a.paid[i]
		f := Least(to, cost, a.g, c-a.g[j])
		if f > rest-shift { // the list may lack the least, else not, since g only fell but for rounding
			f = min(f, a.least(i, a.g))
		}
		a.f[i] = f
		if d := c - f - a.g[j]; d > roundoff(c, f, a.g[j]) {
			a.g[j] += d
			ok = false
		}
	}
	return ok
}

const (
	// contended is the share, as 1 over it, of sources left by bids above which pivots are faster than paths,
	// as a rule between points of few dimensions.
	contended = 5
	// rowsPerPath bounds the rows that paths read, beside one for each source.
	rowsPerPath = 28
)

// isSlow reports whether paths read so many arcs that pivots are faster.
func (a *assignment) isSlow() bool { return a.steps > a.m*(a.n+rowsPerPath*a.pivots) }

// bids is the number of bids a source after which the rest are left to paths.
const bids = 8

// bid gives every source in turn its best target at the price at which the second best is as good (augmenting
// row reduction). A source that loses its target bids again. It returns the number of sources left without one,
// less those with several best targets, to which paths are short.
func (a *assignment) bid() (left int) {
	tries := bids * a.n
	for first := range a.to {
		for i := int32(first); i != None && tries > 0; tries-- {
			to, cost, rest := a.listOf(i)
			at, best, second := two(to, cost, a.g)
			if best == second {
				for k, j := range to {
					if a.of[j] == None && cost[k]-a.g[j] == best {
						at = k
					}
				}
			}
			second = min(second, rest)
			if at == None || best > rest {
				break // left to a path, which looks at all arcs
			}
			j := to[at]
			last := a.of[j]
			if last != None && (second == best || math.IsInf(second, 1)) {
				left--
				break
			}
			if second < math.Inf(1) {
				a.g[j] = math.Nextafter(a.g[j]-(second-best), a.g[j]) // so that no rounding makes the second the best
			}
			a.match(i, j, cost[at])
			if i = last; i != None {
				a.to[i] = None
			}
		}
	}
	for _, j := range a.to {
		if j == None {
			left++
		}
	}
	return left
}

func (a *assignment) match(i, j int32, cost float64) { a.to[i], a.of[j], a.paid[i] = j, i, cost }

// augment matches source i by a shortest path to a free target, and reports whether there is a path.
func (a *assignment) augment(i int32) bool {
	if a.dist == nil {
		a.dist, a.before, a.arc = slices.Repeat([]float64{math.Inf(1)}, a.m), make([]int32, a.m), make([]float64, a.m)
	}
	a.near, a.reached, a.settled = a.near[:0], a.reached[:0], a.settled[:0]
	to, cost, rest := a.listOf(i)
	far := a.relax(i, to, cost, rest, math.Inf(1))
	for len(a.near) > 0 {
		o := a.near.pop()
		switch {
		case o.j == None: // the list of source o.i may lack the next arc
			to, cost, rest := a.longer(o.i)
			far = a.relax(o.i, to, cost, rest, far)
		case o.key > a.dist[o.j]: // since reached by a shorter path
		case a.of[o.j] != None:
			a.settled = append(a.settled, o.j)
			i := a.of[o.j]
			to, cost, rest := a.listOf(i)
			far = a.relax(i, to, cost, rest, far)
		default:
			a.flip(o.j)
			return true
		}
	}
	return false
}

// longer makes the list of source i afresh if it is old, and returns it, else all arcs.
func (a *assignment) longer(i int32) (to []int32, cost []float64, rest float64) {
	if a.list[i].made == a.pivots {
		to, cost = a.allArcs(int(i))
		return to, cost, math.Inf(1)
	}
	a.list[i] = a.shortlist(int(i), a.g, shortlistSize)
	a.steps += a.m
	return a.listOf(i)
}

// relax looks for shorter paths by these arcs of source i, where the rest have keys of at least rest, and returns the
// length of the shortest to a free target, so far far.
func (a *assignment) relax(i int32, to []int32, cost []float64, rest, far float64) float64 {
	now, base := math.Inf(-1), 0.
	if j := a.to[i]; j != None {
		now = a.dist[j]
		base = now - (a.paid[i] - a.g[j])
	}
	a.steps += len(to)
	for k, j := range to {
		d := cost[k] - a.g[j] + base
		if d >= far || max(d, now) >= a.dist[j] { // d < now is rounding
			continue
		}
		d = max(d, now)
		if math.IsInf(a.dist[j], 1) {
			a.reached = append(a.reached, j)
		}
		a.dist[j], a.before[j], a.arc[j] = d, i, cost[k]
		a.near.push(candidate{i: i, j: j, key: d})
		if a.of[j] == None {
			far = d
		}
	}
	if rest += base; rest < far {
		a.near.push(candidate{i: i, j: None, key: math.Nextafter(rest, math.Inf(1))}) // after targets as near
	}
	return far
}

// flip lowers the potentials of the targets settled on the way to j and matches the sources on the path to it.
func (a *assignment) flip(j int32) {
	a.pivots++
	for _, k := range a.settled {
		a.g[k] -= a.dist[j] - a.dist[k]
	}
	for j != None {
		i := a.before[j]
		next := a.to[i]
		a.match(i, j, a.arc[j])
		j = next
	}
	for _, k := range a.reached {
		a.dist[k] = math.Inf(1)
	}
}
