package dpsinkhorn

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"coupling/data"
	"coupling/data/sample"
	"coupling/dp"
	"coupling/dp/release"
	"coupling/dp/synth"
	"coupling/dp/synth/denoise"
	"coupling/dp/synth/dpsinkhorn"
	"coupling/dp/synth/merf"
	"coupling/dp/synth/refine"
	"coupling/dp/synth/semidual"
	"coupling/figures/internal/kit"
	"coupling/lab"
	"coupling/lab/device"
	"coupling/lab/nn"
	"coupling/lab/nn/arch"
	"coupling/lab/nn/train"

	"gonum.org/v1/gonum/mat"
)

// Params is a method on a data set, and how its images are judged. All figures but those of the
// accounting and of the gradient's bias are views of such cells.
type Params struct {
	Fashion   bool        `json:"fashion" doc:"Fashion-MNIST, else MNIST"`
	Colour    string      `json:"colour,omitempty" enum:",cifar10,cifar10-classes,celeba" doc:"pictures in colour"`
	Most      int         `json:"most" min:"0" doc:"training and test images; 0: all"`
	Method    Method      `json:"method"`
	Judge     Judge       `json:"judge"`
	Repeat    int         `json:"repeat,omitempty" min:"0" doc:"number of a training among several"`
	Synthetic int         `json:"synthetic" min:"1" doc:"synthetic images that are judged"`
	Device    string      `json:"device" doc:"cpu, cuda:0 or cuda:0,tf32"`
	Data      data.Origin `json:"data,omitzero" enum:",subset,sample" doc:"files; empty: the official ones"`
}

// Method is one way to make images at a sound ε, and its sizes. δ is 1e-5, and 1e-6 of pictures of two classes.
type Method struct {
	Name    string  `json:"name" doc:"of the method"`
	Epsilon float64 `json:"epsilon" min:"0" doc:"ε that holds; 0: none was asked for, or the recipe's"`
	Steps   int     `json:"steps" min:"0" doc:"of the generator; 0: the suggested ones"`
	Batch   int     `json:"batch" min:"0" doc:"images of a step"`
	Hidden  int     `json:"hidden,omitempty" min:"0" doc:"channels of a DCGAN or BigGAN"`
	Feature int     `json:"feature" min:"0" doc:"random features of DP-MERF"`
	Recipe  Recipe  `json:"recipe"` // of the whole batch
}

// Out is what came of it. Artifact: images.npy, the first rows of digits, the classes in turn, or colourShown
// pictures of each class.
type Out struct {
	Name    string   `json:"name"` // of the data
	Classes []string `json:"classes"`
	// of pictures in colour, the share of the larger class among those of the test
	Guess      float64   `json:"guess,omitempty"`
	Tested     int       `json:"tested"` // real images that accuracies are on
	Judged     Judgement `json:"judged"`
	Epsilon    float64   `json:"epsilon"`             // that holds; 0: there is none
	Published  float64   `json:"published,omitempty"` // by an accounting that is not justified
	Multiplier float64   `json:"multiplier"`          // of a recipe's noise
	// mean square of released numbers over the variance of their noise, over some steps; NaN: no
	// noise
	Released   float64 `json:"released"`
	Values     int     `json:"values"` // how many of them
	Kind       string  `json:"kind"`
	Accountant string  `json:"accountant"`
	Seconds    float64 `json:"seconds"` // CPU seconds of the process while images were made; NaN: it was resumed
}

type (
	cell = lab.Result[Params, Out]
	view = lab.View[Params, Out]
)

var imagesOf = lab.Experiment[Params, Out]{Name: "dpsinkhorn/images", Version: 2, Run: runImages, Work: Params.work}

