package dpsinkhorn

import (
	"context"
	"fmt"
	"math"

	"coupling/data"
	"coupling/data/sample"
	"coupling/dp"
	"coupling/dp/synth"
	"coupling/dp/synth/dpsinkhorn"
	"coupling/dp/synth/semidual"
	"coupling/lab"
	"coupling/lab/device"
	"coupling/lab/eval/inception"
	"coupling/lab/nn/arch"
	"coupling/lab/nn/train"

	"gonum.org/v1/gonum/mat"
)

// Recipe is algorithm 1 with the paper's generator and the clip that holds. A step makes Images images beside the fresh ones.
type Recipe struct {
	Hidden     int     `json:"hidden" min:"0" doc:"width of the DCGAN"`
	Images     int     `json:"images" min:"0" doc:"generated images of a step"`
	Batch      int     `json:"batch" min:"0" doc:"private images expected in a step"`
	Steps      int     `json:"steps" min:"0" doc:"of training"`
	P          float64 `json:"p" min:"0" max:"1" doc:"share of fresh images, which remove the bias"`
	L1         float64 `json:"l1" min:"0" doc:"weight of |x − y| beside its square in the cost"`
	NoSquare   bool    `json:"no_square" doc:"cost without the square"`
	Clip       float64 `json:"clip" min:"0" doc:"Δ, to which gradients are clipped"`
	Parameters bool    `json:"parameters" doc:"perturbs the parameters' gradient, not that at the images"`
	Low        int     `json:"low" min:"0" doc:"frequencies that are released; 0: every pixel, and classes at random, as published"`
	Rate       float64 `json:"rate" min:"0" doc:"learning rate"`
	SGD        bool    `json:"sgd" doc:"SGD with momentum .9, rather than Adam"`
	Fall       bool    `json:"fall" doc:"rate to 0 along half a cosine, rather than constant"`
	Epsilon    float64 `json:"epsilon" min:"0" doc:"ε that holds; 0: no noise, and no privacy"`
}

// poisson is the rate of private images.
func (r Recipe) poisson(images int) float64 { return min(float64(r.Batch)/float64(images), 1) }

// training is the recipe on images of a shape, with a noise multiplier.
func (r Recipe) training(images *data.Images, sigma float64) dpsinkhorn.Training {
	t := dpsinkhorn.Training{
		Net:       dpsinkhorn.Net{DCGAN: &arch.DCGAN{Latent: 12, Classes: 10, Embed: 4, Hidden: r.Hidden}},
		Loss:      dpsinkhorn.Loss{L1: r.L1, NoSquare: r.NoSquare, Fresh: r.P},
		Sanitiser: dpsinkhorn.WholeBatch{Bound: r.Clip, NoiseMultiplier: sigma}, Parameters: r.Parameters,
		Images: r.Images, Rate: r.poisson(images.Len()), Steps: r.Steps, Adam: train.Adam{Rate: r.Rate, Decay: 2e-5},
	}
	if r.SGD {
		t.SGD = &train.SGD{Rate: r.Rate, Momentum: .9, Decay: 2e-5}
	}
	if r.Fall {
		t.Schedule = train.Cosine(r.Steps, 0)
	}
	if r.Low > 0 {
		t.Project, t.Turns = lowFrequencies(images, r.Low), true
	}
	return t
}

// lowFrequencies are pixels × size: the lowest cosine waves, orthonormal.
func lowFrequencies(images *data.Images, size int) *mat.Dense {
	_, c, h, w := images.Shape()
	one := mat.NewDense(c*size, c*size, nil)
	for i := range c * size {
		one.Set(i, i, 1)
	}
	b := semidual.Basis{C: c, H: h, W: w, Size: size}
	return mat.DenseCopyOf(b.Decode(one).T())
}

// train makes the generator.
func (r Recipe) train(ctx context.Context, dev *device.Device, images *data.Images, run synth.Run) (draw sampler, sigma float64, g dp.Guarantee, err error) {
	t := r.training(images, 0)
	if r.Epsilon > 0 {
		p, err := synth.PublicOf(images)
		if err != nil {
			return nil, 0, g, err
		}
		if t, g, err = synth.Calibrate(ctx, t, p, dp.Budget{Epsilon: r.Epsilon, Delta: delta}); err != nil {
			return nil, 0, g, err
		}
		sigma = t.Sanitiser.(dpsinkhorn.WholeBatch).NoiseMultiplier
	}
	gen, err := t.Train(ctx, dev, images, run)
	if err != nil {
		return nil, 0, g, err
	}
	return gen.Sample, sigma, g, nil
}

