package nn_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"coupling/lab/device"
	"coupling/lab/nn"
	"coupling/lab/nn/nntest"
)

// set gives the parameters of a layer values in order.
func set(layer nn.Layer, values ...[]float64) {
	for i, p := range layer.Params() {
		p.Value.SetFloats(values[i])
	}
}

// Small outputs by hand.
func TestForwardByHand(t *testing.T) {
	dev := nntest.InScope(t)
	dense := func(in, out int) nn.Layer { return &nn.Dense{In: in, Out: out} }
	for _, c := range []struct {
		name   string
		layer  nn.Layer
		params [][]float64
		x      []float64
		shape  []int
		want   []float64
		out    []int
	}{
		{"Dense", dense(2, 3), [][]float64{{1, 2, 3, 4, 5, 6}, {.1, .2, .3}}, []float64{1, 10}, []int{1, 2},
			[]float64{21.1, 43.2, 65.3}, []int{1, 3}},
		{"AppendClass", &nn.AppendClass{Embedding: nn.Embedding{Classes: 2, Width: 1}}, [][]float64{{7, 8}},
			[]float64{1, 2}, []int{2, 1}, []float64{1, 8, 2, 7}, []int{2, 2}},
		{"Concat", &nn.Concat{Branches: []nn.Layer{&nn.Affine{By: 2, Plus: 1}, nil}}, nil, []float64{1, 2}, []int{2, 1},
			[]float64{3, 1, 5, 2}, []int{2, 2}},
		{"Residual", &nn.Residual{Body: &nn.Affine{By: 10}, Shortcut: &nn.Affine{By: 1, Plus: .5}}, nil,
			[]float64{1, -2}, []int{1, 2}, []float64{11.5, -21.5}, []int{1, 2}},
		{"Upsample", &nn.Upsample{Factor: 2}, nil, []float64{1, 2}, []int{1, 1, 1, 2},
			[]float64{1, 1, 2, 2, 1, 1, 2, 2}, []int{1, 1, 2, 4}},
		{"MaxPool", &nn.MaxPool{Window: device.SquareWindow(2, 2, 0)}, nil, []float64{1, 2, 4, 3}, []int{1, 1, 2, 2},
			[]float64{4}, []int{1, 1, 1, 1}},
		{"AvgPool", &nn.AvgPool{Window: device.SquareWindow(2, 2, 0)}, nil, []float64{1, 2, 4, 3}, []int{1, 1, 2, 2},
			[]float64{2.5}, []int{1, 1, 1, 1}},
		{"LeakyReLU", nn.LeakyReLU(.2), nil, []float64{-1, 1}, []int{1, 2}, []float64{-.2, 1}, []int{1, 2}},
		{"Reshape", &nn.Reshape{Shape: []int{2, -1}}, nil, []float64{1, 2, 3, 4}, []int{1, 4}, []float64{1, 2, 3, 4},
			[]int{1, 2, 2}},
		// The transposed convolution of one pixel, 1, at stride 2 is the kernel itself.
		{"ConvTranspose2D", &nn.ConvTranspose2D{In: 1, Out: 1, Window: device.SquareWindow(2, 2, 0)},
			[][]float64{{1, 2, 3, 4}, {10}}, []float64{1}, []int{1, 1, 1, 1}, []float64{11, 12, 13, 14},
			[]int{1, 1, 2, 2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.layer.Init(dev, device.Float64, rand.New(rand.NewPCG(1, 2)))
			set(c.layer, c.params...)
			p := &nn.Pass{Class: dev.FromInts([]int32{1, 0}[:c.shape[0]], c.shape[0])}
			y := c.layer.Forward(p, dev.From64(c.x, c.shape...))
			if !slices.Equal(y.Shape(), c.out) {
				t.Errorf("shape %v, want %v", y.Shape(), c.out)
			}
			near(t, "output", values(t, y), c.want, 1e-14)
		})
	}
}

// Batch normalisation by running statistics keeps its digits at a mean of 10,000 deviations, where scale·x + (beta −
// scale·mean) would err by 1e-3 in float32.
func TestBatchNormFarFromZero(t *testing.T) {
	dev := nntest.InScope(t)
	b := &nn.BatchNorm{Channels: 1}
	b.Init(dev, device.Float32, nil)
	set(b, []float64{3}, []float64{.5}, []float64{1e4}, []float64{2})
	y := b.Forward(&nn.Pass{}, dev.From32([]float32{1e4 + 1, 1e4 - 2}, 2, 1))
	r := 3 / math.Sqrt(2+1e-5)
	near(t, "output", values(t, y), []float64{.5 + r, .5 - 2*r}, 1e-6)
}

// Parameters are named after their places, each name once.
func TestNames(t *testing.T) {
	dev := nntest.InScope(t)
	net := nn.Seq(&nn.Dense{In: 1, Out: 1},
		&nn.Residual{Body: nn.Seq(nn.ReLU(), &nn.Dense{In: 1, Out: 1, Spectral: &nn.Spectral{}},
			&nn.BatchNorm{Channels: 1})})
	net.Init(dev, device.Float32, rand.New(rand.NewPCG(1, 2)))
	var names []string
	for _, p := range net.Params() {
		names = append(names, p.Name)
	}
	want := []string{
		"0.weight", "0.bias", "1.body.1.weight", "1.body.1.bias", "1.body.1.u",
		"1.body.2.gamma", "1.body.2.beta", "1.body.2.mean", "1.body.2.var",
	}
	if !slices.Equal(names, want) {
		t.Errorf("names %v, want %v", names, want)
	}
	if n := nn.Count(net.Params()); n != 6 {
		t.Errorf("%d parameters, want 6: state does not count", n)
	}
}

// doubled is a layer of another package that embeds one of this and does more.
type doubled struct{ *nn.Dense }

func (d doubled) Forward(p *nn.Pass, x *device.Array) *device.Array {
	y := d.Dense.Forward(p, x)
	device.Scale(y, 2, y)
	return y
}

// A layer of another package is not fused with the activation after it: its own Forward is called.
func TestForeignLayerIsNotFused(t *testing.T) {
	dev := nntest.InScope(t)
	net := nn.Seq(doubled{&nn.Dense{In: 1, Out: 2}}, nn.ReLU())
	net.Init(dev, device.Float64, rand.New(rand.NewPCG(1, 2)))
	set(net, []float64{1, -1}, []float64{.5, 0})
	for _, only := range []bool{false, true} {
		y := net.Forward(&nn.Pass{ForwardOnly: only}, dev.From64([]float64{3}, 1, 1))
		near(t, "output", values(t, y), []float64{7, 0}, 0)
	}
	nn.Free(net.Params())
}
