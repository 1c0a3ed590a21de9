package transport

import (
	"math"
	"slices"
	"sync"

	"coupling/lab/logspace"
	"coupling/ot/internal/rows"
	"coupling/ot/internal/semidual"
)

// Cut is a division of the atoms of positive weight in two.
type Cut struct {
	// Sources and Targets are the atoms of the lighter side.
	Sources, Targets []int
	// Out and In are the masses from its sources to other targets, and from other sources to its targets.
	Out, In float64
	// Of is its weight Σ aᵢ + Σ bⱼ, and Net is Σ aᵢ − Σ bⱼ, which Out − In is at the solution.
	Of, Net float64
}

// Shift returns how far, in ε, the potentials of the side are off against the others: the |x| for
// which Out·eˣ − In·e⁻ˣ is Net. As Net is known to its rounding, 2⁻⁵²·Of, x lies between two
// numbers: most is the larger |x|, and rounding is half their distance. They are +Inf where nothing
// bounds x.
func (c Cut) Shift() (most, rounding float64) {
	if c.Of == 0 {
		return 0, 0
	}
	var x [2]float64
	for k, net := range []float64{c.Net - 0x1p-52*c.Of, c.Net + 0x1p-52*c.Of} {
		// The root y = eˣ of Out·y² − net·y − In, without cancellation.
		root := math.Hypot(net, 2*math.Sqrt(c.Out)*math.Sqrt(c.In))
		if net > 0 {
			x[k] = logspace.Log((net + root) / (2 * c.Out))
		} else {
			x[k] = logspace.Log(2 * c.In / (root - net))
		}
	}
	return max(math.Abs(x[0]), math.Abs(x[1])), (x[1] - x[0]) / 2
}

// link is the largest entry of T found between a component and the others.
type link struct {
	i, j int
	mass float64
}

// better returns the larger of two links, the first of equal ones.
func better(l, o link) link {
	if o.mass > l.mass {
		return o
	}
	return l
}

// Connected reports whether entries of T of at least mass connect all atoms of positive weight, in one pass at most.
func (p *Plan) Connected(mass float64) bool {
	n, m := p.Dims()
	forest := semidual.Keep(p.Memory, func() *components { return newComponents(n + m) })
	forest.reset()
	left := -1
	for _, weights := range [][]float64{p.Mass, p.B} {
		for _, w := range weights {
			if w > 0 {
				left++
			}
		}
	}
	if p.Separable() && p.gridConnected(mass, forest, left) {
		return true
	}
	forest.reset()
	var mu sync.Mutex
	p.Sweep().EachRow(func(w *semidual.Worker, _, i int) {
		mu.Lock()
		done := left == 0
		mu.Unlock()
		if done || p.Mass[i] == 0 {
			return
		}
		row := p.entries(w, i)
		mu.Lock()
		defer mu.Unlock()
		for k, t := range row.Val {
			if t >= mass && forest.join(i, n+row.Column(k), t) {
				left--
			}
		}
	})
	return left == 0
}

// WeakestCut returns the cut by a link of the maximum spanning tree of T whose entry, the largest
// that crosses, is the smallest part of its lighter side. Cost: a few passes, since the number of
// components at least halves in each (Borůvka 1926).
func (p *Plan) WeakestCut() Cut {
	n, m := p.Dims()
	forest := newComponents(n + m)
	for joined := true; joined; {
		joined = false
		for _, l := range p.strongest(forest) {
			joined = l.mass > 0 && forest.join(l.i, n+l.j, l.mass) || joined
		}
	}
	weight := slices.Concat(p.Mass, p.B)
	side := forest.weakestSide(weight)
	cut := Cut{}
	var of, net rows.Sum
	for k, inside := range side {
		switch {
		case !inside || weight[k] == 0:
		case k < n:
			cut.Sources = append(cut.Sources, k)
			of.Add(weight[k])
			net.Add(weight[k])
		default:
			cut.Targets = append(cut.Targets, k-n)
			of.Add(weight[k])
			net.Add(-weight[k])
		}
	}
	cut.Of, cut.Net = of.Value(), net.Value()
	cut.Out, cut.In = p.crossing(side)
	return cut
}

