package dpsinkhorn

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"coupling/data"
	"coupling/data/sample"
	"coupling/dp"
	"coupling/dp/rdp"
	"coupling/dp/synth"
	"coupling/dp/synth/dpsinkhorn"
	"coupling/figures/internal/kit"
	"coupling/lab"
	"coupling/lab/device"
	"coupling/lab/nn"
	"coupling/lab/nn/arch"
	"coupling/lab/nn/train"
	"coupling/score/eval/inception"
)

// Recipe is algorithm 1 with the clip that holds, or as it is printed. A step makes Images images
// beside the fresh ones.
type Recipe struct {
	Side       int     `json:"side" min:"0" doc:"pixels of a side of small images by dense layers; 0: a DCGAN"`
	Hidden     int     `json:"hidden" min:"0" doc:"width of the DCGAN or of the dense layers"`
	Images     int     `json:"images" min:"0" doc:"generated images of a step"`
	Batch      int     `json:"batch" min:"0" doc:"private images expected in a step"`
	Steps      int     `json:"steps" min:"0" doc:"of training"`
	P          float64 `json:"p" min:"0" max:"1" doc:"share of fresh images, which remove the bias"`
	L1         float64 `json:"l1" min:"0" doc:"weight of |x − y| beside its square in the cost"`
	NoSquare   bool    `json:"no_square" doc:"cost without the square"`
	Clip       float64 `json:"clip" min:"0" doc:"Δ, to which gradients are clipped"`
	Parameters bool    `json:"parameters" doc:"perturbs the parameters' gradient, not that at the images"`
	Rate       float64 `json:"rate" min:"0" doc:"learning rate"`
	SGD        bool    `json:"sgd" doc:"SGD with momentum .9, rather than Adam"`
	Fall       bool    `json:"fall" doc:"a rate that rises for a tenth, then falls by a cosine"`
	Epsilon    float64 `json:"epsilon" min:"0" doc:"ε that holds, of the whole-batch clip; 0: no noise, or Rows"`
	Rows       float64 `json:"rows,omitempty" min:"0" doc:"σ of rows as printed; 0: the whole batch"`
}

// poisson is the rate of private images.
func (r Recipe) poisson(images int) float64 { return min(float64(r.Batch)/float64(images), 1) }

// training is the recipe on so many images of the size that it makes.
func (r Recipe) training(images int) dpsinkhorn.Training {
	t := dpsinkhorn.Training{
		Net:       dpsinkhorn.Net{DCGAN: &arch.DCGAN{Latent: 12, Classes: 10, Embed: 4, Hidden: r.Hidden}},
		Loss:      dpsinkhorn.Loss{L1: r.L1, NoSquare: r.NoSquare, Fresh: r.P},
		Sanitiser: dpsinkhorn.WholeBatch{Bound: r.Clip}, Parameters: r.Parameters, Turns: r.Side > 0,
		Images: r.Images, Rate: r.poisson(images), Steps: r.Steps, Adam: train.Adam{Rate: r.Rate, Decay: 2e-5},
	}
	if r.Side > 0 {
		t.Net = dpsinkhorn.Net{MLP: &dpsinkhorn.MLP{Latent: 4, Embed: 16, Hidden: []int{r.Hidden, r.Hidden}}}
		if r.Epsilon == 0 && r.Rows == 0 {
			t.Net.MLP.Output = .01
		}
	}
	if r.Rows > 0 {
		t.Sanitiser = dpsinkhorn.PerRow{Bound: r.Clip, NoiseMultiplier: r.Rows}
	}
	if r.SGD {
		t.SGD = &train.SGD{Rate: r.Rate, Momentum: .9, Decay: 2e-5}
	}
	if r.Fall {
		rise := max(r.Steps/10, 1)
		t.Schedule = train.Warmup(rise, train.Cosine(r.Steps-rise, 0))
	}
	return t
}

