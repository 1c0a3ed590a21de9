package lab

// An Axis turns one parameter struct into several.
type Axis[P any] func(P) []P

// Vary is the axis along which set gives one parameter each of vs in turn:
//
//	lab.Vary(func(p *Params, v float64) { p.Eps = v }, .01, .1, 1)
func Vary[P, V any](set func(*P, V), vs ...V) Axis[P] {
	return func(p P) []P {
		out := make([]P, len(vs))
		for i, v := range vs {
			out[i] = p
			set(&out[i], v)
		}
		return out
	}
}

// Grid returns the product of the axes around base, the last axis varying fastest. An axis may read
// the values that earlier axes have set.
func Grid[P any](base P, axes ...Axis[P]) []P {
	ps := []P{base}
	for _, axis := range axes {
		var next []P
		for _, p := range ps {
			next = append(next, axis(p)...)
		}
		ps = next
	}
	return ps
}
