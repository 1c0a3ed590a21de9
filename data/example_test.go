package data_test

import (
	"context"
	"fmt"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"coupling/data"
)

// Two digits of 2×2 pixels, brought to the size and range of others.
func ExampleImages_Resize() {
	x := mat.NewDense(2, 4, []float64{-1, 1, -1, 1, 1, 1, -1, -1})
	digits, err := data.FromMat(x, 1, 2, 2, -1, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	unit, err := digits.Scale(0, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	wide, err := unit.Resize(1, 4, data.Bilinear)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(wide.Row(0), wide.Row(1))
	fmt.Println(wide.Shape())
	// Output:
	// [0 0.25 0.75 1] [0.5 0.5 0.5 0.5]
	// 2 1 1 4
}

// MNIST and USPS as points of the same space: 500 digits of each, 16×16, in
// [0, 1]. (Not run by the tests, since it may download.)
func ExampleMNIST() {
	ctx, rng := context.Background(), rand.New(rand.NewPCG(1, 2))
	mnist, err := data.MNIST(ctx, data.From{}, data.Test)
	if err != nil {
		fmt.Println(err)
		return
	}
	usps, err := data.USPS(ctx, data.From{}, data.Test)
	if err != nil {
		fmt.Println(err)
		return
	}
	if mnist, err = mnist.Resize(16, 16, data.Nearest); err != nil {
		fmt.Println(err)
		return
	}
	if usps, err = usps.Scale(0, 1); err != nil {
		fmt.Println(err)
		return
	}
	for _, set := range []*data.Images{mnist, usps} {
		picked, err := set.Pick(rng, 500)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(picked.Mat().Dims())
	}
}

// The source and target of SCONES on CelebA: even faces, blurred, to odd ones.
func ExampleCelebA() {
	even, odd := []int{1, 3, 5}, []int{0, 2, 4}
	small, err := data.CelebA{Size: 32}.Open()
	if err != nil {
		fmt.Println(err)
		return
	}
	faces, err := data.CelebA{}.Open()
	if err != nil {
		fmt.Println(err)
		return
	}
	source, err := small.Take(context.Background(), even)
	if err != nil {
		fmt.Println(err)
		return
	}
	if source, err = source.Resize(64, 64, data.Bilinear8); err != nil {
		fmt.Println(err)
		return
	}
	target, err := faces.Take(context.Background(), odd)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(source.Shape())
	fmt.Println(target.Shape())
}