// work is that of a training and of so many images made.
func (r Recipe) work(dev *device.Device, images int) lab.Work {
	net, inputs := nn.Layer(arch.DCGAN{Latent: 12, Classes: 10, Embed: 4, Hidden: r.Hidden}.Net()), 12
	if r.Side > 0 { // the class's embedding comes with the code
		net, inputs = arch.MLP{Sizes: []int{20, r.Hidden, r.Hidden, r.Side * r.Side}}.Net(), 20
	}
	return generatorWork(dev, net, inputs, r.Steps, r.Images, r.P, images)
}

// generatorWork is that of steps of so many images and a share of fresh ones. Not counted are
// classifiers, DP-MERF and DP-SGD, which take a fraction of it.
func generatorWork(dev *device.Device, net nn.Layer, inputs, steps, images int, fresh float64, made int) lab.Work {
	t := kit.Tally{Device: dev}
	if steps > 0 {
		t.Train(net, steps, images+int(fresh*float64(images)), inputs)
		t.Evaluate(net, 1, made, inputs)
	}
	return t.Work
}

// cost is what a training spent.
type cost struct {
	dp.Guarantee         // that holds
	sigma        float64 // noise multiplier
	published    float64 // ε of rows by the paper's accounting, which is not justified
	released     kit.Noise
}

// releaseEvery is how many steps lie between two whose releases are looked at.
const releaseEvery = 100

// watch has a training, if it has noise, report its releases.
func watch(seen *kit.Noise, t *dpsinkhorn.Training) {
	if t.Sanitiser == nil || t.Sanitiser.Noise() == 0 {
		return
	}
	noise := t.Sanitiser.Noise()
	t.Trace = func(step int, a *device.Array) {
		if step%releaseEvery == 0 {
			seen.Add(lab.Must(a.Float64s()), noise)
		}
	}
}

// train makes the generator, with the least noise whose ε at δ is Epsilon or with that of Rows.
func (r Recipe) train(ctx context.Context, dev *device.Device, images *data.Images, delta float64,
	run synth.Run) (draw sampler, spent cost) {
	_, _, h, w := images.Shape()
	if r.Side > 0 {
		images = lab.Must(images.Resize(r.Side, r.Side, data.Bilinear))
	}
	t := r.training(images.Len())
	switch {
	case r.Rows > 0:
		row := t.Sanitiser.(dpsinkhorn.PerRow)
		spent.sigma = r.Rows
		spent.Guarantee = lab.Must(dp.EpsilonBy(ctx, rdp.Accountant{}, row.Event(t.Images, t.Rate, t.Steps),
			dp.Relation{}, delta))
		spent.published = lab.Must(dp.EpsilonBy(ctx, rdp.Accountant{}, row.Published(t.Images, t.Rate, t.Steps),
			dp.Relation{}, delta)).Epsilon
	case r.Epsilon > 0:
		var err error
		t, spent.Guarantee, err = synth.Calibrate(ctx, t, lab.Must(synth.PublicOf(images)),
			dp.Budget{Epsilon: r.Epsilon, Delta: delta})
		lab.Check(err)
		spent.sigma = t.Sanitiser.(dpsinkhorn.WholeBatch).NoiseMultiplier
	}
	watched := new(kit.Noise)
	watch(watched, &t)
	gen := lab.Must(t.Train(ctx, dev, images, run))
	spent.released = *watched
	return func(rng *rand.Rand, n int) (*data.Images, error) {
		m, err := gen.Sample(rng, n)
		if err != nil || r.Side == 0 {
			return m, err
		}
		return m.Resize(h, w, data.Bilinear)
	}, spent
}