// strongest returns for every component the strongest link that leaves it, at the index of its root.
func (p *Plan) strongest(forest *components) []link {
	n, m := p.Dims()
	root := forest.roots()
	sw := p.Sweep()
	best, parts := make([]link, n+m), make([][]link, len(sw.Spans))
	for k := range parts {
		parts[k] = make([]link, m)
	}
	sw.EachRow(func(w *semidual.Worker, k, i int) {
		if p.Mass[i] == 0 {
			return
		}
		row, cols := p.entries(w, i), parts[k]
		for k, t := range row.Val {
			j := row.Column(k)
			if l := (link{i, j, t}); root[i] != root[n+j] {
				best[i], cols[j] = better(best[i], l), better(cols[j], l)
			}
		}
	})
	for _, cols := range parts {
		for j, l := range cols {
			best[n+j] = better(best[n+j], l)
		}
	}
	out := make([]link, n+m) // of the components
	for k, l := range best {
		out[root[k]] = better(out[root[k]], l)
	}
	return out
}

// crossing returns the masses from the sources of a side to other targets, and from other sources to its targets.
func (p *Plan) crossing(side []bool) (out, in float64) {
	n, _ := p.Dims()
	sw := p.Sweep()
	parts := make([][4]rows.Sum, len(sw.Spans)) // out and in
	sw.EachRow(func(w *semidual.Worker, k, i int) {
		row := p.entries(w, i)
		to := &parts[k][0]
		if !side[i] {
			to = &parts[k][1]
		}
		for k, t := range row.Val {
			if side[i] != side[n+row.Column(k)] {
				to.Add(t)
			}
		}
	})
	all := rows.Total(parts)
	return all[0], all[1]
}

// components are the trees of a growing forest.
type components struct {
	parent []int
	tree   []branch
}

// branch joins two atoms by an entry of T.
type branch struct {
	k, l int
	mass float64
}

func newComponents(n int) *components {
	c := &components{parent: make([]int, n)}
	c.reset()
	return c
}

func (c *components) reset() {
	for k := range c.parent {
		c.parent[k] = k
	}
	c.tree = c.tree[:0]
}

func (c *components) find(k int) int {
	for c.parent[k] != k {
		c.parent[k] = c.parent[c.parent[k]]
		k = c.parent[k]
	}
	return k
}

func (c *components) roots() []int {
	out := make([]int, len(c.parent))
	for k := range out {
		out[k] = c.find(k)
	}
	return out
}

// join adds a branch if it joins two components, and reports whether it does.
func (c *components) join(k, l int, mass float64) bool {
	u, v := c.find(k), c.find(l)
	if u == v {
		return false
	}
	c.parent[v] = u
	c.tree = append(c.tree, branch{k, l, mass})
	return true
}

// walk returns the tree of an atom from it outwards: its atoms, and the branch that leads to each, −1 for the first.
func (c *components) walk(root int) (order, up []int) {
	at := make([][]int, len(c.parent)) // the branches of each atom
	for e, b := range c.tree {
		at[b.k], at[b.l] = append(at[b.k], e), append(at[b.l], e)
	}
	order, up = []int{root}, []int{-1}
	for x := 0; x < len(order); x++ {
		for _, e := range at[order[x]] {
			if e != up[x] {
				b := c.tree[e]
				order, up = append(order, b.k+b.l-order[x]), append(up, e)
			}
		}
	}
	return order, up
}

// weakestSide returns the lighter side of the weakest branch of a tree of all atoms of positive
// weight, for its weight, or the heaviest tree where there are several.
func (c *components) weakestSide(weight []float64) []bool {
	root := slices.Index(weight, slices.Max(weight)) // its own weight keeps the other side's from cancellation
	order, up := c.walk(root)
	side, beyond := make([]bool, len(weight)), slices.Clone(weight)
	var total float64
	for _, k := range order {
		side[k] = true
		total += weight[k]
	}
	for k, w := range weight {
		if w > 0 && !side[k] {
			return side
		}
	}
	weak, least := -1, math.Inf(1)
	for x := len(order) - 1; x > 0; x-- {
		k, b := order[x], c.tree[up[x]]
		beyond[b.k+b.l-k] += beyond[k]
		if share := b.mass / min(beyond[k], total-beyond[k]); share < least {
			weak, least = x, share
		}
	}
	clear(side)
	if weak < 0 {
		return side
	}
	for x, k := range order[weak:] {
		b := c.tree[up[weak+x]]
		side[k] = x == 0 || side[b.k+b.l-k]
	}
	if beyond[order[weak]] > total/2 {
		for k := range side {
			side[k] = !side[k]
		}
	}
	return side
}
