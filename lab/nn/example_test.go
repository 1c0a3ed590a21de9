package nn_test

import (
	"fmt"
	"math/rand/v2"

	"coupling/lab/device"
	"coupling/lab/nn"
	"coupling/lab/nn/initial"
	"coupling/lab/nn/train"
)

// A network of two layers learns exclusive or, by gradient descent on the mean squared error.
func Example() {
	dev, err := device.Open("cpu")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer dev.Close()
	defer dev.Scope().Close()

	net := nn.Seq(&nn.Dense{In: 2, Out: 8}, nn.Tanh(), &nn.Dense{In: 8, Out: 1}, nn.Sigmoid())
	net.Init(dev, device.Float32, rand.New(rand.NewPCG(1, 2)))
	opt := train.Adam{Rate: .1}.For(net.Params())
	x := dev.From32([]float32{0, 0, 0, 1, 1, 0, 1, 1}, 4, 2)
	want := dev.From32([]float32{0, 1, 1, 0}, 4, 1)
	step := func() {
		defer dev.Scope().Close()
		p := &nn.Pass{Training: true}
		nn.ZeroGrads(net.Params())
		d := net.Forward(p, x).Clone()
		device.Sub(d, d, want) // the gradient of |y − want|²/2
		net.VJP(p, d)
		opt.Step()
	}
	for range 200 {
		step()
	}

	y, err := net.Forward(&nn.Pass{ForwardOnly: true}, x).Get32()
	fmt.Printf("%.0f %v\n", y, err)
	// Output: [0 1 1 0] <nil>
}

// The gradient at the input of a log-density, here −|x|²/2 through a layer of ones, is what Langevin sampling moves by.
func ExamplePass_inputsOnly() {
	dev, err := device.Open("cpu")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer dev.Close()
	defer dev.Scope().Close()

	logp := nn.Seq(&nn.Activation{Func: device.Square}, &nn.Dense{
		In:      2,
		Out:     1,
		NoBias:  true,
		Weights: initial.Constant(-.5),
	})
	logp.Init(dev, device.Float64, nil)
	p := &nn.Pass{InputsOnly: true}
	y := logp.Forward(p, dev.From64([]float64{3, -1}, 1, 2))
	device.Fill(y, 1)
	dx, err := logp.VJP(p, y).Get64()
	fmt.Println(dx, err)
	// Output: [-3 1] <nil>
}