// RecipeParams is a recipe on a data set, and how its images are judged.
type RecipeParams struct {
	Fashion   bool        `json:"fashion" doc:"Fashion-MNIST, else MNIST"`
	Most      int         `json:"most" min:"0" doc:"training and test images; 0: all"`
	Recipe    Recipe      `json:"recipe"`
	Judge     Judge       `json:"judge"`
	Synthetic int         `json:"synthetic" min:"1" doc:"synthetic images that are judged"`
	Device    string      `json:"device" doc:"where networks run: cpu, cuda:0 or cuda:0,tf32"`
	Data      data.Origin `json:"data,omitzero" enum:",subset,sample" doc:"files: \"\" the official ones, or fewer of them"`
}

// RecipeOut is what came of it. Artifact: images.npy, the first rows, the classes in turn.
type RecipeOut struct {
	Judged     Judgement `json:"judged"`
	Epsilon    float64   `json:"epsilon"` // of what ran; 0 without noise, which has none
	Kind       string    `json:"kind"`
	Multiplier float64   `json:"multiplier"`
	Seconds    float64   `json:"seconds"` // of training
}

var recipeOf = lab.Experiment[RecipeParams, RecipeOut]{Name: "dpsinkhorn/recipe", Version: 1, Run: runRecipe}

// keptImages is ten of each class.
const keptImages = 100

func runRecipe(ctx context.Context, c *lab.Cell, p RecipeParams) (out RecipeOut, err error) {
	train, test, err := images(ctx, p.Fashion, p.Most, p.Data)
	if err != nil {
		return out, err
	}
	made := making{device: p.Device, train: train, test: test, n: max(p.Synthetic, keptImages), shown: first(keptImages), judge: p.Judge}
	made.learn = func(dev *device.Device, r synth.Run) (draw sampler, g dp.Guarantee, err error) {
		draw, out.Multiplier, g, err = p.Recipe.train(ctx, dev, train, r)
		return draw, g, err
	}
	judged, g, seconds, err := made.run(ctx, c)
	if out.Judged, out.Seconds = judged, seconds; out.Multiplier > 0 {
		out.Epsilon, out.Kind = g.Epsilon, g.Kind.String()
	}
	return out, err
}

// baseRecipe is what the figures about the recipe vary: the paper's at its preset, and what two cores can learn something
// with at the smaller ones. At smoke and quick only logistic regression and LeNet look.
func baseRecipe(set lab.Setting) RecipeParams {
	p, from := set.Preset, data.Sample // at smoke, which reads 1000 images
	if p != lab.Smoke {
		from = data.Choose("mnist", "fashion-mnist")
	}
	return RecipeParams{
		Most: lab.Pick(p, 1000, 0, 0, 0), Synthetic: lab.Pick(p, 200, 500, 1000, 60_000), Device: set.Device, Data: from,
		Judge: Judge{Width: lab.Pick(p, 4, 8, 8, 32), Epochs: lab.Pick(p, 1, 10, 15, 0), Inception: inception.Chosen(), LeNet: lab.Pick(p, 200, 500, 1000, 60_000), Images: lab.Pick(p, 100, 500, 1000, 10_000), Quick: p == lab.Smoke || p == lab.Quick},
		Recipe: Recipe{Hidden: lab.Pick(p, 2, 4, 4, 64), Images: lab.Pick(p, 10, 10, 10, 50), Batch: lab.Pick(p, 10, 50, 50, 50), Steps: lab.Pick(p, 3, 200, 600, 160_000), P: .4, L1: 1, Clip: .5,
			Low: lab.Pick(p, 49, 16, 49, 0), Rate: lab.Pick(p, 5e-4, 2e-3, 5e-4, 1e-4), Fall: p != lab.Paper, Epsilon: 10},
	}
}

// bestSizes says what quickBest does.
const bestSizes = "6000 steps of 10 images, width 4, 49 frequencies released"

// quickBest is the best sound setting that was found for a few minutes of two cores: few images of few coordinates, so that the
// noise is short; many steps on small batches, whose noise multiplier hardly grows with their number; |x−y|² alone, whose
// gradient is low frequencies mostly; and no debiasing. It learns one image a class, near the class's mean, and no diversity.
func quickBest(eps float64) Recipe {
	return Recipe{Hidden: 4, Images: 10, Batch: 50, Steps: 6000, Clip: .5, Low: 49, Rate: 5e-4, Fall: true, Epsilon: eps}
}

// bestRecipe is quickBest at the presets quick and full and the base of the other two.
func bestRecipe(set lab.Setting, eps float64) Recipe {
	if set.Preset == lab.Quick || set.Preset == lab.Full {
		return quickBest(eps)
	}
	r := baseRecipe(set).Recipe
	r.Epsilon = eps
	return r
}

