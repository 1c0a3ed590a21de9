package nntest

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"coupling/lab/device"
	"coupling/lab/nn"

	"gonum.org/v1/gonum/floats"
)

// slot is an array with its gradient, to be moved.
type slot struct {
	name string
	a    *device.Array
	grad []float64
}

// differences compares ⟨grad, d⟩ with (L(w + hd) − L(w − hd))/2h, L = ⟨cotangent, output⟩, for parameters and input and
// |d| = 1.
//
// With h = 1e-6 the third derivative costs some 1e-12, rounding of the output 1e-16/h = 1e-10 of it, and a kink is
// crossed with a probability of 1e-6 times the number of kinks, so that the seeds of the cases meet none.
func (c Case) differences(t testing.TB, dev *device.Device) { c.differencesIn(t, dev, most(dev)) }

// differencesIn is differences of arrays in at most so many groups, those of one moved at once.
func (c Case) differencesIn(t testing.TB, dev *device.Device, most int) {
	b := c.set(t, dev, device.Float64)
	rng := rand.New(rand.NewPCG(3, 5))
	cot := draw(rng, len(b.forward()))
	nn.ZeroGrads(b.layer.Params())
	y, dx, dc := b.vjp(cot)
	if again := b.forward(); !slices.Equal(y, again) {
		t.Error("two forward passes differ")
	}
	slots := []slot{{"input", b.x, dx}}
	if b.cond != nil {
		slots = append(slots, slot{"condition", b.cond, dc})
	}
	for _, w := range nn.Trainable(b.layer.Params()) {
		slots = append(slots, slot{w.Name, w.Value, values(w.Grad)})
	}
	groups := together(slots, most)
	// Layers get three directions and three elements for each array, networks of many arrays a direction for each.
	trials := min(6, max(1, 60/len(groups)))
	if len(groups) < len(slots) {
		trials = 2
	}
	for _, g := range groups {
		for trial := range trials {
			b.compare(g, trial, cot, norm(y), rng)
		}
	}
}

// most is the largest number of groups of arrays: one for each array, but fewer in a short test,
// above all on an emulator, for which two passes for each of a network's arrays take minutes.
func most(dev *device.Device) int {
	switch {
	case testing.Short() && Emulated(dev):
		return 6
	case testing.Short():
		return 12
	}
	return math.MaxInt
}

// together puts slots into at most so many groups, those of like gradients into the same one: the error in a small
// gradient would not be seen beside a large one.
func together(slots []slot, most int) (groups [][]slot) {
	if len(slots) > most {
		slots = slices.Clone(slots)
		slices.SortStableFunc(slots, func(a, b slot) int { return cmp.Compare(norm(a.grad), norm(b.grad)) })
	}
	each := (len(slots)-1)/most + 1
	for group := range slices.Chunk(slots, each) {
		groups = append(groups, group)
	}
	return groups
}

// compare moves the slots of a group, each in a random direction or, from the third trial on, along a single element.
func (b *bench) compare(group []slot, trial int, cot []float64, size float64, rng *rand.Rand) {
	b.t.Helper()
	tol := cmp.Or(b.c.Tol, 1e-6)
	var names []string
	var grads float64 // squared norm
	var got float64
	d := make([][]float64, len(group))
	for k, s := range group {
		name := "direction"
		if d[k] = draw(rng, len(s.grad)); trial >= 3 {
			i := rng.IntN(len(d[k]))
			clear(d[k])
			d[k][i], name = 1, "element "+strconv.Itoa(i)
		}
		names = append(names, s.name+", "+name)
		floats.Scale(1/(norm(d[k])*math.Sqrt(float64(len(group)))), d[k])
		got += floats.Dot(s.grad, d[k])
		grads += floats.Dot(s.grad, s.grad)
	}
	want := b.slope(group, d, cot)
	if diff := math.Abs(got - want); !(diff <= tol*math.Sqrt(grads)+1e-9*norm(cot)*(1+size)) {
		b.t.Errorf("%s: gradient %v, finite difference %v", strings.Join(names, "; "), got, want)
	}
}

// slope is the central difference of ⟨cot, output⟩ along d.
func (b *bench) slope(group []slot, d [][]float64, cot []float64) float64 {
	const h = 1e-6
	at := make([][]float64, len(group))
	for k, s := range group {
		at[k] = values(s.a)
	}
	move := func(h float64) {
		for k, s := range group {
			s.a.SetFloats(floats.AddScaledTo(make([]float64, len(at[k])), at[k], h, d[k]))
		}
	}
	move(h)
	up := floats.Dot(b.forward(), cot)
	move(-h)
	down := floats.Dot(b.forward(), cot)
	move(0)
	return (up - down) / (2 * h)
}