// recipeFor is the paper's method on a data set: with the clip that holds at ε, or for ε = 0 without noise, which the
// paper does by
// batches of 500. At the smaller presets it is what two cores can learn something with. Settings there were chosen on
// 10,000
// training digits that the trainings, some 50 of one key each, had not seen: no test image chose one.
func recipeFor(set lab.Setting, fashion bool, eps float64) Recipe {
	p := set.Preset
	r := Recipe{
		Side: lab.Pick(p, 7, 7, 7, 0), Hidden: kit.Smoke(p, 8, 64), Images: lab.Pick(p, 10, 20, 20, 50),
		Batch: lab.Pick(p, 10, 100, 100, 50), Steps: lab.Pick(p, 3, 3000, 20_000, 160_000), P: .4, L1: 1, Clip: .5,
		Rate: lab.Pick(p, 3e-3, 3e-3, 1.7e-3, 1e-4), Fall: p != lab.Paper, Epsilon: eps,
	}
	if eps == 0 {
		r.Side, r.Hidden = lab.Pick(p, 7, 14, 14, 0), lab.Pick(p, 8, 128, 128, 64)
		r.Images, r.Batch = lab.Pick(p, 10, 50, 50, 500), lab.Pick(p, 10, 200, 200, 500)
		r.Steps, r.Rate = lab.Pick(p, 3, 600, 2000, 160_000), lab.Pick(p, 3e-3, 5e-3, 5e-3, 1e-4)
	}
	if fashion {
		r.L1 = 3
		if p == lab.Paper {
			r.Rate = 1e-5
			if eps > 0 {
				r.Steps = stepsAt(r.Steps, 1.9)
			}
		}
	}
	return r
}

// recipeParams is a cell of the figures about the recipe. At smoke and quick only logistic regression and LeNet look.
func recipeParams(set lab.Setting, fashion bool, eps float64) Params {
	p := set.Preset
	c := Params{
		Most: kit.Smoke(p, 1000, 0), Synthetic: lab.Pick(p, 200, 500, 1000, 60_000), Device: set.Device,
		Judge: Judge{
			Width: lab.Pick(p, 4, 8, 8, 32), Epochs: lab.Pick(p, 1, 10, 15, 0), Inception: inception.Chosen(),
			LeNet: lab.Pick(p, 200, 500, 1000, 60_000), Images: lab.Pick(p, 100, 500, 1000, 10_000),
			Quick: p == lab.Smoke || p == lab.Quick,
		},
		Method: Method{Name: wholeBatch, Recipe: recipeFor(set, fashion, eps)},
	}
	c.about(fashion)
	return c
}

// references are the cells beside which claims see what is private: the recipe without noise, and as many real images.
func references(set lab.Setting, fashion bool) []Params {
	free, actual := recipeParams(set, fashion, 0), recipeParams(set, fashion, 0)
	actual.Method = Method{Name: realData}
	return []Params{free, actual}
}

// printedRecipe is algorithm 1 as printed, at the paper's noise.
func printedRecipe(set lab.Setting, fashion bool) Recipe {
	r := recipeFor(set, fashion, 10)
	if r.Epsilon, r.Rows = 0, 1.5; fashion {
		r.Rows = 1.9
	}
	return r
}

// smallSizes says what the recipe is at quick and full.
func smallSizes(p lab.Preset) string {
	if p != lab.Quick && p != lab.Full {
		return ""
	}
	r, free := recipeFor(lab.Setting{Preset: p}, false, 10), recipeFor(lab.Setting{Preset: p}, false, 0)
	return fmt.Sprintf(
		"%d steps of %d images of %d × %d, dense layers of %d (without noise %d of %d of %d × %d, layers of %d)",
		r.Steps, r.Images, r.Side, r.Side, r.Hidden, free.Steps, free.Images, free.Side, free.Side, free.Hidden)
}

// recipeSteps says for each preset what the recipe is.
var recipeSteps = kit.Per{"3 steps", smallSizes(lab.Quick), smallSizes(lab.Full),
	"160,000 steps of 50 images, width 64 (Fashion-MNIST 280,000; without noise of 500)"}

// tooShort says why the paper's numbers are not expected at a preset.
func tooShort(p lab.Preset) string {
	if size := smallSizes(p); size != "" {
		return size + ", rather than 160,000 of 28 × 28"
	}
	return kit.Smoke(p, "3 steps on 1000 images", "")
}

