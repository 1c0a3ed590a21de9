package amplification

import (
	"context"
	"fmt"
	"math"
	"strings"

	"coupling/data"
	"coupling/data/sample"
	"coupling/dp"
	"coupling/dp/release"
	"coupling/dp/sgd"
	"coupling/figures/internal/kit"
	"coupling/figures/style"
	"coupling/lab"
	"coupling/lab/device"
	"coupling/lab/nn"
	"coupling/lab/nn/arch"
	"coupling/lab/nn/train"

	"gonum.org/v1/gonum/stat"
)

// RecipeParams is DP-SGD on digits to a budget.
type RecipeParams struct {
	Features string      `json:"features" enum:"pixels,scattering" doc:"pixels (a CNN) or scattering (a linear layer)"`
	Epsilon  float64     `json:"epsilon" min:">0" doc:"ε of the budget"`
	Delta    float64     `json:"delta" min:">0" max:"<1" doc:"δ of the budget"`
	Train    int         `json:"train" min:"1" max:"60000" doc:"first images of the training set"`
	Test     int         `json:"test" min:"1" doc:"test images at most"`
	Held     bool        `json:"held" doc:"test on the last 10,000 training images: to choose settings"`
	Batch    int         `json:"batch" min:"1" doc:"expected size of Poisson batches"`
	Steps    int         `json:"steps" min:"1" doc:"steps of descent with momentum 0.9"`
	Rate     float64     `json:"rate" min:">0" doc:"learning rate"`
	Clip     float64     `json:"clip" min:">0" doc:"norm to which gradients of an example are clipped"`
	Device   string      `json:"device" doc:"where networks run: cpu, cuda:0 or cuda:0,tf32"`
	Data     data.Origin `json:"data,omitzero" enum:",subset,sample" doc:"files: \"\" the official ones, or fewer"`
}

// RecipeOut is the accuracy on test images, the noise that the budget asked for, and that of the steps since the
// training was begun or resumed.
type RecipeOut struct {
	Accuracy float64   `json:"accuracy"`
	Noise    float64   `json:"noise"`
	Released kit.Noise `json:"released"`
	Tested   int       `json:"tested"`
	Seconds  float64   `json:"seconds"` // CPU seconds of the process in all
}

var recipeOf = lab.Experiment[RecipeParams, RecipeOut]{
	Name: "amplification/recipe", Version: 2, Run: runRecipe,
	Work: func(p RecipeParams, dev *device.Device) lab.Work {
		t := kit.Tally{Device: dev}
		if p.Features == "pixels" {
			t.Train(p.net(), p.Steps, p.Batch, 1, 28, 28)
		} else {
			t.Evaluate(arch.Scattering(), 1, p.Train, 1, 28, 28)
			t.Train(p.net(), p.Steps, p.Batch, scattered)
		}
		return t.Work
	},
}

const scattered = 81 * 7 * 7

// net is the network: that of Tramèr and Boneh for pixels, with tanh, or a linear layer.
func (p RecipeParams) net() nn.Layer {
	if p.Features != "pixels" {
		return &nn.Dense{In: scattered, Out: 10}
	}
	pooled := func() nn.Layer { return &nn.MaxPool{Window: device.SquareWindow(2, 1, 0)} }
	return nn.Seq(
		&nn.Affine{By: .5, Plus: .5}, // from [−1, 1]
		&nn.Conv2D{In: 1, Out: 16, Window: device.SquareWindow(8, 2, 2)}, nn.Tanh(), pooled(),
		&nn.Conv2D{In: 16, Out: 32, Window: device.SquareWindow(4, 2, 0)}, nn.Tanh(), pooled(), nn.Flatten(),
		&nn.Dense{In: 512, Out: 32}, nn.Tanh(), &nn.Dense{In: 32, Out: 10},
	)
}

// inputs are images as the network sees them.
func (p RecipeParams) inputs(dev *device.Device, m *data.Images) (sgd.Inputs, error) {
	if p.Features == "pixels" {
		return sgd.Pixels(m), nil
	}
	fixed := nn.Seq(&nn.Affine{By: .5, Plus: .5}, arch.Scattering())
	fixed.Init(dev, device.Float32, nil)
	defer nn.Free(fixed.Params())
	return sgd.Features(fixed, sgd.Pixels(m), 27)
}