// precision compares float32 with float64, which start from the same numbers but for the rounding of parameters.
func (c Case) precision(t testing.TB, dev *device.Device) {
	type result struct {
		name string
		v    []float64
	}
	run := func(dtype device.DType) (all []result) {
		b := c.set(t, dev, dtype)
		y, dx, dc := b.vjp(cotangent(len(b.forward())))
		all = append(all, result{"output", y}, result{"input", dx}, result{"condition", dc})
		for _, w := range nn.Trainable(b.layer.Params()) {
			all = append(all, result{w.Name, values(w.Grad)})
		}
		return all
	}
	single, double := run(device.Float32), run(device.Float64)
	largest := 0.0
	for _, want := range double {
		largest = max(largest, norm(want.v))
	}
	for i, want := range double {
		off := floats.Distance(single[i].v, want.v, 2)
		// 2^−24 each rounding; sums of up to some thousand terms through some tens of layers, some of which divide by
		// standard deviations. A bias before a normalisation has a gradient of nothing but rounding, hence the floor.
		if scale := norm(want.v) + largest/100 + 1e-3; !(off <= 1e-3*scale) {
			t.Errorf("%s: float32 is %.2g of the norm off", want.name, off/scale)
		}
	}
}

// accumulation demands that a second VJP doubles gradients, and that InputsOnly leaves them and dx alone.
func (c Case) accumulation(t testing.TB, dev *device.Device) {
	b := c.set(t, dev, device.Float64)
	cot := cotangent(len(b.forward()))
	p := b.pass()
	y := b.layer.Forward(p, b.x)
	dy := b.array(cot, y.Shape()...)
	dx := values(b.layer.VJP(p, dy))
	once := b.grads()
	p.Rewind()
	p.InputsOnly = true
	if again := values(b.layer.VJP(p, dy)); !slices.Equal(dx, again) {
		t.Error("InputsOnly: another cotangent of the input")
	}
	if !slices.Equal(once, b.grads()) {
		t.Error("InputsOnly: gradients changed")
	}
	p.Rewind()
	p.InputsOnly = false
	b.layer.VJP(p, dy)
	for i, g := range b.grads() {
		if math.Abs(g-2*once[i]) > 1e-12*(1+math.Abs(g)) {
			t.Fatalf("gradient %d: %v after two passes, %v after one", i, g, once[i])
		}
	}
}

// paramsOnly demands the same bits of a pass that is ParamsOnly, with the layer by itself and between others, so that
// there are arrays to overwrite and to free.
func (c Case) paramsOnly(t testing.TB, dev *device.Device) {
	b := c.set(t, dev, device.Float64)
	around := nn.Seq(&nn.Affine{By: 1.5, Plus: .25}, b.layer, &nn.Affine{By: -2}, nn.Tanh())
	for _, net := range []nn.Layer{b.layer, around} {
		var want []float64
		for _, only := range []bool{false, true} {
			p := b.pass()
			p.ParamsOnly = only
			nn.ZeroGrads(b.layer.Params())
			y := net.Forward(p, b.x)
			net.VJP(p, b.array(cotangent(y.Len()), y.Shape()...))
			if got := b.grads(); !only {
				want = got
			} else if !slices.Equal(got, want) {
				t.Error("ParamsOnly: other gradients")
			}
		}
	}
}

// grads is all gradients in one row.
func (b *bench) grads() (all []float64) {
	for _, w := range nn.Trainable(b.layer.Params()) {
		all = append(all, values(w.Grad)...)
	}
	return all
}

// examples compares Squares with the gradients of one example at a time.
func (c Case) examples(t testing.TB, dev *device.Device) {
	b := c.set(t, dev, device.Float64)
	if len(nn.Trainable(b.layer.Params())) == 0 {
		return
	}
	n := c.Shape[0]
	p := b.pass()
	y := b.layer.Forward(p, b.x)
	cot := cotangent(y.Len())
	p.Squares = dev.Zeros(device.Float64, n)
	b.layer.VJP(p, b.array(cot, y.Shape()...))
	squares := values(p.Squares)
	if norm(b.grads()) != 0 {
		t.Error("Squares: gradients of parameters changed")
	}
	width := len(cot) / n
	for i := range n {
		alone := make([]float64, len(cot))
		copy(alone[i*width:(i+1)*width], cot[i*width:(i+1)*width])
		nn.ZeroGrads(b.layer.Params())
		p.Rewind()
		p.Squares = nil
		b.layer.VJP(p, b.array(alone, y.Shape()...))
		want := b.grads()
		if w := floats.Dot(want, want); math.Abs(squares[i]-w) > 1e-9*(w+1e-9) {
			t.Errorf("example %d: squared norm %v, alone %v", i, squares[i], w)
		}
	}
}
