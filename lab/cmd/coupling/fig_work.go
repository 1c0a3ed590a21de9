package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"coupling/lab"
	"coupling/lab/device"
)

// How fast networks are, for predictions. A step of DCGAN takes products at 75 GFLOP/s where large
// ones run at 95 (the tables of package lab/nn/peers). An H200 has 67 TFLOP/s in float32 by
// NVIDIA's data sheet, of which large products reach some 52 (a guess that devicetest's model makes
// too), and a step is some 500 kernels, 1 µs each in a recorded graph.
const (
	stepShare    = .75
	productsH200 = 52e12
	launchesH200 = 500e-6
)

func secondsH200(w lab.Work) float64 {
	return max(w.FLOP/(stepShare*productsH200), w.Steps*launchesH200)
}

func printWork(a *app, p plan, set lab.Setting) (err error) {
	cpu := lab.Must(device.Open("cpu"))
	defer func() { err = errors.Join(err, cpu.Close()) }() // runs after End, which has set err
	defer lab.End(&err)
	here := lab.Must(productRate(os.Getenv("COUPLING_DEVICE")))
	w := table(a.out)
	fmt.Fprintf(w, "figure\tits networks\tsteps\there\tan H200\tsizes\n")
	row := func(name string, of lab.Work, sizes string) {
		fmt.Fprintf(w, "%s\t%.2g FLOP\t%.2g\t%s\t%s\t%s\n", name, of.FLOP, of.Steps, duration(of.FLOP/(stepShare*here)),
			duration(secondsH200(of)), sizes)
	}
	var all lab.Work
	for _, f := range p.figs {
		var of lab.Work
		for _, j := range p.todo[f.Name] {
			flop, steps := j.Work(cpu)
			of = of.Plus(lab.Work{FLOP: flop, Steps: steps})
		}
		if of.FLOP > 0 {
			row(f.Name, of, f.Sizes[set.Preset])
		}
		all = all.Plus(of)
	}
	if all.FLOP == 0 {
		return nil
	}
	row("all", all, "")
	lab.Check(w.Flush())
	a.printf("FLOP of products and convolutions, counted by a pass through each network; a step of training is three "+
		"passes. Cells that figures share stand with the first.\n"+
		"Here: products of 1024 × 1024 at %.3g GFLOP/s, as just measured, and %g of that in steps. H200, never "+
		"measured: %g of %g TFLOP/s, and at least %g ms a step.\n"+
		"Not counted: judges, plans between atoms, scores of mixtures, DP-MERF and DP-SGD.\n", here/1e9, stepShare,
		stepShare, productsH200/1e12, 1e3*launchesH200)
	return nil
}

// productRate measures FLOP a second of large products in float32: the best of a few.
func productRate(name string) (best float64, err error) {
	dev := lab.Must(device.Open(name))
	defer func() { err = errors.Join(err, dev.Close()) }()
	defer lab.End(&err)
	defer dev.Scope().Close()
	const side = 1024
	a, b, c := dev.New(device.Float32, side, side), dev.New(device.Float32, side, side),
		dev.New(device.Float32, side, side)
	for range 5 {
		began := time.Now()
		device.Gemm(c, 1, a.N(), b.N(), 0)
		lab.Check(dev.Sync())
		best = max(best, 2*side*side*side/time.Since(began).Seconds())
	}
	return best, nil
}