func runRecipe(ctx context.Context, c *lab.Cell, p RecipeParams) (out RecipeOut, err error) {
	began := kit.ProcessSeconds()
	images := lab.Must(data.MNIST(ctx, sample.From(p.Data), data.Train))
	test := images.Slice(max(images.Len()-10_000, 0), images.Len())
	if !p.Held {
		test = lab.Must(data.MNIST(ctx, sample.From(p.Data), data.Test))
	}
	dev := lab.Must(c.Device(p.Device))
	images, test = images.Slice(0, p.Train), test.Slice(0, min(p.Test, test.Len()))
	x := lab.Must(p.inputs(dev, images))
	t := sgd.Training{
		Net:       p.net(),
		Objective: sgd.Classification{X: x, Labels: images.Labels},
		Clip:      p.Clip,
		Rate:      float64(p.Batch) / float64(p.Train),
		Batch:     float64(p.Batch),
		Steps:     p.Steps,
		Optimiser: train.SGD{Rate: p.Rate, Momentum: .9},
		Dir:       lab.Must(c.Scratch()),
	}
	t.Trace = func(done int) error {
		c.Progress(done, p.Steps)
		return listen(&out.Released, t)
	}
	t, _, err = t.Calibrate(ctx, dp.Budget{Epsilon: p.Epsilon, Delta: p.Delta})
	lab.Check(err)
	lab.Check(t.Run(ctx, dev, release.SeededKey(c.Seed)))
	out.Accuracy = lab.Must(accuracy(t.Net, lab.Must(p.inputs(dev, test)), test.Labels))
	out.Noise, out.Tested, out.Seconds = t.NoiseMultiplier, test.Len(), kit.ProcessSeconds()-began
	return out, nil
}

// publishedRecipes are accuracies in percent on MNIST's test images at ε about 3, δ = 1e-5.
var publishedRecipes = []struct {
	what, source string
	percent      float64
}{
	{"linear layer on scattering features", "Tramèr and Boneh 2021, Table 1", 98.7},
	{"CNN with tanh", "Tramèr and Boneh 2021, Table 1", 98.1},
	{"CNN of the MNIST example", "Opacus, README of its example, ε = 3.01, ten runs ± 0.21", 96.78},
}

// Recipes is what recipes of the literature are worth here.
func Recipes() lab.Study[RecipeParams, RecipeOut] {
	return lab.Study[RecipeParams, RecipeOut]{
		Name:  "amplification/recipes",
		Title: "Recipes of DP-SGD on MNIST at ε = 3",
		Shows: "Accuracy on test images of the CNN of Tramèr and Boneh and of a linear layer on the scattering " +
			"transform, a fixed network, trained by DP-SGD at ε = 3, δ = 1e-5, with the least noise that the exact " +
			"accountant allows; and the processor time. Three seeds, beside published numbers.",
		Sizes: kit.Sizes("%v digits; %v", kit.Per{"500", "10,000", "60,000", "60,000"},
			kit.Per{"some steps, one seed", "a linear layer at ε = 18 alone, one seed",
				"400 steps of the linear layer, 4687 of the CNN; three seeds", "the same"}),
		Seconds:    map[lab.Preset]float64{lab.Smoke: 2, lab.Quick: 20, lab.Full: 1400},
		Experiment: recipeOf,
		Grid:       recipeGrid,
		Seeds:      lab.Replicates(1, 1, 3, 3),
		Draw:       drawRecipes,
		Claims:     claimRecipes,
	}
}

// recipeGrid is both recipes; at quick the linear layer alone, at an ε that is larger as there are fewer images.
func recipeGrid(set lab.Setting) (out []RecipeParams) {
	n := sample.Most(data.Choose("mnist"), "mnist", lab.Pick(set.Preset, 500, 10_000, 60_000, 60_000))
	linear := RecipeParams{
		Features: "scattering",
		Epsilon:  3 * 60_000 / float64(n),
		Delta:    1e-5,
		Train:    n,
		Test:     lab.Pick(set.Preset, 200, 5000, 10_000, 10_000),
		Batch:    lab.Pick(set.Preset, 100, 2000, 4096, 4096),
		Steps:    lab.Pick(set.Preset, 4, 60, 400, 400),
		Rate:     lab.Pick(set.Preset, 32, 32, 320., 320),
		Clip:     lab.Pick(set.Preset, 1, 1, .1, .1),
		Device:   set.Device,
		Data:     data.Choose("mnist"),
	}
	out = append(out, linear)
	if set.Preset == lab.Quick {
		return out
	}
	cnn := linear
	cnn.Features, cnn.Batch, cnn.Rate, cnn.Clip = "pixels", 512, .5, .1
	cnn.Batch, cnn.Steps = min(512, n/3), lab.Pick(set.Preset, 7, 0, 4687, 4687)
	return append(out, cnn)
}

// learntBy names what learns.
func (p RecipeParams) learntBy() string {
	if p.Features == "pixels" {
		return publishedRecipes[1].what
	}
	return publishedRecipes[0].what
}

type recipeView = lab.View[RecipeParams, RecipeOut]

// recipeRow is a recipe over all seeds.
type recipeRow struct {
	p                               RecipeParams
	seeds                           int
	mean, deviation, noise, seconds float64
}

// epsilon is that of the training by its noise; infinite where there is none.
func (r recipeRow) epsilon() float64 {
	if !(r.noise > 0) {
		return math.Inf(1)
	}
	rate := min(1, float64(r.p.Batch)/float64(r.p.Train)) // no batch has more than all images
	training := dp.SGD(r.noise, rate, r.p.Steps)
	g, err := dp.Epsilon(context.Background(), training, dp.Relation{}, r.p.Delta)
	lab.Check(err)
	return g.Epsilon
}

