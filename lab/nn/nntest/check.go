package nntest

import (
	"math/rand/v2"
	"slices"
	"testing"

	"coupling/lab/device"
	"coupling/lab/must"
	"coupling/lab/nn"

	"gonum.org/v1/gonum/floats"
)

// Case is a layer on an input.
type Case struct {
	Name     string
	Layer    func() nn.Layer // a new one for each check
	Shape    []int           // of the input, examples first
	Classes  int             // classes to draw Pass.Class from; 0: none
	Width    int             // columns of Pass.Condition; 0: none
	Training bool            // of the passes; their outputs must not depend on state that they move
	Mixes    bool            // examples: there are no per-example gradients
	Tol      float64         // relative, of finite differences in float64; 0: 1e-6
}

// Check checks a layer on a device: gradients against finite differences in float64, in random
// directions and for single elements; float32 against float64; gradients that add up, and are the same where VJP frees
// and overwrites; per-example gradients against those of single examples; and no arrays left over.
func Check(t *testing.T, dev *device.Device, c Case) {
	t.Helper()
	clean(t, dev, "finite differences", func(t *testing.T) { c.differences(t, dev) })
	clean(t, dev, "float32", func(t *testing.T) { c.precision(t, dev) })
	clean(t, dev, "accumulation", func(t *testing.T) { c.accumulation(t, dev) })
	clean(t, dev, "parameters only", func(t *testing.T) { c.paramsOnly(t, dev) })
	if !c.Mixes {
		clean(t, dev, "examples", func(t *testing.T) { c.examples(t, dev) })
	}
}

// clean runs a test in a scope and demands that nothing is left.
func clean(t *testing.T, dev *device.Device, name string, f func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		before, _, _ := dev.Live()
		func() {
			defer dev.Scope().Close()
			f(t)
		}()
		if err := dev.Sync(); err != nil {
			t.Fatal(err)
		}
		if after, _, _ := dev.Live(); after != before {
			t.Errorf("%d arrays left over", after-before)
		}
	})
}

// bench is a layer with its input, ready to be differentiated.
type bench struct {
	t     testing.TB
	dev   *device.Device
	layer nn.Layer
	x     *device.Array
	cond  *device.Array
	class *device.Array
	c     Case
	dim   device.DType
}

// set makes a bench: the same numbers whatever the type.
func (c Case) set(t testing.TB, dev *device.Device, dtype device.DType) *bench {
	rng := rand.New(rand.NewPCG(7, uint64(len(c.Name))))
	b := &bench{t: t, dev: dev, layer: c.Layer(), c: c, dim: dtype}
	b.layer.Init(dev, dtype, rng)
	b.x = b.normal(rng, c.Shape...)
	if c.Classes > 0 {
		class := make([]int32, c.Shape[0])
		for i := range class {
			class[i] = int32(rng.IntN(c.Classes))
		}
		b.class = dev.FromInts(class, len(class))
	}
	if c.Width > 0 {
		b.cond = b.normal(rng, c.Shape[0], c.Width)
	}
	return b
}

// normal is an array of Gaussian numbers, rounded to float32 so that both types have the same.
func (b *bench) normal(rng *rand.Rand, shape ...int) *device.Array {
	a := b.dev.New(b.dim, shape...)
	a.SetFloats(draw(rng, a.Len()))
	return a
}

// pass starts a pass; random streams start anew, so that passes agree.
func (b *bench) pass() *nn.Pass {
	p := &nn.Pass{Training: b.c.Training, Class: b.class, Condition: b.cond, Random: b.dev.Stream(11)}
	if b.cond != nil {
		p.ConditionGrad = b.dev.Zeros(b.dim, b.cond.Shape()...)
	}
	return p
}

// forward is the output for the arrays as they are, on the host.
func (b *bench) forward() []float64 {
	s := b.dev.Scope()
	defer s.Close()
	p := b.pass()
	p.ForwardOnly = true
	return values(b.layer.Forward(p, b.x))
}

// vjp returns the output, and the cotangents of the input and, at last, of the condition if there is one.
func (b *bench) vjp(cot []float64) (y, dx, dc []float64) {
	s := b.dev.Scope()
	defer s.Close()
	p := b.pass()
	out := b.layer.Forward(p, b.x)
	dy := b.array(cot, out.Shape()...)
	dx = values(b.layer.VJP(p, dy))
	if !slices.Equal(values(dy), values(b.array(cot, out.Shape()...))) {
		b.t.Error("VJP changed its cotangent")
	}
	if p.Depth() != 0 {
		b.t.Errorf("%d layers were not undone", p.Depth())
	}
	if p.ConditionGrad != nil {
		dc = values(p.ConditionGrad)
	}
	return values(out), dx, dc
}

// array returns v on the device, rounded to its type.
func (b *bench) array(v []float64, shape ...int) *device.Array {
	a := b.dev.New(b.dim, shape...)
	a.SetFloats(v)
	return a
}

func values(a *device.Array) []float64 { return must.Get(a.Float64s()) }

// cotangent is the same draw of n numbers at each call.
func cotangent(n int) []float64 { return draw(rand.New(rand.NewPCG(3, 5)), n) }

// draw is n Gaussian numbers that float32 holds.
func draw(rng *rand.Rand, n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = float64(float32(rng.NormFloat64()))
	}
	return v
}

func norm(a []float64) float64 { return floats.Norm(a, 2) }