// The methods, by their names in tables.
const (
	semiDual     = "semi-dual"
	handwritten  = "semi-dual, handwriting assumed" // samples are moved
	refined      = semiDual + ", refined"           // by moves of samples
	refinedHand  = handwritten + ", refined"
	byCommand    = refined + " by coupling private" // with its defaults: the kind and the number of images are private
	noiseless    = refined + ", without noise"      // settings of byCommand at ε = 10, and no privacy
	wholeBatch   = "DP-Sinkhorn"                    // with the whole-batch clip
	wholeBatch3  = "DP-Sinkhorn, m = 3"
	dpMERF       = "DP-MERF"
	dpSGD        = "DP-SGD"
	asPrinted    = "DP-Sinkhorn, rows as printed"
	nonPrivate1  = "Sinkhorn without privacy"
	nonPrivate3  = "Sinkhorn without privacy, m = 3"
	realData     = "real images"
	colourSmall  = "DP-Sinkhorn, small pictures"
	colourDCGAN  = "DP-Sinkhorn, DCGAN"
	colourBigGAN = "DP-Sinkhorn, BigGAN"
	colourFree   = "Sinkhorn without privacy"
	colourRows   = "DP-Sinkhorn, rows as printed"
	realPictures = "as many real pictures"
)

const delta, colourDelta = 1e-5, 1e-6

// cifarClasses is CIFAR-10 with its ten classes, as Params.Colour.
const cifarClasses = "cifar10-classes"

func (p Params) delta() float64 {
	if p.Colour != "" && p.Colour != cifarClasses {
		return colourDelta
	}
	return delta
}

// keptImages is ten of each class of ten.
const keptImages = 100

// shortRun is the most steps that are made again rather than resumed: their ledger, synced to the disk in each, costs
// more than they do.
const shortRun = 20_000

// runImages trains, draws and judges. A run that is killed goes on, if it is a long one.
func runImages(ctx context.Context, c *lab.Cell, p Params) (out Out, err error) {
	train, test := p.images(ctx)
	dev := lab.Must(c.Device(p.Device))
	dir, began := lab.Must(c.Scratch()), kit.ProcessSeconds()
	resumed := len(lab.Must(os.ReadDir(dir))) > 0
	run := synth.Run{
		Key:      release.SeededKey(c.Seed + uint64(p.Repeat)<<32),
		Every:    200,
		Progress: c.Progress,
	}
	if max(p.Method.Steps, p.Method.Recipe.Steps) > shortRun {
		run.Dir = dir
	}
	var draw sampler
	var spent cost
	if p.Method.Name == byCommand {
		draw, spent = p.publish(ctx, c, dev, train, filepath.Join(dir, "out"))
	} else {
		draw, spent = p.train(ctx, dev, train, run)
	}
	seen := spent.released
	out = Out{
		Name: train.Name, Classes: train.Classes, Tested: test.Len(), Epsilon: spent.Epsilon,
		Published: spent.published, Multiplier: spent.sigma,
		Released: seen.Mean(), Values: seen.Values, Kind: spent.Kind.String(),
		Accountant: spent.Accountant,
	}
	synthetic := lab.Must(draw(c.Rand(fmt.Sprint("sample", p.Repeat)), p.Synthetic))
	if out.Seconds = kit.ProcessSeconds() - began; resumed {
		out.Seconds = math.NaN()
	}
	shown := synthetic.Slice(0, min(keptImages, synthetic.Len()))
	if len(train.Classes) == 2 {
		out.Guess, shown = larger(test), inTurn(synthetic)
	}
	if !p.Method.isReal() { // no real image is shown
		lab.Check(kit.Write(c, "images.npy", mat.DenseCopyOf(shown.Mat())))
	}
	out.Judged = p.Judge.look(ctx, dev, synthetic, train, test, c.Rand(fmt.Sprint("judge", p.Repeat)))
	return out, nil
}

// publish returns the images that coupling private makes with its defaults and the seed of this training, to the bit:
// 1, 2, … of several trainings.
func (p Params) publish(ctx context.Context, c *lab.Cell, dev *device.Device, images *data.Images,
	out string) (sampler, cost) {
	seed := c.Seed + uint64(p.Repeat)
	_, err := synth.Publication{
		Method: func(q synth.Public) synth.Method { return refine.Best(p.Method.Epsilon, q) },
		Budget: dp.Budget{Epsilon: p.Method.Epsilon, Delta: p.delta()},
		Count:  p.Synthetic,
		Seed:   &seed,
		Out:    out,
	}.Run(ctx, dev, images, func(_ string, done, of int) { c.Progress(done, of) })
	if !errors.Is(err, synth.ErrOccupied) { // by this cell, before it was killed
		lab.Check(err)
	}
	var s synth.Statement
	lab.Check(json.Unmarshal(lab.Must(os.ReadFile(filepath.Join(out, "privacy.json"))), &s))
	made := lab.Must(data.Load(filepath.Join(out, "synthetic.npy")))
	return func(*rand.Rand, int) (*data.Images, error) { return made, nil },
		cost{Guarantee: dp.Guarantee{Epsilon: s.Epsilon, Kind: dp.UpperBound, Accountant: s.Accountant}}
}

