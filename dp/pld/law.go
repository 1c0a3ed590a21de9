package pld

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"coupling/lab/logspace"
)

// A law is the distribution under Q of a likelihood ratio M = dP/dQ ≥ 0, or of a sum of such ratios, with the
// probability q[i] at x[i], increasing. far is the part of the mean at +∞, which is mass of P where Q has none.
//
// Laws are compared in convex order: if E f(M) ≤ E f(M′) for all convex f, the pair of M′ dominates that of M in
// both directions (Blackwell). Sums and products of independent ratios keep the order.
type law struct {
	x, q        []float64
	far         float64
	least, most float64 // no value lies outside of these, which may be 0 and +Inf
}

// An operation combines two independent ratios.
type operation int

const (
	sum operation = iota
	product
)

// of returns slope and offset: x combined with y is slope·y + offset.
func (o operation) of(x float64) (slope, offset float64) {
	if o == product {
		return x, 0
	}
	return 1, x
}

func (o operation) on(x, y float64) float64 {
	slope, offset := o.of(x)
	return slope*y + offset
}

// A bracket is an upper and a lower law of one ratio, in convex order.
type bracket struct{ over, under law }

// combine returns the bracket of the two ratios combined, on a grid of n cells; a and b may be the same. In each cell
// of the grid the upper law moves all mass to the two ends and the lower law moves it to the barycentre, and both keep
// the mean: Jensen's inequality in both directions. Widths fall with the square of n.
//
// Rounding. All numbers that are added are positive, and fill adds them in rows of √N values in tiles of √N
// rows, for N the larger number of points: a sum has at most 2N + 4√N + 9 terms in a row, with those
// of a block that was moved, and is off by a factor in 1 ± κ, κ = roundingOf(N). So the upper law is
// exactly that of masses off by 1 ± κ at positions off by 1 ± 2 ulp, and the lower law that of masses
// off by 1 ± κ at positions off by 1 ± 2κ. Within
// a cell a barycentre is off by no more than κ of the cell's width, or of its distance from the lower
// end if there is no other, besides 4 ulp. The lower law of a product is moved down by more than
// that, for functions that rise: T ratios would multiply the error.
func (o operation) combine(a, b bracket, n int) bracket {
	nodes := o.nodes(a.over, b.over, n)
	down := 0.0
	if o == product {
		down = roundingOf(max(len(a.under.x), len(b.under.x)))
	}
	return bracket{o.fill(nodes, a.over, b.over, false).ends(), o.fill(nodes, a.under, b.under, true).barycentres(down)}
}

// roundingOf is κ for up to so many points.
func roundingOf(points int) float64 { return 4 * ulp * float64(points+64) }

// inRange reports whether the ratios increase and, of up to mostSummed that are summed, leave what is said of leftOut
// right, and whether all masses are numbers.
func (b bracket) inRange() bool {
	for _, l := range [...]law{b.over, b.under} {
		if n := len(l.x); n == 0 || !(l.x[n-1] < math.Exp(largestLog+30)) || !slices.IsSorted(l.x) ||
			slices.ContainsFunc(l.q, math.IsNaN) {
			return false
		}
	}
	return true
}

// far is the mean of combinations with an infinite ratio.
func (o operation) far(a, b law) float64 {
	massA, meanA := a.total()
	massB, meanB := b.total()
	if o == product {
		return a.far*(meanB+b.far) + b.far*meanA
	}
	return a.far*massB + b.far*massA
}

// total is the mass and the mean of the finite ratios.
func (l law) total() (mass, mean float64) {
	for i, q := range l.q {
		mass, mean = mass+q, mean+q*l.x[i]
	}
	return mass, mean
}

// forgottenMass is a mass that is left out, so that nothing is subnormal. As logs of ratios are at
// most largestLog + 30, and of combinations twice that, 1e-250 and products below 1e-308 of 1e8
// combinations are less than leftOut of P and of Q.
const (
	forgottenMass = 1e-250
	leftOut       = 1e-100
)

func (l *law) add(x, q float64) {
	if n := len(l.x); n > 0 && l.x[n-1] == x {
		l.q[n-1] += q
	} else if !(q <= forgottenMass) { // NaN too, which inRange finds
		l.x, l.q = append(l.x, x), append(l.q, q)
	}
}

const (
	// negligibleMass is the mass of Q below the grid, and that of P above it, as a share of each.
	negligibleMass = 1e-19
	// leastSlots and mostSlots limit the resolution of what shapes a grid, half its cells else.
	leastSlots, mostSlots = 64, 1 << 10
)

// nodes places about n cells where the combined mass is, from a sketch of it: partly log-uniformly,
// and partly by mass and width². The variance added to M would be least with the cube root of the
// mass; small powers serve its tails, which decide small δ.
func (o operation) nodes(a, b law, n int) []float64 {
	s := o.sketch(a, b, n)
	nodes := []float64{o.on(a.least, b.least)}
	add := func(x float64) {
		if x > nodes[len(nodes)-1]*(1+8*ulp) {
			nodes = append(nodes, x)
		}
	}
	end := o.on(a.most, b.most)
	share, k := 0.0, 0
	for i, w := range s.weight {
		for ; float64(k) <= (share+w)*float64(n) && w > 0; k++ {
			at := (float64(k)/float64(n) - share) / w
			if x := math.Exp(s.from(float64(i) + min(1, max(0, at)))); x < end*(1-8*ulp) {
				add(x)
			}
		}
		share += w
	}
	if x := math.Exp(s.from(float64(len(s.weight)))); x < end*(1-8*ulp) { // which the shares reach but for rounding
		add(x)
	}
	if len(nodes) > 1 {
		add(end)
	}
	if len(nodes) == 1 { // the ratio is constant
		nodes = append(nodes, math.Nextafter(nodes[0], math.Inf(1)))
	}
	return nodes
}

