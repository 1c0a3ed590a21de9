package dpsinkhorn

import (
	"context"
	"fmt"
	"math"
	"slices"

	"coupling/data"
	"coupling/data/sample"
	"coupling/dp/release"
	"coupling/dp/synth"
	"coupling/dp/synth/dpsinkhorn"
	"coupling/figures/internal/kit"
	"coupling/figures/style"
	"coupling/lab"
	"coupling/lab/device"
	"coupling/lab/nn/arch"
	"coupling/lab/nn/train"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/plot"
)

// Fig4c is Figure 4(c): bias and variance of the gradient against the share of fresh images.
func Fig4c() lab.Study[DebiasParams, DebiasOut] {
	return lab.Study[DebiasParams, DebiasOut]{
		Name:  "dpsinkhorn/fig4c",
		Title: "Figure 4(c): bias and variance of the semi-debiased gradient",
		Shows: "The gradient of the semi-debiased loss with respect to the generator's parameters, over the share p " +
			"of fresh images in the debiasing batch: how far its mean is from that of p = 1, which is unbiased, and " +
			"its variance over that of p = 0. A line for each generator, trained without privacy at its own p. " +
			"Without clipping; the paper does not say which.",
		Sizes: kit.Sizes("width %v, %v batches of %v, %v generators of %v steps", kit.Per{2, 4, 8, 64},
			kit.Per{4, 40, 60, 300}, kit.Per{10, 25, 50, 50},
			kit.Per{2, 3, 3, 6}, kit.Per{2, 60, 150, "20,000"}),
		Seconds:    kit.ByPreset(.5, 20, 150),
		Experiment: debiasOf,
		Grid:       debiasGrid,
		Draw:       drawDebias,
		Claims:     claimDebias,
	}
}

// DebiasParams is a generator and the batches that look at it.
type DebiasParams struct {
	P       float64     `json:"p" min:"0" max:"1" doc:"share of fresh images that the generator was trained at"`
	Hidden  int         `json:"hidden" min:"1" doc:"channels of the generator"`
	Steps   int         `json:"steps" min:"1" doc:"of training"`
	Images  int         `json:"images" min:"1" doc:"of a batch"`
	Batches int         `json:"batches" min:"2" doc:"over which bias and variance are taken"`
	Device  string      `json:"device" doc:"cpu, cuda:0 or cuda:0,tf32"`
	Data    data.Origin `json:"data,omitzero" enum:",subset,sample" doc:"files; empty: the official ones"`
}

// DebiasOut is over the p of the estimator.
type DebiasOut struct {
	P        []float64 `json:"p"`
	Bias     []float64 `json:"bias"`     // |mean G_p − mean G_1|/|mean G_1|
	Variance []float64 `json:"variance"` // tr var G_p / tr var G_0
	Data     float64   `json:"data"`     // |mean G_1 − mean of G_1 without real images|/|mean G_1|
}

var debiasOf = lab.Experiment[DebiasParams, DebiasOut]{Name: "dpsinkhorn/debias", Version: 3, Run: runDebias,
	Work: func(p DebiasParams, dev *device.Device) lab.Work {
		net := arch.DCGAN{Latent: 12, Classes: 10, Embed: 4, Hidden: p.Hidden}.Net()
		t := kit.Tally{Device: dev, Work: generatorWork(dev, net, 12, p.Steps, p.Images, p.P, 0)}
		t.Train(net, 7*p.Batches, 2*p.Images, 12) // gradients at six p, and of one without real images
		return t.Work
	}}

func debiasGrid(set lab.Setting) []DebiasParams {
	p := set.Preset
	base := DebiasParams{
		Hidden:  lab.Pick(p, 2, 4, 8, 64),
		Steps:   lab.Pick(p, 2, 60, 150, 20_000),
		Images:  lab.Pick(p, 10, 25, 50, 50),
		Batches: lab.Pick(p, 4, 40, 60, 300),
		Device:  set.Device,
		Data:    data.Choose("mnist"),
	}
	return lab.Grid(base, lab.Vary(func(p *DebiasParams, v float64) { p.P = v },
		lab.Pick(p, []float64{0, 1}, []float64{0, .4, 1}, []float64{0, .4, 1}, []float64{0, .2, .4, .6, .8, 1})...))
}

func runDebias(ctx context.Context, c *lab.Cell, p DebiasParams) (out DebiasOut, err error) {
	images, dev := lab.Must(data.MNIST(ctx, sample.From(p.Data), data.Train)), lab.Must(c.Device(p.Device))
	t := dpsinkhorn.Training{
		Net:    dpsinkhorn.Net{DCGAN: &arch.DCGAN{Latent: 12, Classes: 10, Embed: 4, Hidden: p.Hidden}},
		Loss:   dpsinkhorn.Loss{L1: 1, Fresh: p.P},
		Images: p.Images,
		Rate:   float64(p.Images) / float64(images.Len()),
		Steps:  p.Steps,
		Adam:   train.Adam{Rate: rateFor(p.Steps, 1e-4)},
	}
	made := lab.Must(t.Train(ctx, dev, images, synth.Run{Key: release.SeededKey(c.Seed),
		Progress: func(done, _ int) { c.Progress(done, p.Steps+p.Batches) }}))
	g := made.(*dpsinkhorn.Generator)
	out.P = []float64{0, .2, .4, .6, .8, 1}
	losses := make([]dpsinkhorn.Loss, len(out.P))
	for i, v := range out.P {
		losses[i] = dpsinkhorn.Loss{L1: 1, Fresh: v}
	}
	rng := c.Rand("batches")
	var sum, square, alone, unused [][]float64
	for k := range p.Batches {
		lab.Check(ctx.Err())
		y, free := someOf(dev, images, rng.Perm(images.Len())[:p.Images])
		grads, err := g.Gradients(losses, y, p.Images, rng)
		free()
		lab.Check(err)
		sum, square = accumulate(sum, square, grads)
		grads, err = g.Gradients(losses[len(losses)-1:], dpsinkhorn.Labelled{}, p.Images, rng)
		lab.Check(err)
		alone, unused = accumulate(alone, unused, grads)
		c.Progress(p.Steps+k+1, p.Steps+p.Batches)
	}
	out.Bias, out.Variance = biasVariance(sum, square, float64(p.Batches))
	last := sum[len(sum)-1]
	out.Data = floats.Distance(last, alone[0], 2) / floats.Norm(last, 2)
	return out, nil
}