// soundness claims that nobody spent more than was asked for.
func soundness(cells []cell) lab.Claim {
	out := lab.Claim{
		What:     "largest ε of what ran over what was asked for",
		Source:   "its accounting, δ = 1e-5",
		Relation: lab.AtMost,
		Want:     1,
		Why:      "the budget",
		Null:     overspent,
		Law:      true,
	}
	out.Got = math.Inf(-1)
	for _, c := range cells {
		if c.Params.Method.Recipe.Epsilon > 0 {
			out.Got = max(out.Got, c.Value.Epsilon/c.Params.Method.Recipe.Epsilon)
		}
	}
	return out
}

// judgedNull is the null in which change is done to what is said of every cell; best is the one that the paper takes.
func judgedNull(name string, change func(best Judgement, p Params, o *Out)) lab.Null {
	return kit.NullOf(name, imagesOf, func(cells []cell) {
		var best Judgement
		for _, c := range cells {
			if c.Params.Method.Recipe.P == .4 {
				best = c.Value.Judged
			}
		}
		for i := range cells {
			change(best, cells[i].Params, &cells[i].Value)
		}
	})
}

// The nulls of the figures about the recipe.
var (
	// overspent has half the noise: ε is more than twice what was asked for, and what was released varies by a quarter.
	overspent = judgedNull("half the noise", func(_ Judgement, p Params, o *Out) {
		o.Multiplier, o.Epsilon, o.Released = o.Multiplier/2, 2*p.Method.Recipe.Epsilon, .25
	})
	// alike has settings that change nothing: each cell is judged as the paper's best.
	alike = judgedNull("settings without effect", func(best Judgement, _ Params, o *Out) { o.Judged = best })
)

// recipeBadge says what was trained.
func recipeBadge(v view) string {
	var steps, images []int
	for i, c := range v.Cells {
		if r := c.Params.Method.Recipe; i == 0 || r.Steps > 0 {
			steps, images = append(steps, r.Steps), append(images, r.Images)
		}
	}
	return v.Badge(fmt.Sprintf("%s steps of %s images", span(steps), span(images)),
		sample.Note(v.Cells[0].Params.Data, "mnist"))
}

// span returns the least and the largest of counts, as words.
func span(of []int) string {
	low, high := slices.Min(of), slices.Max(of)
	if low == high {
		return fmt.Sprint(low)
	}
	return fmt.Sprintf("%d to %d", low, high)
}

// nearChance is the remark on a figure in which little is learnt: logistic regression is right on less than a fifth.
func nearChance(cells []cell) string {
	n := 0
	for _, c := range cells {
		if c.Value.Judged.Logistic < .2 {
			n++
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(
		" In %d of %d cells logistic regression is right on less than 20 %%, where chance is 10 %%: next to nothing "+
			"was learnt there.", n, len(cells))
}

// spent prints an ε that holds, rounded upwards, and what it is.
func spent(eps float64, kind string) string { return dp.FormatUp(eps, 3) + " (" + kind + ")" }

// signal is the most that the sum of all clipped gradients can be over what the noise of their sum
// is: T·Δ of T steps that all pull one way, over 2Δσ√(T·n·k) in k pixels of each of n images, which
// is √T/(2σ√(nk)).
func (r Recipe) signal(sigma float64) string {
	if sigma == 0 || r.Parameters || r.Rows > 0 {
		return ""
	}
	k := 784
	if r.Side > 0 {
		k = r.Side * r.Side
	}
	return fmt.Sprintf("%.2f", math.Sqrt(float64(r.Steps)/float64(r.Images*k))/(2*sigma))
}

// chosenNote is for every number of the small recipe.
const chosenNote = "The small recipe was chosen among some 50 settings by accuracies on 10,000 of MNIST's training " +
	"images, of one training each on the other 50,000, which no ε counts. There debiasing by the paper’s share was " +
	"worth eight points by logistic regression and by the CNN without noise, and with noise one point, but four by " +
	"the CNN: one training and means of two."

const signalNote = "Signal over noise is √T/(2σ√(nk)) of T steps on k pixels of n images: the length of the sum of " +
	"all clipped gradients if they all pulled one way, over that of the sum of the noise. Where it is below 1, " +
	"nothing is learnt but what the network's weights share between images and pixels."
