package simplex

import "math"

// A tree is a basis of the transportation polytope: a spanning tree of the bipartite graph whose first n nodes are the
// sources and the rest the targets. Every node but the root knows the arc to its parent: its flow and its cost. Nodes
// without mass stay outside, with the potential −f = g = −∞ that keeps their arcs from being priced.
//
// The flows are those of Orden's perturbed problem: in units of 2^−free of the smallest mass, every
// source has one extra unit and the last target as many as there are sources. Removing any arc
// splits the tree into two parts that do not balance in the perturbed problem. So no flow of a
// basis is zero, the leaving arc is unique, every pivot lowers the perturbed value, and the method
// cannot cycle: the lexicographic rule, at the cost of an integer addition.
type tree struct {
	n      int // sources
	count  int // nodes in the tree
	root   int32
	node   []node
	thread []int32   // the next node in preorder, a circle: the nodes of a subtree follow each other
	pot    []float64 // sources: f_i; targets: −g_j, so that shifting a subtree is one addition for each node
	noise  []float64 // what rounding may have done to each potential at the last refresh, beside its last bit
}

type node struct {
	flow   Mass
	cost   float64
	parent int32 // none for the root
	size   int32 // nodes in the subtree, this one included
	back   int32 // the node before in preorder
	last   int32 // the last node of the subtree in preorder
}

// None stands for no node, row or column.
const None = -1

func newTree(n, m int) *tree {
	return &tree{
		n:      n,
		node:   make([]node, n+m),
		thread: make([]int32, n+m),
		pot:    make([]float64, n+m),
		noise:  make([]float64, n+m),
	}
}

// reduced returns C_ij − f_i − g_j of the arc from source i to target j of cost c.
func (t *tree) reduced(i, j int32, c float64) float64 { return c + t.pot[t.n+int(j)] - t.pot[i] }

// pivot brings the arc from source i to target j of the given cost into the basis and removes the
// arc that this empties.
func (t *tree) pivot(i, j int32, cost float64) {
	in, out := i, int32(t.n)+j
	reduced := t.reduced(i, j, cost)
	join := t.join(in, out)
	theta, leaving, onSource := t.bottleneck(in, out, join)
	t.push(in, out, join, theta)
	moved, anchor, shift := in, out, reduced
	if !onSource {
		moved, anchor, shift = out, in, -reduced
	}
	size := t.node[leaving].size
	for v := t.node[leaving].parent; v != join; v = t.node[v].parent {
		t.node[v].size -= size
	}
	for v := anchor; v != join; v = t.node[v].parent {
		t.node[v].size += size
	}
	t.reroot(moved, leaving, anchor, theta, cost)
	if 2*int(size) <= t.count {
		t.shiftSubtree(moved, shift)
	} else {
		t.shiftRest(moved, -shift)
	}
}

// join returns the deepest common ancestor of u and v. Of two different nodes, the one with the smaller subtree
// (either, if they are equal) is not an ancestor of the other.
func (t *tree) join(u, v int32) int32 {
	for u != v {
		if t.node[u].size < t.node[v].size {
			u = t.node[u].parent
		} else {
			v = t.node[v].parent
		}
	}
	return u
}

// bottleneck finds the arc that is emptied first when mass moves along in→out and back through the
// tree, and how much mass that is. On the side of the source the arcs that lose mass are those
// whose child is a source, on the other side those whose child is a target; sources and targets
// alternate.
func (t *tree) bottleneck(in, out, join int32) (theta Mass, leaving int32, onSource bool) {
	theta = Mass{^uint64(0), ^uint64(0)}
	for _, from := range [...]int32{in, out} {
		for v := from; v != join; {
			w := &t.node[v]
			if w.flow.Less(theta) {
				theta, leaving, onSource = w.flow, v, from == in
			}
			if v = w.parent; v == join {
				break
			}
			v = t.node[v].parent
		}
	}
	return theta, leaving, onSource
}

