package nb

import (
	"fmt"
	"math"
	"strconv"
)

// A Control is one axis along which [Live] moves through parameters P: a
// slider or a list. Make it with [Range] or [Choice].
type Control[P any] struct {
	label  string
	names  []string // of its positions
	set    func(*P, int)
	slider bool
	start  int
}

// Range is a slider over steps; set puts a step into the parameters. It starts in the middle.
func Range[P any](label string, steps []float64, set func(*P, float64)) Control[P] {
	c := Control[P]{
		label:  label,
		slider: true,
		start:  (len(steps) - 1) / 2,
		set:    func(p *P, i int) { set(p, steps[i]) },
	}
	for _, v := range steps {
		c.names = append(c.names, strconv.FormatFloat(v, 'g', 4, 64))
	}
	return c
}

// Choice is a list of options, of which the first is chosen.
func Choice[P any, V any](label string, options []V, set func(*P, V)) Control[P] {
	c := Control[P]{label: label, set: func(p *P, i int) { set(p, options[i]) }}
	for _, v := range options {
		c.names = append(c.names, fmt.Sprint(v))
	}
	return c
}

// Steps returns n values from lo to hi, evenly spaced.
func Steps(lo, hi float64, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = lo + (hi-lo)*float64(i)/float64(max(1, n-1))
	}
	return out
}

// LogSteps returns n values from lo to hi, evenly spaced in their logarithm
// and rounded to three digits. lo and hi are positive.
func LogSteps(lo, hi float64, n int) []float64 {
	out := Steps(math.Log(lo), math.Log(hi), n)
	for i := range out {
		out[i], _ = strconv.ParseFloat(strconv.FormatFloat(math.Exp(out[i]), 'g', 3, 64), 64)
	}
	return out
}
