package arch_test

import (
	"fmt"
	"math/rand/v2"

	"coupling/lab/device"
	"coupling/lab/nn"
	"coupling/lab/nn/arch"
)

// Sixteen digits' worth of noise from DP-Sinkhorn's generator before training.
func ExampleDCGAN() {
	dev, err := device.Open("cpu")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer dev.Close()
	defer dev.Scope().Close()
	g := arch.DCGAN{Latent: 12, Classes: 10, Embed: 4}.Net()
	g.Init(dev, device.Float32, rand.New(rand.NewPCG(1, 2)))

	z, labels := dev.New(device.Float32, 16, 12), make([]int32, 16)
	dev.Stream(3).Uniform(z, 0, 1)
	for i := range labels {
		labels[i] = int32(i % 10)
	}
	images := g.Forward(&nn.Pass{ForwardOnly: true, Class: dev.FromInts(labels, 16)}, z)
	fmt.Println(nn.Count(g.Params()), images.Shape(), dev.Err())
	// Output: 857577 [16 1 28 28] <nil>
}
