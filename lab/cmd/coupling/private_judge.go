package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"slices"

	"coupling/data"
	"coupling/lab/device"
	"coupling/lab/eval"
)

// judgeCmd trains classifiers on synthetic images and tests them on real ones.
type judgeCmd struct {
	Synthetic   string   `arg:"" help:"Folder that coupling private wrote, or real: the real training images, for comparison."`
	Data        string   `required:"" help:"The real data set: mnist, fashion-mnist, usps, cifar10, mnist-sample and so on (its test images), or mnist-fit (the last sixth of its training images)." placeholder:"NAME"`
	Classifiers []string `default:"cnn" enum:"logistic,mlp,lenet,cnn" help:"logistic, mlp, lenet or cnn (32, 64 and 128 channels), or several."`
	Protocol    string   `default:"quick" enum:"quick,code,paper" help:"How they are trained; see package lab/eval."`
	Epochs      int      `help:"Epochs at most; default: the protocol's."`
	Seeds       int      `default:"1" help:"Trainings of each, from seeds 1, 2, …"`
	Device      string   `default:"" help:"cpu, cuda or auto."`
}

// Run prints an accuracy for each classifier and seed.
func (c judgeCmd) Run(a *app) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	images, test, err := named(ctx, c.Data)
	if err == nil && c.Synthetic != "real" {
		images, err = data.Load(filepath.Join(c.Synthetic, "synthetic.npy"))
	}
	if err != nil {
		return usage(err)
	}
	if images.Dim() != test.Dim() {
		return usage(fmt.Errorf("%s has %d values an image, %s %d: must be equal", c.Synthetic, images.Dim(), c.Data, test.Dim()))
	}
	dev, err := device.Open(c.Device)
	if err != nil {
		return err
	}
	defer func() { _ = dev.Close() }() // frees what lives
	for _, name := range c.Classifiers {
		of := eval.Classifier{
			Kind:     eval.Kind(slices.Index([]string{"logistic", "mlp", "cnn", "lenet"}, name)),
			Protocol: eval.Protocol(slices.Index([]string{"quick", "code", "paper"}, c.Protocol)), Epochs: c.Epochs,
		}
		for seed := range max(c.Seeds, 1) {
			r, err := of.Evaluate(ctx, dev, images, test, rand.New(rand.NewPCG(uint64(seed)+1, 0)))
			if err != nil {
				return err
			}
			fmt.Fprintf(a.out, "%v, seed %d: %v, trained on %d images\n", r.Kind, seed+1, &r.Score, images.Len())
		}
	}
	return nil
}
