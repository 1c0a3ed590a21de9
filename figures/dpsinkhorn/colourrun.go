package dpsinkhorn

import (
	"context"
	"fmt"
	"math"
	"slices"

	"coupling/data"
	"coupling/data/sample"
	"coupling/dp"
	"coupling/dp/synth"
	"coupling/dp/synth/dpsinkhorn"
	"coupling/dp/synth/merf"
	"coupling/dp/synth/semidual"
	"coupling/lab"
	"coupling/lab/device"
	"coupling/lab/nn/arch"
	"coupling/lab/nn/train"
)

// ColourParams is a method on pictures of two classes.
type ColourParams struct {
	CelebA    bool         `json:"celeba" doc:"CelebA, else CIFAR-10, animals and vehicles"`
	Most      int          `json:"most" min:"0" doc:"training and test pictures; 0: all"`
	Method    ColourMethod `json:"method"`
	Epsilon   float64      `json:"epsilon" min:">0" doc:"ε of the method"`
	Judge     Judge        `json:"judge"`
	Synthetic int          `json:"synthetic" min:"1" doc:"synthetic images that are judged"`
	Device    string       `json:"device" doc:"where networks run: cpu, cuda:0 or cuda:0,tf32"`
	Data      data.Origin  `json:"data,omitzero" enum:",subset,sample" doc:"files: \"\" the official ones, or fewer of them"`
}

// ColourMethod is a way to make pictures, and its sizes; the semi-dual has its own.
type ColourMethod struct {
	Name    string `json:"name" doc:"of the method"`
	Steps   int    `json:"steps" min:"0" doc:"0 where the method has its own"`
	Batch   int    `json:"batch" min:"0" doc:"generated pictures of a step, and private ones expected"`
	Hidden  int    `json:"hidden" min:"0" doc:"channels of a generator"`
	Feature int    `json:"feature" min:"0" doc:"random features of DP-MERF"`
}

// The methods that are of this figure alone, by their names.
const (
	colourDCGAN  = "whole batch, DCGAN"
	colourBigGAN = "whole batch, BigGAN"
	realPictures = "as many real pictures"
)

const (
	colourDelta = 1e-6
	colourSide  = 32
)

// ColourOut is what came of it. Artifact: images.npy, two lines of colourShown pictures of each class.
type ColourOut struct {
	Name       string    `json:"name"` // of the data
	Classes    []string  `json:"classes"`
	Guess      float64   `json:"guess"` // share of the larger class among test pictures
	Judged     Judgement `json:"judged"`
	Epsilon    float64   `json:"epsilon"`
	Kind       string    `json:"kind"`
	Accountant string    `json:"accountant"`
	Seconds    float64   `json:"seconds"` // of training
}

var colourOf = lab.Experiment[ColourParams, ColourOut]{Name: "dpsinkhorn/colour", Version: 2, Run: runColour}

func (p ColourParams) sizes(name string) string {
	if p.Most > 0 {
		return fmt.Sprintf("%d pictures of CIFAR-10 in place of CelebA", p.Most)
	}
	return fmt.Sprintf("%s in place of CelebA, %d synthetic pictures, DP-Sinkhorn of few steps", name, p.Synthetic)
}

func runColour(ctx context.Context, c *lab.Cell, p ColourParams) (out ColourOut, err error) {
	train, test, err := p.pictures(ctx)
	if err != nil {
		return out, err
	}
	out.Name, out.Classes, out.Guess = train.Name, train.Classes, larger(test)
	made := making{device: p.Device, train: train, test: test, n: p.Synthetic, judge: p.Judge, learn: func(dev *device.Device, r synth.Run) (sampler, cost, error) {
		return p.train(ctx, dev, train, r)
	}}
	if p.Method.Name != realPictures {
		made.shown = inTurn
	}
	judged, g, seconds, err := made.run(ctx, c)
	out.Judged, out.Seconds, out.Epsilon, out.Kind, out.Accountant = judged, seconds, g.Epsilon, g.Kind.String(), g.Accountant
	return out, err
}