// kind names a method of the figures about the recipe by what it does to gradients.
func (m Method) kind() string {
	switch {
	case m.isReal():
		return m.Name
	case m.Recipe.Rows > 0:
		return fmt.Sprintf("rows as printed, σ = %g", m.Recipe.Rows)
	case m.Recipe.Epsilon == 0:
		return "no noise"
	}
	return "whole batch"
}

// published is the name in published of a method of the figures about the recipe.
func (m Method) published() Method {
	switch {
	case m.isReal():
		return Method{Name: realData}
	case m.free():
		return Method{Name: nonPrivate1}
	}
	return Method{Name: asPrinted}
}

// sampler draws images.
type sampler func(rng *rand.Rand, n int) (*data.Images, error)

// train makes what draws images, with the least noise that meets the budget.
func (p Params) train(ctx context.Context, dev *device.Device, images *data.Images, r synth.Run) (sampler, cost) {
	if p.Method.isReal() {
		return func(rng *rand.Rand, n int) (*data.Images, error) { return images.Pick(rng, min(n, images.Len())) },
			cost{}
	}
	if p.Method.Recipe.Steps > 0 {
		return p.Method.Recipe.train(ctx, dev, images, p.delta(), r)
	}
	public := lab.Must(synth.PublicOf(images))
	if p.Method.Name == noiseless {
		made := lab.Must(refine.Best(frontierEps[0], public).WithNoise(0).Train(ctx, dev, images, r))
		return made.Sample, cost{}
	}
	m, g, err := synth.Calibrate(ctx, p.method(public, images), public,
		dp.Budget{Epsilon: p.Method.Epsilon, Delta: p.delta()})
	lab.Check(err)
	watched := new(kit.Noise)
	if t, ok := m.(dpsinkhorn.Training); ok {
		watch(watched, &t)
		m = t
	}
	made := lab.Must(m.Train(ctx, dev, images, r))
	return made.Sample, cost{Guarantee: g, released: *watched}
}

// method is what makes the images, where that is not the recipe. DP-Sinkhorn's DCGAN and BigGAN are
// trained by algorithm 1 with the paper's cost for CelebA, |x−y|², its λ = 5 and p, and the clip
// that holds.
func (p Params) method(public synth.Public, images *data.Images) synth.Method {
	m := p.Method
	t := dpsinkhorn.Training{
		Loss:   dpsinkhorn.Loss{Fresh: .4, Blur: 5},
		Images: m.Batch,
		Rate:   min(float64(m.Batch)/float64(images.Len()), 1),
		Steps:  m.Steps,
		Adam:   train.Adam{Rate: rateFor(m.Steps, 1e-5), Decay: 2e-5},
	}
	switch m.Name {
	case semiDual:
		return semidual.Suggested(m.Epsilon, public)
	case handwritten:
		return semidual.Handwriting(m.Epsilon, public)
	case refined, refinedHand:
		c := refine.Suggested(m.Epsilon, public)
		if m.Name == refinedHand {
			c = refine.Handwriting(m.Epsilon, public)
		}
		c.Steps = cmp.Or(m.Steps, c.Steps)
		return c
	case dpMERF:
		c := merf.Config{Features: m.Feature, Steps: m.Steps, Batch: m.Batch}
		if p.Colour != "" { // √105 for MNIST's values: distances grow as the square root of their number
			c.Length = math.Sqrt(105 * float64(images.Dim()) / 784)
		}
		return c
	case dpSGD:
		c := denoise.Suggested(m.Epsilon, public)
		c.Steps = cmp.Or(m.Steps, c.Steps)
		return c
	case colourDCGAN:
		t.Net.DCGAN = &arch.DCGAN{Latent: colourLatent, Embed: 4, Hidden: m.Hidden}
	case colourBigGAN:
		t.Net.BigGAN = &arch.BigGAN{Latent: colourLatent, Embed: 4, Hidden: m.Hidden}
	default:
		lab.Check(fmt.Errorf("method %q: there is none", m.Name))
	}
	return t
}

