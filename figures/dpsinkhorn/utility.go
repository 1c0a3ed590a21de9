package dpsinkhorn

import (
	"context"
	"fmt"
	"time"

	"coupling/data"
	"coupling/data/sample"
	"coupling/dp/release"
	"coupling/figures/artifact"
	"coupling/lab"

	"gonum.org/v1/gonum/mat"
)

// Utility is Figure 2, Table 1 and Figure 4(b): images and what they are worth, at ε that hold.
func Utility() lab.Figure {
	return lab.Figure{
		Name:  "dpsinkhorn/utility",
		Title: "Figures 2 and 4(b), Table 1: what private images are worth at an ε that holds",
		Shows: "Digits made with differential privacy by four mechanisms of the same (ε, δ = 1e-5), and the accuracy on real test digits of classifiers that were trained on them alone. " +
			"The paper's own numbers are at an ε that is not justified: all rows share one batch.",
		Sizes: map[lab.Preset]string{
			lab.Smoke: "MNIST, 1500 digits, 300 synthetic ones, ε = 10, a few steps",
			lab.Quick: "MNIST, 60,000 digits, 6000 synthetic ones, a CNN of half width; DP-MERF 2000 features, 600 steps; DP-SGD on a small denoiser; whole-batch recipe " + bestSizes + "; Fashion-MNIST at ε = 10 by the semi-dual and DP-MERF alone",
			lab.Paper: "MNIST and Fashion-MNIST, 60,000 synthetic images, the code's classifiers' widths; DP-MERF 10,000 features; DP-SGD as at quick; whole-batch recipe 160,000 steps of 50",
		},
		Decoders: []lab.Decoder{utilityOf.Decoder()},
		Jobs:     func(set lab.Setting) ([]lab.Job, error) { return utilityOf.Jobs(set.Seed, utilityGrid(set)...), nil },
		Draw:     drawUtility,
		Claims:   claimUtility,
	}
}

// utilityParams is a method on a data set.
type utilityParams struct {
	Fashion   bool        `json:"fashion"`
	Most      int         `json:"most"` // training and test images; 0: all
	Method    method      `json:"method"`
	Judge     Judge       `json:"judge"`
	Synthetic int         `json:"synthetic"`
	Device    string      `json:"device"`
	Data      data.Origin `json:"data,omitzero"`
}

// utilityOut. Artifact: images.npy, the first rows, the classes in turn.
type utilityOut struct {
	Judged     Judgement `json:"judged"`
	Epsilon    float64   `json:"epsilon"`
	Kind       string    `json:"kind"`
	Accountant string    `json:"accountant"`
	Seconds    float64   `json:"seconds"` // of training
}

var utilityOf = lab.Experiment[utilityParams, utilityOut]{Name: "dpsinkhorn/utility", Version: 5, Run: runUtility}

// shownImages is two of each class.
const shownImages = 20

func utilityGrid(set lab.Setting) []utilityParams {
	p := set.Preset
	base := utilityParams{
		Most: pick(p, 1500, 0, 0), Synthetic: pick(p, 300, 6000, 60000), Device: set.Device, Data: data.Choose("mnist", "fashion-mnist"),
		Judge: Judge{Width: pick(p, 4, 16, 32), Epochs: pick(p, 1, 0, 0), LeNet: pick(p, 300, 6000, 60000), Images: pick(p, 100, 2000, 10000)},
	}
	var out []utilityParams
	for _, fashion := range pick(p, []bool{false}, []bool{false, true}, []bool{false, true}) {
		for _, eps := range pick(p, []float64{10}, []float64{10, 1, .3}, []float64{10, 2, 1, .3}) {
			for _, m := range []method{
				{Name: semiDual, Epsilon: eps},
				{Name: dpMERF, Epsilon: eps, Steps: pick(p, 20, 600, 3000), Batch: 100, Feature: pick(p, 200, 2000, 10000)},
				{Name: dpSGD, Epsilon: eps, Steps: pick(p, 10, 0, 0)},
				{Name: wholeBatch, Epsilon: eps, Recipe: bestRecipe(set, eps)},
			} {
				if p == lab.Quick && fashion && (eps < 10 || m.Name == dpSGD || m.Name == wholeBatch) {
					continue // what takes a minute
				}
				c := base
				c.Fashion, c.Method = fashion, m
				out = append(out, c)
			}
		}
	}
	return out
}

func runUtility(ctx context.Context, c *lab.Cell, p utilityParams) (out utilityOut, err error) {
	load := data.MNIST
	if p.Fashion {
		load = data.FashionMNIST
	}
	train, err := load(ctx, sample.From(p.Data), data.Train)
	if err != nil {
		return out, err
	}
	test, err := load(ctx, sample.From(p.Data), data.Test)
	if err != nil {
		return out, err
	}
	if p.Most > 0 {
		train, test = train.Slice(0, min(p.Most, train.Len())), test.Slice(0, min(p.Most, test.Len()))
	}
	dev, err := c.Device(p.Device)
	if err != nil {
		return out, err
	}
	scratch, err := c.Scratch()
	if err != nil {
		return out, err
	}
	begin := time.Now()
	sample, g, err := p.Method.train(ctx, dev, train, release.SeededKey(c.Seed), scratch, c.Progress)
	if err != nil {
		return out, err
	}
	out.Seconds, out.Epsilon, out.Kind, out.Accountant = time.Since(begin).Seconds(), g.Epsilon, g.Kind.String(), g.Accountant
	synthetic, err := sample(c.Rand("sample"), p.Synthetic)
	if err != nil {
		return out, err
	}
	if err := artifact.Write(c, "images.npy", mat.DenseCopyOf(synthetic.Slice(0, shownImages).Mat())); err != nil {
		return out, err
	}
	out.Judged, err = p.Judge.look(ctx, dev, synthetic, train, test, c.Rand("judge"))
	return out, err
}

// sizes says what was made of what.
func (p utilityParams) sizes() string {
	if p.Most > 0 {
		return fmt.Sprintf("%d of 60,000 images", p.Most)
	}
	return fmt.Sprintf("%d synthetic images, a small recipe", p.Synthetic)
}
