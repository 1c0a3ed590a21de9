package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"

	"coupling/data"
	"coupling/dp/synth"
	"coupling/lab"
	"coupling/lab/device"
	"coupling/score/eval"
	"coupling/score/eval/membership"
)

// judgeCmd trains classifiers on synthetic images and tests them on real ones.
type judgeCmd struct {
	Synthetic string `arg:""`
	pictures
	Classifiers []string `default:"cnn,oriented" enum:"logistic,mlp,lenet,cnn,example,oriented"`
	Protocol    string   `default:"quick" enum:"quick,code,paper"`
	Epochs      *int     `min:"1"`
	Attack      bool
	Seeds       int    `default:"1" min:"1"`
	Device      string `default:""`
}

// Run prints an accuracy for each classifier and seed.
func (c judgeCmd) Run(a *app) error {
	ctx, stop := interruptible(a)
	defer stop()
	learn, test, err := c.parts(ctx, a)
	if err == nil && test == nil {
		err = fmt.Errorf("--images %s: no images are kept aside to judge by: give --keep, as to coupling private",
			c.Images)
	}
	images := learn
	if err == nil && c.Synthetic != "real" {
		images, err = data.Load(filepath.Join(c.Synthetic, "synthetic.npy"))
	}
	lab.Check(usage(err))
	if images.Dim() != test.Dim() {
		return usagef("%s has %d values an image, %s %d: must be equal",
			c.Synthetic, images.Dim(), c.Images+c.Data, test.Dim())
	}
	dev := orUsage(device.Open(c.Device))
	defer func() { _ = dev.Close() }() // frees what lives
	for _, name := range c.Classifiers {
		of := eval.Classifier{
			Kind:     eval.Kind(slices.Index([]string{"logistic", "mlp", "cnn", "lenet", "example", "oriented"}, name)),
			Protocol: eval.Protocol(slices.Index([]string{"quick", "code", "paper"}, c.Protocol)),
			Epochs:   given(c.Epochs),
		}
		for seed := range c.Seeds {
			r := lab.Must(of.Evaluate(ctx, dev, images, test, rand.New(rand.NewPCG(uint64(seed)+1, 0))))
			a.printf("%v, seed %d: %v, trained on %d images\n", r.Kind, seed+1, &r.Score, images.Len())
		}
	}
	if !c.Attack || c.Synthetic == "real" {
		return nil
	}
	return c.attack(ctx, a, images, learn, test)
}

// attack prints how well members are told from others, and the bound TPR − FPR ≤ (e^ε − 1 + 2δ)/(e^ε
// + 1) of (ε, δ)-differential privacy.
func (c judgeCmd) attack(ctx context.Context, a *app, images, learn, test *data.Images) error {
	var spent synth.Statement
	text, err := os.ReadFile(filepath.Join(c.Synthetic, "privacy.json"))
	if err == nil {
		err = json.Unmarshal(text, &spent)
	}
	lab.Check(usage(err))
	n := min(4000, learn.Len(), test.Len())
	members, err1 := learn.Slice(0, n).Scale(0, 1)
	others, err2 := test.Slice(0, n).Scale(0, 1)
	lab.Check(errors.Join(err1, err2))
	r := lab.Must(membership.Run(ctx, images, members, others))
	advantage := 0.
	for _, p := range r.ROC {
		advantage = max(advantage, p.TPR-p.FPR)
	}
	bound := math.Tanh(spent.Epsilon/2) + 2*spent.Delta/(math.Exp(spent.Epsilon)+1)
	copies := lab.Must(membership.Copies(ctx, images.Slice(0, min(n, images.Len())), members, others))
	a.printf("copies: %.3f of synthetic images are nearer to one of %d images that were learnt from than to any of as "+
		"many others; 0.5 is none\n", copies, n)
	a.printf("membership attack on %d and %d images: %v; largest advantage %.3f, at most %.3f by ε = %g\n", n,
		n, r, advantage, bound, spent.Epsilon)
	return nil
}