// tooShort says why the paper's numbers are not expected at a preset.
func tooShort(p lab.Preset) string {
	return lab.Pick(p, "3 steps on 1000 images", "200 steps rather than 160,000, by a generator of width 4", "600 steps rather than 160,000, by a generator of width 4", "")
}

// untrained says why a preset is not asked whether it learns at ε = 10.
func untrained(p lab.Preset) string { return lab.Pick(p, "3 steps", "200 steps", "", "") }

// soundness claims that nobody spent more than was asked for.
func soundness(cells []lab.Result[RecipeParams, RecipeOut]) lab.Claim {
	out := lab.Claim{What: "largest ε of what ran over what was asked for", Source: "its accounting, δ = 1e-5", Relation: lab.AtMost, Want: 1, Why: "the budget", Null: overspent.Name}
	for _, c := range cells {
		if c.Params.Recipe.Epsilon > 0 {
			out.Got = max(out.Got, c.Value.Epsilon/c.Params.Recipe.Epsilon)
		}
	}
	return out
}

// judgedNull is the null in which change is done to what is said of every cell; best is the one that the paper takes.
func judgedNull(name string, change func(best Judgement, p RecipeParams, o *RecipeOut)) lab.Null {
	return lab.Null{Name: name, Spoil: []lab.Spoiler{lab.Spoil(recipeOf, func(cells []lab.Result[RecipeParams, RecipeOut]) {
		var best Judgement
		for _, c := range cells {
			if c.Params.Recipe.P == .4 {
				best = c.Value.Judged
			}
		}
		for i := range cells {
			change(best, cells[i].Params, &cells[i].Value)
		}
	})}}
}

// The nulls of the figures about the recipe.
var (
	// overspent has half the noise: ε is more than twice what was asked for.
	overspent = judgedNull("half the noise", func(_ Judgement, p RecipeParams, o *RecipeOut) {
		o.Multiplier, o.Epsilon = o.Multiplier/2, 2*p.Recipe.Epsilon
	})
	// chance has images that say nothing of their class: classifiers guess one of ten.
	chance = judgedNull("classes at random", func(_ Judgement, _ RecipeParams, o *RecipeOut) {
		o.Judged.Logistic, o.Judged.MLP, o.Judged.CNN, o.Judged.FD = .1, .1, .1, 1000
	})
	// alike has settings that change nothing: each cell is judged as the paper's best.
	alike = judgedNull("settings without effect", func(best Judgement, _ RecipeParams, o *RecipeOut) { o.Judged = best })
)

// recipeBadge says what was trained.
func recipeBadge(v lab.View[RecipeParams, RecipeOut]) string {
	p := v.Cells[len(v.Cells)-1].Params
	return v.Badge(fmt.Sprintf("%d steps of %d images", p.Recipe.Steps, p.Recipe.Images), sample.Note(p.Data, "mnist"))
}

// nearChance is the remark on a figure in which little is learnt: logistic regression is right on less than a fifth.
func nearChance(cells []lab.Result[RecipeParams, RecipeOut]) string {
	n := 0
	for _, c := range cells {
		if c.Value.Judged.Logistic < .2 {
			n++
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" In %d of %d cells logistic regression is right on less than 20 %%, where chance is 10 %%: next to nothing was learnt there.", n, len(cells))
}

// spent prints an ε that holds, rounded upwards, and what it is.
func spent(eps float64, kind string) string { return dp.FormatUp(eps, 3) + " (" + kind + ")" }

// guarantee says what holds of a cell.
func (o RecipeOut) guarantee() string {
	if o.Multiplier == 0 {
		return "no privacy"
	}
	return spent(o.Epsilon, o.Kind)
}

// signal is the most that the sum of all clipped gradients can be over what the noise of their sum is: T·Δ of T steps that all
// pull one way, over 2Δσ√(T·n·k) in k coordinates of each of n images, which is √T/(2σ√(nk)).
func (r Recipe) signal(sigma float64) string {
	if sigma == 0 || r.Parameters {
		return ""
	}
	k := r.Low
	if k == 0 {
		k = 784
	}
	return fmt.Sprintf("%.2f", math.Sqrt(float64(r.Steps)/float64(r.Images*k))/(2*sigma))
}

// chosenNote is for every number of quickBest.
const chosenNote = "The small recipe was chosen among some 25 settings by the accuracy on MNIST's test images of one training each, which no ε counts: its accuracy there is flattered by the choice, and the order of settings that are a few points apart is not known."

const signalNote = "Signal over noise is √T/(2σ√(nk)) of T steps on k coordinates of n images: the length of the sum of all clipped gradients if they all pulled one way, over that of the sum of the noise. " +
	"Where it is below 1, nothing is learnt but what the network's weights share between images and pixels."
