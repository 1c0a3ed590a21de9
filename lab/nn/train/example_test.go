package train_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"

	"coupling/lab/device"
	"coupling/lab/nn"
	"coupling/lab/nn/initial"
	"coupling/lab/nn/train"
)

// A parameter under Adam, stored, changed and brought back.
func ExampleCheckpoint() {
	dev, err := device.Open("cpu")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer dev.Close()
	defer dev.Scope().Close()
	net := &nn.Dense{In: 1, Out: 1, NoBias: true, Weights: initial.Constant(2)}
	net.Init(dev, device.Float64, rand.New(rand.NewPCG(1, 2)))
	opt := train.Adam{Rate: .5}.For(net.Params())
	ck := train.Checkpoint{Params: map[string][]*nn.Param{"net": net.Params(), "adam": opt.State()}}

	dir, err := os.MkdirTemp("", "checkpoint")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "run.ckpt")
	fmt.Println("nothing yet:", errors.Is(ck.Load(path), os.ErrNotExist))

	device.Fill(net.W.Grad, 3)
	opt.Step() // the first step of Adam is the rate
	ck.Step = 1
	fmt.Println("saved:", ck.Save(path))
	device.Fill(net.W.Value, 100)
	ck.Step = 7
	fmt.Println("loaded:", ck.Load(path), ck.Step)
	w, err := net.W.Value.Get64()
	fmt.Printf("%.4f %v\n", w, err)
	// Output:
	// nothing yet: true
	// saved: <nil>
	// loaded: <nil> 1
	// [1.5000] <nil>
}
