package devicetest

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"coupling/lab/device"
	"coupling/lab/device/devicetest/internal/ref"
)

func transport() []scenario {
	all := []scenario{
		{"LSERows and LSECols", halfSteps},
		{"LSE of wide costs", wideCosts},
		{"Anneal", anneals},
		{"PlanRows and PlanCols", plans},
		{"Costs", costs},
		{"Points", points},
	}
	for i, d := range dimensions {
		all = append(all, scenario{fmt.Sprint("Points, d = ", d), func(k *kit) { k.dimension(i, d) }})
	}
	for _, most := range []int{16, 32, 64} { // which share a kernel
		all = append(all, scenario{fmt.Sprint("Points, d to ", most), func(k *kit) {
			for d := most; d > most/2 && (d == most || !testing.Short()); d-- {
				for _, cost := range costKinds[:2+d/most] { // all of them where no coordinate is padding
					k.point(2, 3, d, cost, 1, 0)
				}
			}
			if !testing.Short() && most < 64 {
				k.point(519, 3, most, costKinds[1], 3, 0) // several rows a thread, of which no coordinate is padding
			}
		}})
	}
	return all
}

// exponents is the roundings of a term e^(u + h − c·inv): inv, the product, two sums, the exponential's own scaling of
// its argument, and the exponential; then the sum of n terms.
func exponents(n int) float64 { return 8 + sums(n) }

// weights are n logarithms of weights; each fifth is −Inf, a weight of zero, and all are where none is set.
func (k *kit) weights(n int, none bool) []float64 {
	h := k.normals(n, 3)
	for i := range h {
		if none || n > 1 && k.rng.IntN(5) == 0 {
			h[i] = math.Inf(-1)
		}
	}
	return h
}

// problemSizes are those of sources and targets.
var problemSizes = [...][2]int{
	{1, 1}, {1, 7}, {7, 1}, {2, 3}, {33, 31}, {129, 127}, {3, 1025}, {257, 5}, {64, 64}, {0, 5}, {5, 0}, {61, 251},
}

func halfSteps(k *kit) {
	for i, s := range problemSizes {
		k.halfStep(0, s[0], s[1], k.scaled(0.1, 30), false)
		k.halfStep(1+i%4, s[0], s[1], k.scaled(0.1, 30), false)
	}
	k.halfStep(0, 5, 9, 2, true)
	k.halfStep(129, 3, 5, 2, false)
	k.halfStep(33, 17, 16, 2, false)
	k.halfStep(5, 64, 67, 20, false)
	k.halfStep(0, 33, 67, 0, false) // inv = 0: costs do not count
}

// halfStep solves batch problems, or one without a batch axis.
func (k *kit) halfStep(batch, n, m int, inv float64, none bool) {
	count := max(1, batch)
	k.halfStepFrom(batch, n, m, inv, k.weights(count*m, none), k.weights(count*n, none))
}

// halfStepFrom is halfStep from given logarithms of weights.
func (k *kit) halfStepFrom(batch, n, m int, inv float64, h, g []float64) {
	count := max(1, batch)
	c := k.uniforms(count*n*m, 0, 2)
	shape := func(batch int, sizes ...int) []int {
		if batch == 0 {
			return sizes
		}
		return append([]int{batch}, sizes...)
	}
	what := fmt.Sprintf("%d of %d×%d, inv = %v", batch, n, m, inv)
	ac, rows, cols := k.put(c, shape(batch, n, m)...), k.dst(shape(batch, n)...), k.dst(shape(batch, m)...)
	device.LSERows(rows, ac, k.put(h, shape(batch, m)...), inv)
	device.LSECols(cols, ac, k.put(g, shape(batch, n)...), inv)
	each := func(width int, f func(p *ref.Plan, b int) ref.Result) func() ref.Result {
		return func() (all ref.Result) {
			for b := range count {
				r := f(&ref.Plan{N: n, M: m, Costs: c[b*n*m : (b+1)*n*m], Inv: inv}, b)
				all.Value, all.Scale = append(all.Value, r.Value...), append(all.Scale, r.Scale...)
			}
			return all
		}
	}
	k.near("LSERows "+what, rows, exponents(m), each(n, func(p *ref.Plan, b int) ref.Result {
		p.H = h[b*m : (b+1)*m]
		return p.LSE()
	}))
	k.near("LSECols "+what, cols, exponents(n), each(m, func(p *ref.Plan, b int) ref.Result {
		p.U = g[b*n : (b+1)*n]
		return p.Flip().LSE()
	}))
}

// wideCosts range over a million ε: nearly all terms vanish, and the others must not overflow, be it far above or far
// below zero. The scale includes the rounding of c·inv in float32.
func wideCosts(k *kit) {
	for _, inv := range []float64{1, 1e3, 1e6} {
		for _, shift := range []float64{0, -1e4, 1e4} {
			const n, m = 33, 129
			k.halfStepFrom(0, n, m, inv, k.uniforms(m, shift, shift+5), k.uniforms(n, shift, shift+5))
		}
	}
}