// rateFor is the paper's learning rate for runs of its length, and 1e-3 for short ones.
func rateFor(steps int, paper float64) float64 {
	if steps < 50_000 {
		return 1e-3
	}
	return paper
}

// work is that of a training and of the images made.
func (p Params) work(dev *device.Device) lab.Work {
	m := p.Method
	var net nn.Layer
	switch m.Name {
	case colourDCGAN:
		net = arch.DCGAN{
			Latent:   colourLatent,
			Classes:  2,
			Embed:    4,
			Hidden:   m.Hidden,
			Channels: 3,
			Size:     colourSide,
		}.Net()
	case colourBigGAN:
		net = arch.BigGAN{Latent: colourLatent, Classes: 2, Embed: 4, Hidden: m.Hidden}.Net()
	case colourFree, colourRows:
		if r := m.Recipe; r.Side == 0 {
			net = arch.DCGAN{Latent: 12, Classes: 2, Embed: 4, Hidden: r.Hidden, Channels: 3, Size: colourSide}.Net()
			return generatorWork(dev, net, 12, r.Steps, r.Images, r.P, p.Synthetic)
		}
		return m.Recipe.work(dev, p.Synthetic)
	default:
		return m.Recipe.work(dev, p.Synthetic)
	}
	return generatorWork(dev, net, colourLatent, m.Steps, m.Batch, .4, p.Synthetic)
}

// images reads the data set.
func (p Params) images(ctx context.Context) (train, test *data.Images) {
	train = p.split(ctx, data.Train)
	if p.Colour != "" && p.Most > 0 { // the archive is read but once
		n := min(p.Most, train.Len()/2)
		return train.Slice(0, n), train.Slice(n, 2*n)
	}
	if test = p.split(ctx, data.Test); p.Most == 0 {
		return train, test
	}
	return train.Slice(0, min(p.Most, train.Len())), test.Slice(0, min(p.Most, test.Len()))
}

// about makes the cell one of a data set, with the best origin of it on this machine.
func (p *Params) about(fashion bool) {
	p.Fashion, p.Data = fashion, data.Choose(strings.ToLower(setName(fashion)))
}

// kept has what was read last: most cells of a figure share it, and none changes it.
var kept struct {
	sync.Mutex
	of     Params
	images map[data.Split]*data.Images
}

// split reads a split of the data set, or returns it if it was read last.
func (p Params) split(ctx context.Context, split data.Split) *data.Images {
	kept.Lock()
	defer kept.Unlock()
	if of := (Params{Colour: p.Colour, Fashion: p.Fashion, Data: p.Data}); kept.of != of || kept.images == nil {
		kept.of, kept.images = of, map[data.Split]*data.Images{}
	}
	if kept.images[split] == nil {
		kept.images[split] = p.read(ctx, split)
	}
	return kept.images[split]
}

func (p Params) read(ctx context.Context, split data.Split) *data.Images {
	from := sample.From(p.Data)
	switch {
	case p.Colour == "celeba":
		return lab.Must(lab.Must(data.CelebA{
			Split: split,
			Label: "Male",
			Whole: true,
			Size:  colourSide,
		}.Open()).Load(ctx))
	case p.Colour != "":
		m := lab.Must(data.CIFAR10(ctx, from, split))
		if p.Colour == cifarClasses {
			return m
		}
		return vehicles(m)
	case p.Fashion:
		return lab.Must(data.FashionMNIST(ctx, from, split))
	}
	return lab.Must(data.MNIST(ctx, from, split))
}

// vehicles makes two classes of CIFAR-10's ten.
func vehicles(m *data.Images) *data.Images {
	out := *m
	out.Labels, out.Classes = make([]int, m.Len()), []string{"animals", "vehicles"}
	for i, l := range m.Labels {
		if slices.Contains([]string{"airplane", "automobile", "ship", "truck"}, m.Classes[l]) {
			out.Labels[i] = 1
		}
	}
	return &out
}