// A sketch divides the range of log z into slots, fine near the centre and coarse far from it.
type sketch struct {
	centre, scale float64
	first, step   float64 // of asinh((log z − centre)/scale)
	weight        []float64
}

// slot returns the position of a log among the slots, and from the log at a position.
func (s sketch) slot(log float64) float64 {
	return (math.Asinh((log-s.centre)/s.scale) - s.first) / s.step
}

func (s sketch) from(slot float64) float64 { return s.centre + s.scale*math.Sinh(s.first+s.step*slot) }

func (o operation) sketch(a, b law, n int) sketch {
	low, high := o.reach(a, b, max(16, min(64, n/16)))
	few := max(16, min(128, n/8)) // points shape a grid
	points, mean := o.points(a.grouped(few, middle), b.grouped(few, middle))
	slots := max(leastSlots, min(mostSlots, n/2))
	s := sketch{centre: logspace.Log(mean), weight: make([]float64, slots), step: 1}
	for _, p := range points {
		s.scale += p.q * math.Abs(p.log-s.centre)
	}
	s.scale = max(s.scale, 1e-14, 1e-12*(high-low))
	s.first = s.slot(low)
	s.step = max(1e-12, s.slot(high)/float64(slots))
	mass := make([]float64, slots)
	for _, p := range points {
		mass[min(slots-1, max(0, int(s.slot(p.log))))] += p.q + p.p/mean
	}
	s.weigh(mass, o.tails())
	return s
}

// tails is the power of mass by which a grid is shaped: more of a product is near its centre.
func (o operation) tails() float64 {
	if o == sum {
		return .1
	}
	return .2
}

// weigh shares the cells out to the slots.
func (s sketch) weigh(mass []float64, tails float64) {
	total, last := 0.0, len(mass)-1
	widths, worth := make([]float64, len(mass)), make([]float64, len(mass))
	from := s.from(0)
	all := s.from(float64(len(mass))) - from
	for k := range worth {
		near := 0.0
		for _, m := range mass[max(0, k-2) : min(last, k+2)+1] {
			near += m
		}
		end := s.from(float64(k + 1))
		widths[k], from = end-from, end
		side := math.Cbrt(widths[k])
		worth[k] = math.Exp(tails*logspace.Log(near)) * side * side
		total += worth[k]
	}
	for k := range worth {
		s.weight[k] = .3/float64(len(mass)) + .3*widths[k]/all + .4*worth[k]/total
	}
}

// A combined is a positive value of a combination of points, with its masses.
type combined struct{ log, q, p float64 }

// points lists all combinations of points, and the mean.
func (o operation) points(a, b law) (out []combined, mean float64) {
	out = make([]combined, 0, len(a.x)*len(b.x))
	for i, x := range a.x {
		for j, y := range b.x {
			z, m := o.on(x, y), a.q[i]*b.q[j]
			mean += z * m
			if z > 0 {
				out = append(out, combined{logspace.Log(z), m, z * m})
			}
		}
	}
	return out, mean
}

// reach returns the logs below which there is negligible mass of Q, and above which there is
// negligible mass of P. It rounds outwards: what is left out moves far.
func (o operation) reach(a, b law, edges int) (low, high float64) {
	below, mean := o.points(a.grouped(edges, lowest), b.grouped(edges, lowest))
	above, _ := o.points(a.grouped(edges, highest), b.grouped(edges, highest))
	for i, p := range above {
		above[i] = combined{log: -p.log, q: p.p / mean}
	}
	low = begin(below)
	return low, max(low, -begin(above))
}

// begin returns the log up to which there is more than negligible mass of Q.
func begin(points []combined) float64 {
	end := math.Inf(1)
	for _, p := range points {
		if p.q >= negligibleMass {
			end = min(end, p.log)
		}
	}
	few := slices.DeleteFunc(points, func(p combined) bool { return p.log > end })
	slices.SortFunc(few, func(x, y combined) int { return cmp.Compare(x.log, y.log) })
	sum, i := few[0].q, 0
	for ; i < len(few)-1 && sum < negligibleMass; i++ {
		sum += few[i+1].q
	}
	return few[i].log
}

// grouped merges points into at most n, each at a value between those merged.
func (l law) grouped(n int, value func(x, q []float64) float64) law {
	out := law{}
	size := (len(l.x) + n - 1) / n
	for i := 0; i < len(l.x); i += size {
		end := min(i+size, len(l.x))
		total := 0.0
		for _, q := range l.q[i:end] {
			total += q
		}
		out.add(value(l.x[i:end], l.q[i:end]), total)
	}
	return out
}

// The values of groups: the lowest that is positive, the highest, and the mean.
func lowest(x, _ []float64) float64 {
	if x[0] == 0 && len(x) > 1 {
		return x[1]
	}
	return x[0]
}

func highest(x, _ []float64) float64 { return x[len(x)-1] }

func middle(x, q []float64) float64 { return min(max(stat.Mean(x, q), x[0]), x[len(x)-1]) }