// pictures of two classes, 32 × 32, to train on and to test with.
func (p ColourParams) pictures(ctx context.Context) (train, test *data.Images, err error) {
	if train, err = p.split(ctx, data.Train); err != nil {
		return nil, nil, err
	}
	if p.Most > 0 { // the archive is read but once
		n := min(p.Most, train.Len()/2)
		return train.Slice(0, n), train.Slice(n, 2*n), nil
	}
	test, err = p.split(ctx, data.Test)
	return train, test, err
}

func (p ColourParams) split(ctx context.Context, split data.Split) (*data.Images, error) {
	if p.CelebA {
		faces, err := data.CelebA{Split: split, Label: "Male", Whole: true, Size: colourSide}.Open()
		if err != nil {
			return nil, err
		}
		return faces.Load(ctx)
	}
	m, err := data.CIFAR10(ctx, sample.From(p.Data), split)
	if err != nil {
		return nil, err
	}
	return vehicles(m), nil
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

// larger is the share of the larger of two classes.
func larger(m *data.Images) float64 {
	second := 0
	for _, l := range m.Labels {
		second += l
	}
	share := float64(second) / float64(m.Len())
	return max(share, 1-share)
}

// inTurn is what is shown of pictures whose classes come in turn: the first class on the left, the second on the right.
func inTurn(m *data.Images) *data.Images {
	var order []int
	for line := range 2 {
		for class := range 2 {
			for k := range colourShown {
				order = append(order, 2*(line*colourShown+k)+class)
			}
		}
	}
	return m.Take(order)
}

// train makes what draws pictures.
func (p ColourParams) train(ctx context.Context, dev *device.Device, images *data.Images, r synth.Run) (sampler, cost, error) {
	if p.Method.Name == realPictures {
		return pick(images), cost{}, nil
	}
	m, err := p.method(images)
	if err != nil {
		return nil, cost{}, err
	}
	return learn(ctx, dev, images, m, dp.Budget{Epsilon: p.Epsilon, Delta: colourDelta}, r)
}

// method is what makes the pictures. DP-Sinkhorn is algorithm 1 with the paper's cost for CelebA, |x−y|², its λ = 5 and p, and the
// clip that holds.
func (p ColourParams) method(images *data.Images) (synth.Method, error) {
	const latent, embed = 32, 4
	m := p.Method
	t := dpsinkhorn.Training{
		Loss: dpsinkhorn.Loss{Fresh: .4, Blur: 5}, Images: m.Batch, Rate: min(float64(m.Batch)/float64(images.Len()), 1), Steps: m.Steps,
		Adam: train.Adam{Rate: colourRate(m.Steps), Decay: 2e-5},
	}
	switch m.Name {
	case semiDual:
		public, err := synth.PublicOf(images)
		return semidual.Suggested(p.Epsilon, public), err
	case dpMERF:
		return merf.Config{Features: m.Feature, Steps: m.Steps, Batch: m.Batch, Length: length(images.Dim())}, nil
	case colourDCGAN:
		t.Net.DCGAN = &arch.DCGAN{Latent: latent, Embed: embed, Hidden: m.Hidden}
	case colourBigGAN:
		t.Net.BigGAN = &arch.BigGAN{Latent: latent, Embed: embed, Hidden: m.Hidden}
	default:
		return nil, fmt.Errorf("method %q: there is none", m.Name)
	}
	return t, nil
}

// length is that of DP-MERF's features, √105 for MNIST, for so many values of an image: distances grow as their square root.
func length(values int) float64 { return math.Sqrt(105 * float64(values) / 784) }

// colourRate is the paper's 1e-5 for long runs, and a hundred times that for short ones.
func colourRate(steps int) float64 {
	if steps < 50_000 {
		return 1e-3
	}
	return 1e-5
}