// balanced is u so that the rows of the plan sum to one: what potentials are after half a step. Exponentials below the
// smallest normal number may be 0.
func (k *kit) balanced(p *ref.Plan) []float64 {
	p.Vanish = math.Sqrt2 * k.normal() / k.unit()
	u := p.LSE().Value
	for i, v := range u {
		if u[i] = k.round(-v); math.IsInf(v, -1) {
			u[i] = 0
		}
	}
	return u
}

func anneals(k *kit) {
	for i, s := range [...][3]int{{1, 1, 1}, {1, 20, 33}, {2, 3, 5}, {2, 61, 16}, {1, 130, 140}, {1, 3, 1025}} {
		batch, n, m := s[0], s[1], s[2]
		c, eps := k.uniforms(batch*n*m, 0, 4), []float64{4, 2, 1, .5}
		for j := 0; i == 2 && j < 130; j++ { // more than one launch has
			eps = append(eps, .5/(1+float64(j)/100))
		}
		f, g, lastF, lastG := k.dst(batch, n), k.dst(batch, m), k.dst(batch, n), k.dst(batch, m)
		device.Anneal(f, g, lastF, lastG, k.put(c, batch, n, m), eps)
		var want [4]ref.Result // f, g, lastF, lastG
		for b := range batch {
			for at, v := range annealed(c[b*n*m:(b+1)*n*m], n, m, eps) {
				want[at].Value = append(want[at].Value, v...)
				for range v { // soft minima of what differs by δ differ by at most δ: errors add up at worst
					want[at].Scale = append(want[at].Scale, float64(len(eps)+2)*(4+4*math.Log(float64(n+m))))
				}
			}
		}
		for at, a := range []*device.Array{f, g, lastF, lastG} {
			what := fmt.Sprintf("%s of %d×%d×%d", [...]string{"f", "g", "lastF", "lastG"}[at], batch, n, m)
			k.nearTo(what, a, exponents(max(n, m)), want[at])
		}
	}
}

// annealed is Anneal by its formulas: f, g, and their last soft minima.
func annealed(c []float64, n, m int, eps []float64) (out [4][]float64) {
	soft := func(count, other, step, stride int, h []float64, e float64) []float64 {
		v := make([]float64, count)
		for i := range v {
			top, sum := math.Inf(-1), 0.
			for j := range other {
				top = max(top, (h[j]-c[i*step+j*stride])/e)
			}
			for j := range other {
				sum += math.Exp((h[j]-c[i*step+j*stride])/e - top)
			}
			v[i] = -e * (top + math.Log(sum) - math.Log(float64(other)))
		}
		return v
	}
	f, g := make([]float64, n), make([]float64, m)
	update := func(e float64) (_, _ []float64) { return soft(n, m, m, 1, g, e), soft(m, n, 1, m, f, e) }
	f, g = update(eps[0])
	for _, e := range eps {
		nf, ng := update(e)
		for i := range f {
			f[i] = (f[i] + nf[i]) / 2
		}
		for j := range g {
			g[j] = (g[j] + ng[j]) / 2
		}
	}
	nf, ng := update(eps[len(eps)-1])
	return [4][]float64{f, g, nf, ng}
}

func plans(k *kit) {
	for i, s := range problemSizes {
		k.plan(s[0], s[1], []int{1, 2, 3, 17}[i%4], i == 4, k.scaled(0.1, 20))
	}
}

// plan weighs width columns by a plan whose rows sum to one, but for one that has no weight.
func (k *kit) plan(n, m, width int, none bool, inv float64) {
	p := &ref.Plan{N: n, M: m, Costs: k.uniforms(n*m, 0, 2), H: k.weights(m, none), Inv: inv}
	p.U = k.balanced(p)
	if n > 2 {
		p.U[1] = math.Inf(-1)
	}
	what := fmt.Sprintf(" %d×%d by %d", n, m, width)
	v, w := k.normals(m*width, 1), k.normals(n*width, 1)
	ac, au, ah := k.put(p.Costs, n, m), k.put(p.U, n), k.put(p.H, m)
	rows, cols := k.dst(n, width), k.dst(m, width)
	device.PlanRows(rows, ac, au, ah, k.put(v, m, width), inv)
	k.near("PlanRows"+what, rows, exponents(m), func() ref.Result { return p.Apply(v, width) })
	device.PlanCols(cols, ac, au, ah, k.put(w, n, width), inv)
	k.near("PlanCols"+what, cols, exponents(n), func() ref.Result { return p.Flip().Apply(w, width) })
}

// dimensions have kernels of their own, or none.
var dimensions = [...]int{1, 2, 3, 4, 5, 6, 7, 8, 11, 17, 64, 100}

// costKinds are |x−y|², |x−y|₁ and a mixture.
var costKinds = [...]device.Cost{{Square: 1}, {Abs: 1}, {Square: 0.5, Abs: 1.25}}