// someOf is real images on a device, in [−1, 1].
func someOf(dev *device.Device, m *data.Images, at []int) (dpsinkhorn.Labelled, func()) {
	rows := m.AppendRows(nil, at)
	labels := make([]int, len(at))
	for i, v := range rows {
		rows[i] = 2*v - 1
	}
	for i, j := range at {
		labels[i] = m.Labels[j]
	}
	x := dev.From32(rows, len(at), m.Dim())
	return dpsinkhorn.Labelled{X: x, Labels: labels}, x.Free
}

func accumulate(sum, square [][]float64, grads [][]float32) (s, q [][]float64) {
	if sum == nil {
		for _, g := range grads {
			sum, square = append(sum, make([]float64, len(g))), append(square, make([]float64, len(g)))
		}
	}
	for i, g := range grads {
		for j, v := range g {
			sum[i][j] += float64(v)
			square[i][j] += float64(v) * float64(v)
		}
	}
	return sum, square
}

// biasVariance is of sums over n batches; the last p is 1 and the first 0.
func biasVariance(sum, square [][]float64, n float64) (bias, variance []float64) {
	last := sum[len(sum)-1]
	for i, s := range sum {
		v := 0.
		for j, q := range square[i] {
			v += q - s[j]*s[j]/n
		}
		bias = append(bias, floats.Distance(s, last, 2)/floats.Norm(last, 2))
		variance = append(variance, v)
	}
	floats.Scale(1/variance[0], variance[1:])
	variance[0] = 1
	return bias, variance
}

// reversedShares is the null in which the estimator of p stands at 1 − p.
var reversedShares = kit.Null("estimators at 1 − p", debiasOf, func(_ DebiasParams, v *DebiasOut) {
	slices.Reverse(v.Bias)
	slices.Reverse(v.Variance)
})

// noData is the null in which the loss has no real images.
var noData = kit.Null("no real images in the loss", debiasOf, func(_ DebiasParams, v *DebiasOut) { v.Data = .5 })

func drawDebias(v lab.View[DebiasParams, DebiasOut]) (lab.Exhibit, error) {
	cells := v.Cells
	var bias, variance []plot.Plotter
	for k, c := range cells {
		l := style.Line{Name: fmt.Sprintf("trained at p = %g", c.Params.P), Series: k, Marks: true, X: c.Value.P}
		l.Y = c.Value.Bias
		bias = append(bias, l)
		l.Y = c.Value.Variance
		variance = append(variance, l)
	}
	x := style.Axis{Label: "p"}
	return lab.Exhibit{Pictures: kit.Wide(style.Panels{Items: []style.Drawer{
		style.Plot{Title: "bias", X: x, Y: style.Axis{Label: "distance to the mean of p = 1, relative"}, Items: bias},
		style.Plot{Title: "variance", X: x, Y: style.Axis{Label: "over that of p = 0"}, Items: variance},
	}}, v.Badge(fmt.Sprintf("width %d, %d batches", cells[0].Params.Hidden,
		cells[0].Params.Batches), sample.Note(cells[0].Params.Data, "mnist")),
		"Bias and variance of the gradient over the share of fresh images. Means are over finitely many batches, so "+
			"that the bias seen at small p holds some of their noise.")}, nil
}

func claimDebias(view lab.View[DebiasParams, DebiasOut]) (out []lab.Claim, err error) {
	few := kit.Smoke(view.Preset, "4 batches", "")
	narrow := lab.Pick(view.Preset, "4 batches", "40 batches of 25 by a generator of width 4", "", "")
	for _, c := range view.Cells {
		v, what := c.Value, fmt.Sprintf("trained at p = %g: ", c.Params.P)
		off := 0.
		for i, p := range v.P {
			off = max(off, math.Abs(v.Bias[i]/v.Bias[0]-(1-p)))
		}
		out = append(out,
			kit.AtMostUnless(few, what+"largest distance of the bias over that at p = 0 from 1 − p",
				"§5: as p rises, bias falls; a share p of the debiasing batch is fresh", off, .2,
				"the step from one p to the next: a bias that p does not change is .8 and more away, and one of no "+
					"data is noise", reversedShares),
			kit.AtLeastUnless(narrow, what+"variance at p = 1 over that at p = 0",
				"§5: as p rises, variance rises", v.Variance[len(v.P)-1], 1.05,
				"more than the sampling error of a variance over hundreds of parameters and tens of batches",
				reversedShares),
			kit.AtLeastUnless(few, what+"what real images add to the mean gradient, relative",
				"definition 4.3: 2W(X, Y) pulls towards data", v.Data, .8, "without their term it is the noise of "+
					"two means over batches, half of the gradient and less", noData))
	}
	return out, nil
}
