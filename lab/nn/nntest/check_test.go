package nntest

import (
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"coupling/lab/device"
	"coupling/lab/nn"
)

// recorder is a test that counts its errors.
type recorder struct {
	testing.TB
	errors int
}

func (r *recorder) Error(...any)          { r.errors++ }
func (r *recorder) Errorf(string, ...any) { r.errors++ }
func (r *recorder) Fatalf(string, ...any) { r.errors++ }

// broken is y = x·w, w a parameter for each column, with one thing wrong.
type broken struct {
	wrong string
	w     *nn.Param
	calls float64
}

func (b *broken) Init(dev *device.Device, t device.DType, rng *rand.Rand) {
	b.w = &nn.Param{Name: "w", Value: dev.New(t, 3), Grad: dev.Zeros(t, 3)}
	b.w.Value.SetFloats(draw(rng, 3))
}

func (b *broken) Params() []*nn.Param { return []*nn.Param{b.w} }

func (b *broken) Forward(p *nn.Pass, x *device.Array) *device.Array {
	y := x.Like()
	device.Mul(y, x, b.w.Value.Reshape(1, 3))
	if b.wrong == "passes differ" {
		b.calls++
		device.Map(y, y, device.AddConst, b.calls)
	}
	if b.wrong == "float32" && x.Type() == device.Float32 {
		device.Scale(y, 1.01, y)
	}
	p.Push(b, x)
	return y
}

func (b *broken) VJP(p *nn.Pass, dy *device.Array) *device.Array {
	x := p.Pop(b)[0]
	b.parameters(p, x, dy)
	dx := x.Like()
	device.Mul(dx, dy, b.w.Value.Reshape(1, 3))
	switch b.wrong {
	case "not undone":
		p.Rewind()
	case "input":
		device.Scale(dx, 1.0001, dx)
	case "one element":
		device.Fill(dx.Rows(0, 1), 0)
	case "cotangent":
		device.Scale(dy, 2, dy)
	}
	return dx
}

func (b *broken) parameters(p *nn.Pass, x, dy *device.Array) {
	if p.InputsOnly && b.wrong != "InputsOnly" {
		return
	}
	each := x.Like()
	device.Mul(each, x, dy)
	if p.Squares != nil {
		s := x.Device().New(x.Type(), x.Dim(0), 1)
		device.Reduce(s, each, device.SumSquares)
		if b.wrong == "squares" {
			device.Scale(s, 1.001, s)
		}
		device.Add(p.Squares, p.Squares, s.Reshape(-1))
		return
	}
	g := x.Device().New(x.Type(), 1, 3)
	device.Reduce(g, each, device.Sum)
	if b.wrong == "overwritten" {
		device.Fill(b.w.Grad, 0)
	}
	if b.wrong == "parameter" {
		device.Scale(g, 1.0001, g)
	}
	device.Add(b.w.Grad, b.w.Grad, g.Reshape(3))
}

// Each check finds what it is for, and nothing in a layer that is right.
func TestChecksFindMistakes(t *testing.T) {
	dev := InScope(t)
	type check func(Case, testing.TB, *device.Device)
	differences, precision, accumulation, examples := check(Case.differences), check(Case.precision),
		check(Case.accumulation), check(Case.examples)
	joined := func(c Case, t testing.TB, dev *device.Device) { c.differencesIn(t, dev, 1) }
	for _, c := range []struct {
		wrong string
		check check
	}{
		{"input", joined}, {"one element", joined}, {"parameter", joined}, {"input", differences},
		{"one element", differences}, {"parameter", differences}, {"cotangent", differences},
		{"passes differ", differences}, {"not undone", differences},
		{"float32", precision}, {"overwritten", accumulation}, {"InputsOnly", accumulation}, {"squares", examples},
	} {
		t.Run(c.wrong, func(t *testing.T) {
			for _, wrong := range []string{c.wrong, ""} {
				rec := &recorder{TB: t}
				s := dev.Scope()
				c.check(Case{Shape: []int{4, 3}, Layer: func() nn.Layer { return &broken{wrong: wrong} }}, rec, dev)
				s.Close()
				if found := rec.errors > 0; found != (wrong != "") {
					t.Errorf("wrong %q: %d errors found", wrong, rec.errors)
				}
			}
		})
	}
}

// Groups hold each slot once, those of like gradients together.
func TestTogether(t *testing.T) {
	var slots []slot
	for i := range 7 {
		slots = append(slots, slot{name: strconv.Itoa(i), grad: []float64{float64(i * 3 % 7)}})
	}
	for most, want := range map[int]string{1: "0531642", 3: "053 164 2", 7: "0 1 2 3 4 5 6",
		math.MaxInt: "0 1 2 3 4 5 6"} {
		var got []string
		for _, group := range together(slots, most) {
			names := ""
			for _, s := range group {
				names += s.name
			}
			got = append(got, names)
		}
		if g := strings.Join(got, " "); g != want {
			t.Errorf("at most %d: %q, want %q", most, g, want)
		}
	}
}