// push moves mass theta around the cycle.
func (t *tree) push(in, out, join int32, theta Mass) {
	for _, v := range [2]int32{in, out} {
		for lose := true; v != join; lose = !lose {
			w := &t.node[v]
			if lose {
				w.flow = w.flow.Sub(theta)
			} else {
				w.flow = w.flow.Add(theta)
			}
			v = w.parent
		}
	}
}

// reroot cuts the subtree of leaving off its parent, makes moved its root, and attaches it to
// anchor, as the first child, by an arc of the given flow and cost. The caller updates sizes
// outside the subtree.
func (t *tree) reroot(moved, leaving, anchor int32, flow Mass, cost float64) {
	oldParent, oldLast := t.node[leaving].parent, t.node[leaving].last
	left, tail := t.turn(moved, leaving)
	for v := oldParent; v != None && t.node[v].last == oldLast; v = t.node[v].parent {
		t.node[v].last = left
	}
	next := t.thread[anchor]
	t.link(anchor, moved)
	t.link(tail, next)
	total, below := t.node[leaving].size, int32(0)
	for v, parent := moved, anchor; ; {
		w := &t.node[v]
		up := w.parent
		w.parent, w.last = parent, tail
		w.flow, flow = flow, w.flow
		w.cost, cost = cost, w.cost
		w.size, below = total-below, w.size
		if v == leaving {
			break
		}
		v, parent = up, v
	}
	for v := anchor; v != None && t.node[v].last == anchor; v = t.node[v].parent {
		t.node[v].last = tail
	}
}

// turn rewrites the preorder of the subtree of leaving with moved as its root: the segment of
// moved, then that of its parent without it, and so on up to leaving. It cuts the subtree out of
// the thread and returns the node before it and the last node of the new segment, whose first is
// moved.
func (t *tree) turn(moved, leaving int32) (left, tail int32) {
	left, tail = t.node[moved].back, t.node[moved].last
	last, right := tail, t.thread[tail] // the old segment of v ends at last, and right follows
	for v := moved; v != leaving; {
		up := t.node[v].parent
		before, end := t.node[up].back, t.node[up].last
		if end == last {
			end = left // v's segment was the end of up's
		} else {
			last = end
			after := t.thread[end]
			t.link(left, right)
			right = after
		}
		t.link(tail, up)
		left, tail, v = before, end, up
	}
	t.link(left, right)
	return left, tail
}

// link makes v follow u in preorder.
func (t *tree) link(u, v int32) { t.thread[u], t.node[v].back = v, u }

// shiftSubtree adds the amount by to the potentials of the subtree of top.
func (t *tree) shiftSubtree(top int32, by float64) {
	for v, k := top, t.node[top].size; k > 0; v, k = t.thread[v], k-1 {
		t.pot[v] += by
	}
}

// shiftRest adds the amount by to the potentials outside the subtree of skip.
func (t *tree) shiftRest(skip int32, by float64) {
	for v := t.root; v != skip; v = t.thread[v] {
		t.pot[v] += by
	}
	for v := t.thread[t.node[skip].last]; v != t.root; v = t.thread[v] {
		t.pot[v] += by
	}
}

// refresh recomputes the potentials along the tree from zero at the root. They are sums of costs with alternating
// signs, formed in twice the precision, so each is within half a unit in the last place of the basis's own, unless it
// is what is left of far larger ones on the way: noise bounds that error.
func (t *tree) refresh() {
	const unit = 0x1p-102 // of the larger term of a sum of wide numbers
	exact := make([]Wide, len(t.pot))
	t.pot[t.root] = 0
	for v := t.thread[t.root]; v != t.root; v = t.thread[v] {
		w := &t.node[v]
		c := w.cost
		if int(v) >= t.n {
			c = -c // −g = f − C, where f = C + (−g)
		}
		exact[v] = exact[w.parent].Add(c)
		t.pot[v] = exact[v].Hi
		t.noise[v] = t.noise[w.parent] + unit*max(math.Abs(t.pot[w.parent]), math.Abs(c))
	}
}