func costs(k *kit) {
	for _, d := range dimensions {
		for _, cost := range costKinds {
			k.costs(k.size(1, 67), k.size(1, 129), d, cost)
		}
	}
}

// costs: differences, products, a sum over coordinates.
func (k *kit) costs(n, m, d int, cost device.Cost) {
	x, y := k.normals(n*d, 1), k.normals(m*d, 1)
	copy(y, x[:min(len(x), len(y), d)]) // one pair at distance 0
	out := k.dst(n, m)
	device.Costs(out, k.put(x, n, d), k.put(y, m, d), cost)
	k.near(fmt.Sprintf("Costs %d×%d, d = %d, %+v", n, m, d, cost), out, 8+sums(d), func() ref.Result {
		v := ref.Costs(x, y, d, cost)
		return ref.Result{Value: v, Scale: v}
	})
}

// dimension takes every matrix-free kernel of dimension d, the ith one.
func (k *kit) dimension(i, d int) {
	for j, cost := range costKinds {
		// tiles are of 128 at most
		s := [][2]int{{33, 267}, {129, 231}, {1, 257}, {7, 261}, {5, 259}, {64, 227}}[(i+2*j)%6]
		k.point(s[0], s[1], d, cost, 1/k.scaled(0.05, 1), 0)
		k.point(3, 1, d, cost, 1, 0) // a tile of one
		k.point(3, 0, d, cost, 1, 0)
	}
	if d <= 64 { // several rows a thread
		k.point(519, 3, d, costKinds[0], 3, 0)
		k.point(519, 3, d, costKinds[1], 3, 0)
	}
}

// points are of other sizes, costs and places.
func points(k *kit) {
	for _, s := range [][2]int{{0, 3}, {3, 0}, {257, 251}, {2, 1025}, {129, 31}, {7, 1}, {64, 127}} {
		k.point(s[0], s[1], 2, costKinds[0], 10, 0)
	}
	k.point(33, 129, 3, costKinds[0], 1e6, 0) // costs of a million ε
	k.point(17, 33, 2, costKinds[0], 5, 100)  // clouds far from the origin
	k.point(17, 33, 64, costKinds[0], 0.2, 10)
}

// point compares all kernels on one pair of clouds, shift from the origin.
func (k *kit) point(n, m, d int, cost device.Cost, inv, shift float64) {
	x, y := k.normals(n*d, 1), k.normals(m*d, 1)
	for _, v := range [][]float64{x, y} {
		for i := range v {
			v[i] = k.round(v[i]/math.Sqrt(float64(d)) + shift)
		}
	}
	if len(y) >= d && len(x) >= d {
		copy(y, x[:d]) // |x−y|₁ has its kink
	}
	p := &ref.Plan{
		N:     n,
		M:     m,
		Costs: ref.Costs(x, y, d, cost),
		H:     k.weights(m, false),
		Inv:   inv,
		Slack: 1 + math.Sqrt(float64(d)),
	}
	p.Expanded = d > 8 // in many dimensions products of matrices make barycentres, and distances
	for i := 0; i < n && d > 8 && cost.Abs == 0 && m > 0; i++ {
		p.Far = append(p.Far, slices.Max(p.Costs[i*m:(i+1)*m]))
	}
	p.U = k.balanced(p)
	what := fmt.Sprintf(" %d×%d, d = %d, %+v, inv = %.3g, at %v", n, m, d, cost, inv, shift)
	ax, ay, au, ah := k.put(x, n, d), k.put(y, m, d), k.put(p.U, n), k.put(p.H, m)
	c := exponents(m)

	out := k.dst(n)
	device.PointLSE(out, ax, ay, ah, cost, inv)
	k.near("PointLSE"+what, out, c, func() ref.Result {
		half := *p
		half.U = nil
		return half.LSE()
	})

	mass := k.dst(n, 1)
	device.PointApply(mass, ax, ay, au, ah, k.put(repeated(1, m), m, 1), cost, inv)
	k.near("PointApply, mass,"+what, mass, c, func() ref.Result { return p.Apply(repeated(1, m), 1) })
	centre := k.dst(n, d)
	device.PointApply(centre, ax, ay, au, ah, ay, cost, inv)
	k.near("PointApply, barycentre,"+what, centre, c, func() ref.Result { return p.Apply(y, d) })

	total := k.dst(n)
	device.PointCost(total, ax, ay, au, ah, cost, inv)
	k.near("PointCost"+what, total, c+p.Slack, p.Cost)

	r, s := k.normals(n, 1), k.normals(m, 1)
	ar, as := k.put(r, n), k.put(s, m)
	for _, linear := range []bool{false, true} {
		grad := k.dst(n, d)
		device.PointGrad(grad, ax, ay, au, ah, ar, as, cost, inv, linear)
		k.near(fmt.Sprintf("PointGrad%s, linear %v", what, linear), grad, c+2*p.Slack,
			func() ref.Result { return p.Grad(x, y, d, cost, r, s, linear) })
	}
}
