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
}

// cells divides [0, end] into cells that are multiples of their width, a power of two, from 0, and returns their ends.
func (f *profile) cells(end float64, r resolution) []float64 {
	nodes := []float64{0}
	var divide func(a, b float64)
	divide = func(a, b float64) {
		if w := b - a; w > max(r.floor, b*0x1p-40) && len(nodes) < r.most &&
			(f.weight(a, b, r)*w*w > r.worth || f.steep(a, b)) {
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
