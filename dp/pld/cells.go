package pld

import "math"

// A resolution says how finely a loss is to be divided.
type resolution struct {
	floor float64 // least width of a cell, a power of two
	tilt  float64 // cells are weighed by e^{tilt·loss}
	shift float64 // log-moment at tilt, so that weights sum to one
	worth float64 // cells of more weight times width squared are divided
	sign  float64 // −1 for the left half, which is the right half of the swapped pair
	most  int     // cells
	jumps []sight // the jumps' weights of cells, if there are any
}

// A sight is a jump's weighting of cells: it has losses up to high, and other weights for those
// above low.
type sight struct {
	tilt, low, high float64
	below, above    float64 // log-moments of the weights
	worth           float64
}

// dividing reports whether a jump needs finer cells than [a, b].
func (f *profile) dividing(a, b float64, r resolution) bool {
	w := b - a
	for _, j := range r.jumps {
		if r.sign > 0 && a >= j.high {
			continue
		}
		r.tilt, r.shift = j.tilt, j.below
		if r.sign > 0 && b > j.low {
			r.shift = j.above
		}
		if f.weight(a, b, r)*w*w > j.worth {
			return true
		}
	}
	return false
}

// cells divides [0, end] into cells that are multiples of their width, a power of two, from 0, and returns their ends.
func (f *profile) cells(end float64, r resolution) []float64 {
	nodes := []float64{0}
	var divide func(a, b float64)
	divide = func(a, b float64) {
		if w := b - a; w > max(r.floor, b*0x1p-40) && len(nodes) < r.most && (f.worthy(a, b, r) || f.steep(a, b)) {
			mid := a + w/2
			divide(a, mid)
			divide(mid, b)
			return
		}
		nodes = append(nodes, b)
	}
	divide(0, end)
	return nodes
}

// worthy reports whether a cell is worth dividing.
func (f *profile) worthy(a, b float64, r resolution) bool {
	if len(r.jumps) > 0 {
		return f.dividing(a, b, r)
	}
	return f.weight(a, b, r)*(b-a)*(b-a) > r.worth
}

// maxNodes bounds the cells of one half of one loss.
const maxNodes = 1 << 17

// steep reports whether δ falls by a third within [a, b], if it is not negligible: then tangents are poor bounds.
func (f *profile) steep(a, b float64) bool {
	d := f.at(a).delta
	return f.at(b).delta < 0.7*d && d > 1e-12*f.at(0).delta
}

// weight is about the tilted probability under P of a loss in [a, b].
func (f *profile) weight(a, b float64, r resolution) float64 {
	ka, kb := f.at(a), f.at(b)
	p := ka.tail - kb.tail
	if r.sign < 0 { // a pair swapped: its Q is the P of the question, its loss the negative
		p = max(ka.slope*math.Exp(-a)-kb.slope*math.Exp(-b), p*math.Exp(-b))
		return p * math.Exp(min(600, -r.tilt*a-r.shift))
	}
	return p * math.Exp(min(600, r.tilt*b-r.shift))
}