func recipeRows(v recipeView) []recipeRow {
	return kit.Each(kit.Groups(v.Cells, func(c lab.Result[RecipeParams, RecipeOut]) RecipeParams { return c.Params }),
		func(run []lab.Result[RecipeParams, RecipeOut]) recipeRow {
			r := recipeRow{p: run[0].Params, seeds: len(run), noise: run[0].Value.Noise}
			var all []float64
			for _, c := range run {
				all = append(all, 100*c.Value.Accuracy)
				r.seconds += c.Value.Seconds / float64(len(run))
			}
			if r.mean = stat.Mean(all, nil); len(all) > 1 {
				r.deviation = stat.StdDev(all, nil)
			}
			return r
		})
}

func drawRecipes(v recipeView) (lab.Exhibit, error) {
	table := kit.Table("recipes",
		"Accuracy on MNIST's test images, mean ± standard deviation over seeds, and CPU seconds of a training with "+
			"its features; published numbers below.",
		"learns by | ε | images | steps | σ | accuracy (%) | seeds | CPU s")
	var steps []string
	plot := style.Plot{
		X: style.Axis{Label: "CPU seconds of a training", Log: true},
		Y: style.Axis{Label: "accuracy on test digits", Unit: "%"},
	}
	for i, r := range recipeRows(v) {
		table.Rows = append(table.Rows, kit.Row("%s | %g | %s | %s | %.3g | %.2f ± %.2f | %v | %.0f", r.p.learntBy(),
			r.p.Epsilon, grouped(r.p.Train), grouped(r.p.Steps), r.noise, r.mean, r.deviation, r.seeds, r.seconds))
		steps = append(steps, grouped(r.p.Steps))
		plot.Items = append(plot.Items, style.Points{
			Name:   r.p.learntBy(),
			X:      []float64{r.seconds},
			Y:      []float64{r.mean},
			Series: i,
			Radius: 3,
		})
	}
	for _, p := range publishedRecipes {
		table.Rows = append(table.Rows,
			[]string{p.what, "3", "60,000", "", "", fmt.Sprintf("%g", p.percent), p.source, ""})
		plot.Items = append(plot.Items, style.Rule{At: p.percent, Label: p.what + ", published", Start: true})
	}
	p := v.Cells[0].Params
	sizes := fmt.Sprintf("%s digits, %s steps", grouped(p.Train), strings.Join(steps, " and "))
	return lab.Exhibit{
		Pictures: kit.Wide(plot, v.Badge(sizes, sample.Note(p.Data, "mnist")),
			"Points: here. Lines: published, on 60,000 digits at ε = 3."),
		Tables: []lab.Table{table},
		Notes: []string{"Settings of the linear layer were chosen on training images held out, those of the CNN are " +
			"published. Features have groups of three channels standardised, image by image, as Tramèr and Boneh's; " +
			"the transform has means over windows for a Gaussian. CPU seconds are the process's while the training " +
			"ran, so that they count too much where others ran beside it."},
	}, nil
}

// guessedDigits is the null of trainings that learnt nothing.
var guessedDigits = kit.Null("a classifier at chance", recipeOf,
	func(_ RecipeParams, v *RecipeOut) { v.Accuracy = .1 })

// quietDigits is the null of trainings with a tenth of the noise.
var quietDigits = kit.Null("a tenth of the noise", recipeOf, func(_ RecipeParams, v *RecipeOut) { v.Noise /= 10 })

// muteDigits is the null of trainings that release no noise.
var muteDigits = kit.Null("no noise", recipeOf, func(_ RecipeParams, v *RecipeOut) { v.Released.Squares = 0 })

// claimRecipes asks the project's goals, that something is learnt, and that the noise is that of the budget.
func claimRecipes(v recipeView) (out []lab.Claim, err error) {
	fewer := lab.Pick(v.Preset, "500 digits and a few steps", "10,000 digits at a larger ε",
		sample.Note(v.Cells[0].Params.Data, "mnist"), sample.Note(v.Cells[0].Params.Data, "mnist"))
	for _, r := range recipeRows(v) {
		want := map[string]float64{"pixels": 98, "scattering": 98.3}[r.p.Features]
		out = append(out,
			kit.AtLeastUnless(fewer, r.p.learntBy()+": accuracy at ε = 3, in percent, at least",
				"the project's goal", r.mean, want, "a comparison", guessedDigits),
			kit.AtLeastUnless(kit.Smoke(v.Preset, "500 digits and a few steps", ""),
				r.p.learntBy()+": accuracy, in percent, at least", "it learns", r.mean, 80,
				"four times the errors of a training on a sixth of the images", guessedDigits),
			kit.Near(r.p.learntBy()+": ε of the noise over that of the budget",
				"dp.Epsilon, which did not choose it", r.epsilon()/r.p.Epsilon, 1, 1e-3,
				"a search to .1 % of ε or less", quietDigits))
	}
	seen := kit.Each(v.Cells, func(c lab.Result[RecipeParams, RecipeOut]) kit.Noise { return c.Value.Released })
	return append(out, kit.AsAccounted("", releasedSource, seen, releasedWhy, muteDigits)), nil
}
