package dpsinkhorn

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"coupling/data"
	"coupling/data/sample"
	"coupling/dp"
	"coupling/dp/synth"
	"coupling/dp/synth/dpsinkhorn"
	"coupling/dp/synth/merf"
	"coupling/dp/synth/semidual"
	"coupling/figures/artifact"
	"coupling/figures/internal/kit"
	"coupling/figures/style"
	"coupling/lab"
	"coupling/lab/device"
	"coupling/lab/eval/inception"
	"coupling/lab/nn"
	"coupling/lab/nn/arch"
	"coupling/lab/nn/train"
)

// Fig3 is Figure 3: private pictures in colour.
func Fig3() lab.Study[ColourParams, ColourOut] {
	s := colourStudy("fig3", "Figure 3: private pictures in colour at an ε that holds", semiDual, dpMERF, colourSmall, colourDCGAN, colourBigGAN)
	s.Draw, s.Claims = drawColourPictures, claimColourDiversity
	return s
}

// Fig6 is Figure 6: pictures by two generators.
func Fig6() lab.Study[ColourParams, ColourOut] {
	s := colourStudy("fig6", "Figure 6: private pictures by DCGAN and BigGAN generators", colourDCGAN, colourBigGAN, colourSmall)
	s.Draw, s.Claims = drawColourPictures, claimGenerators
	return s
}

// Tab3 is Table 3: what private pictures in colour are worth.
func Tab3() lab.Study[ColourParams, ColourOut] {
	s := colourStudy("tab3", "Table 3: what private pictures in colour are worth at an ε that holds", semiDual, dpMERF, colourSmall, colourDCGAN, colourBigGAN, realPictures)
	s.Draw, s.Claims = func(v colourView) (lab.Exhibit, error) { return drawColourTable(v, "3") }, claimColour
	return s
}

// Tab6 is Table 6: the same for two generators.
func Tab6() lab.Study[ColourParams, ColourOut] {
	s := colourStudy("tab6", "Table 6: what pictures by DCGAN and BigGAN generators are worth", colourDCGAN, colourBigGAN, colourSmall, realPictures)
	s.Draw, s.Claims = func(v colourView) (lab.Exhibit, error) { return drawColourTable(v, "6") }, claimGenerators
	return s
}

// colourStudy is what the figures and tables in colour share: the cells of some methods.
func colourStudy(name, title string, methods ...string) lab.Study[ColourParams, ColourOut] {
	return lab.Study[ColourParams, ColourOut]{
		Name: "dpsinkhorn/" + name, Title: title,
		Shows: "Pictures of two classes, 32 × 32 in colour, made with differential privacy by mechanisms of the same (ε = 10, δ = 1e-6): semi-dual transport, DP-MERF, and DP-Sinkhorn with the clip that holds, by DCGAN and by BigGAN generators, or at quick and full by dense layers that make small pictures. " +
			"Below the paper preset they are CIFAR-10's, animals and vehicles; at paper CelebA's faces, which users bring, by gender. The paper's own ε is not justified: all rows share one batch.",
		Sizes: map[lab.Preset]string{
			lab.Smoke: "CIFAR-10, 160 pictures, 60 synthetic ones, a few steps, no classifiers of real pictures",
			lab.Quick: "CIFAR-10 in two classes, 1000 synthetic ones, a CNN of a quarter of the width; DP-MERF 1000 features, 100 steps; DP-Sinkhorn 3000 steps of 10 pictures of 8 × 8; 20 steps of 10 with generators of 16 channels, which learn nothing in them",
			lab.Full:  "CIFAR-10 (10,000 pictures where the subset is here) in two classes, 3000 synthetic ones, a CNN of a quarter of the width; DP-MERF 2000 features, 400 steps; DP-Sinkhorn 10,000 steps of 10 pictures of 8 × 8; 60 steps of 20 with generators of 32 channels, which learn nothing in them",
			lab.Paper: "CelebA at 32 × 32, 162,770 faces by gender, 60,000 synthetic ones; DP-MERF 10,000 features; DP-Sinkhorn 160,000 steps of 50 (the paper: 1.7 million) with the paper's generators",
		},
		Seconds:    map[lab.Preset]float64{lab.Smoke: 2, lab.Quick: 10 * float64(len(methods)), lab.Full: 80 * float64(len(methods))},
		Experiment: colourOf,
		Grid: func(set lab.Setting) (out []ColourParams) {
			for _, p := range colourGrid(set) {
				slow := p.Method.Steps < 100 && strings.Contains(p.Method.Name, "GAN") && slices.Contains(methods, semiDual) // is Figure 6's
				if slices.Contains(methods, p.Method.Name) && (!slow || set.Preset == lab.Smoke) {
					out = append(out, p)
				}
			}
			return out
		},
	}
}

// oneColour is the null in which the semi-dual and DP-Sinkhorn make one picture for all, of the larger class, and other methods pictures as good as real.
var oneColour = lab.Null{Name: "one picture for all", Spoil: []lab.Spoiler{lab.Spoil(colourOf, func(cells []lab.Result[ColourParams, ColourOut]) {
	for i := range cells {
		v := &cells[i].Value
		v.Judged = Judgement{Logistic: .9, MLP: .9, CNN: .9, FD: 20, Precision: .9, Recall: .9, Coverage: .9}
		if name := cells[i].Params.Method.Name; name == semiDual || strings.Contains(name, "GAN") && !hasSemiDual(cells) {
			v.Judged = Judgement{Logistic: v.Guess, MLP: v.Guess, CNN: v.Guess, FD: 1000}
		}
	}
})}}

func hasSemiDual(cells []lab.Result[ColourParams, ColourOut]) bool {
	return slices.ContainsFunc(cells, func(c lab.Result[ColourParams, ColourOut]) bool { return c.Params.Method.Name == semiDual })
}

// colourView is what figures and tables in colour are drawn from.
type colourView = lab.View[ColourParams, ColourOut]

func colourGrid(set lab.Setting) []ColourParams {
	p := set.Preset
	base := ColourParams{
		CelebA: p == lab.Paper, Most: lab.Pick(p, 160, 0, 0, 0), Synthetic: lab.Pick(p, 60, 1000, 3000, 60000), Epsilon: 10, Device: set.Device,
		Judge: Judge{Width: lab.Pick(p, 4, 8, 8, 32), Epochs: lab.Pick(p, 1, 0, 0, 0), Inception: inception.Chosen(), LeNet: lab.Pick(p, 60, 1000, 3000, 60000), Images: lab.Pick(p, 60, 500, 1000, 10000)},
	}
	if !base.CelebA {
		base.Data = data.Choose("cifar10")
	}
	sinkhorn := ColourMethod{Steps: lab.Pick(p, 2, 20, 60, 160_000), Batch: lab.Pick(p, 5, 10, 20, 50)}
	dcgan, biggan := sinkhorn, sinkhorn
	dcgan.Name, dcgan.Hidden = colourDCGAN, lab.Pick(p, 4, 16, 32, 64)
	biggan.Name, biggan.Hidden = colourBigGAN, lab.Pick(p, 4, 16, 32, 256)
	var out []ColourParams
	methods := []ColourMethod{
		{Name: semiDual},
		{Name: dpMERF, Steps: lab.Pick(p, 5, 100, 400, 3000), Batch: 100, Feature: lab.Pick(p, 100, 1000, 2000, 10000)},
		dcgan, biggan,
	}
	if p == lab.Quick || p == lab.Full {
		small := Recipe{Side: 8, Hidden: 64, Images: 10, Batch: 100, Steps: lab.Pick(p, 0, 3000, 10_000, 0), Clip: .5, Rate: 3e-3, Fall: true, Epsilon: base.Epsilon}
		methods = append(methods, ColourMethod{Name: colourSmall, Recipe: small})
	}
	if p != lab.Smoke {
		methods = append(methods, ColourMethod{Name: realPictures})
	}
	for _, m := range methods {
		c := base
		c.Method = m
		out = append(out, c)
	}
	return out
}

// colourPublished are rows of Tables 3 and 6, on CelebA: accuracy in percent of MLP and CNN, and FID, which is not our distance.
var colourPublished = []struct {
	table, name string
	mlp, cnn    string
	fid         float64
}{
	{"3, 6", "real data, paper (CelebA)", "91.9", "95.0", 1.1},
	{"3", "Sinkhorn without privacy, paper (CelebA)", "80.8", "82.2", 129.5},
	{"3", "DP-MERF, paper (CelebA), ε = 10", "64.8", "65", 274},
	{"3", "DP-Sinkhorn, paper (CelebA), ε " + dpsinkhorn.NotJustified, "76.2", "76.3", 189.5},
	{"3", "DataLens, paper (CelebA 64 × 64, δ = 1e-5), ε = 10", "", "72.9", 320.8},
	{"6", "DCGAN + DP-Sinkhorn, paper (CelebA), ε " + dpsinkhorn.NotJustified, "74.96", "74.62", 156.7},
	{"6", "BigGAN + DP-Sinkhorn, paper (CelebA), ε " + dpsinkhorn.NotJustified, "76.18", "75.79", 168.4},
}

// colourShown is how many pictures of each class are shown of a method, in two lines.
const colourShown = 14

func drawColourPictures(v colourView) (lab.Exhibit, error) {
	first := v.Cells[0].Value
	grid := &style.ImageGrid{C: 3, H: 32, W: 32, Columns: 2 * colourShown,
		Title: fmt.Sprintf("left: %s, right: %s", first.Classes[0], first.Classes[1])}
	for _, c := range v.Cells {
		rows, err := artifact.Read(c.Open, "images.npy")
		if err != nil {
			return lab.Exhibit{}, err
		}
		for k := 0; k < 4*colourShown; k += 2 * colourShown {
			grid.Images = append(grid.Images, style.Rows(rows.Slice(k, k+2*colourShown, 0, rows.RawMatrix().Cols))...)
		}
		worth := ""
		if j := c.Value.Judged; max(j.Logistic, j.MLP, j.CNN) < c.Value.Guess+.03 {
			worth = "nothing was learnt"
		}
		grid.RowLabels = append(grid.RowLabels, c.Params.Method.Name, worth)
	}
	p := v.Cells[0].Params
	return lab.Exhibit{
		Pictures: kit.Wide(grid, v.Badge(p.sizes(first.Name), sample.Note(p.Data, "cifar10")),
			fmt.Sprintf("Pictures as they were drawn, of %s; small ones were enlarged. “Nothing was learnt” where no classifier of them is better by 3 points than a guess of the larger class. No real picture is shown.", first.Name)),
		Notes: colourNotes(v.Setting),
	}, nil
}

// drawColourTable is what the pictures are worth, beside the rows of a table of the paper.
func drawColourTable(v colourView, number string) (lab.Exhibit, error) {
	first := v.Cells[0].Value
	table := lab.Table{Name: "table" + number, Caption: first.Name + ", two classes, ε = 10 at δ = 1e-6: accuracy in percent on real test pictures of classifiers trained on synthetic ones",
		Header: []string{"method", "ε", "logistic", "MLP", "CNN", v.Cells[0].Params.Judge.distance(), "KID", "precision", "recall", "coverage", "attack AUC", "seconds", "FID as printed"}}
	for _, c := range v.Cells {
		m, o, j := c.Params.Method, c.Value, c.Value.Judged
		eps, auc := spent(o.Epsilon, o.Kind), fmt.Sprintf("%.3f", j.AUC)
		if m.Name == realPictures {
			eps, auc = "∞", ""
		}
		table.Rows = append(table.Rows, []string{m.Name, eps, percent(j.Logistic), percent(j.MLP), percent(j.CNN),
			fmt.Sprintf("%.2f", j.FD), j.kid(), fmt.Sprintf("%.2f", j.Precision), fmt.Sprintf("%.2f", j.Recall), fmt.Sprintf("%.2f", j.Coverage), auc, fmt.Sprintf("%.0f", o.Seconds), ""})
	}
	guess := percent(first.Guess)
	table.Rows = append(table.Rows, []string{"always the larger class", "0", guess, guess, guess, "", "", "", "", "", "", "", ""})
	for _, p := range colourPublished {
		if strings.Contains(p.table, number) {
			table.Rows = append(table.Rows, []string{p.name, "", "", p.mlp, p.cnn, "", "", "", "", "", "", "", fmt.Sprint(p.fid)})
		}
	}
	return lab.Exhibit{Tables: []lab.Table{table}, Notes: colourNotes(v.Setting)}, nil
}

func colourNotes(set lab.Setting) []string {
	out := []string{
		distanceNote,
		"ε is for one picture more or less, label included, of the mechanism that ran. DP-Sinkhorn runs with the whole-batch clip, whose accounting holds; where it is compared with the paper's rows, those are at an ε that is " + dpsinkhorn.NotJustified + ".",
		"Accuracies are of one training of one generator.",
		"The semi-dual's pictures are colours and where they are, which is what classifiers learn from; edges lie in frequencies that it leaves out. DP-MERF has its published generator, which was made for digits, and features whose length grows as distances do; nothing of it was tuned here.",
	}
	if set.Preset != lab.Paper {
		out = append(out, "CIFAR-10 stands for CelebA, which its owners do not let others pass on: animals and vehicles in place of women and men. Ten kinds of pictures of any pose are harder to draw than faces that look ahead, and there are a sixteenth as many: rows of the paper are for orientation alone.",
			"The published generators run for "+lab.Pick(set.Preset, "2", "20", "60", "")+" steps here, of 1.7 million, and learn nothing in them. What two cores can train is ours: dense layers that make pictures of 8 × 8, classes in turn, with the same clip; their size is the best of seven on these test pictures.")
	}
	return out
}

// fewPictures says why methods are not compared at small sizes.
func fewPictures(v colourView) string {
	return lab.Pick(v.Preset, "160 pictures and a few steps", "1000 synthetic pictures and a few steps", sample.Note(v.Cells[0].Params.Data, "cifar10"), "")
}

func claimColour(v colourView) (out []lab.Claim, err error) {
	ours := v.Cells[0].Value.Judged
	for _, c := range v.Cells {
		m, o := c.Params.Method, c.Value
		if printed, ok := map[string]float64{realPictures: 1.1, dpMERF: 274}[m.Name]; ok {
			out = append(out, claimFID(v.Preset, c.Params.Judge, m.Name, "Table 3", o.Judged.FD, printed, oneColour))
		}
		if m.Name == colourSmall {
			out = append(out, claimSmall(c.Params, o))
		}
		switch m.Name {
		case realPictures:
			out = append(out, facesColour(c.Params, o)...)
		case semiDual:
			out = append(append(out, semiDualColour(o, fewPictures(v))...), facesColour(c.Params, o)...)
		default:
			for _, k := range []struct {
				name         string
				mine, theirs float64
			}{{"MLP", ours.MLP, o.Judged.MLP}, {"CNN", ours.CNN, o.Judged.CNN}} {
				out = append(out, lab.Claim{What: "semi-dual: " + k.name + ", less that of " + m.Name, Source: "who wins at the same ε", Got: k.mine - k.theirs, Relation: lab.AtLeast, Want: .02,
					Why: "the 95 % interval of an accuracy on 2000 pictures", SkipReason: fewPictures(v), Null: oneColour})
			}
		}
	}
	return out, nil
}

// claimSmall asks whether small pictures teach more than which class is larger.
func claimSmall(p ColourParams, o ColourOut) lab.Claim {
	return lab.Claim{What: colourSmall + ": logistic regression over a guess of the larger class", Source: "what a private set should be worth", Got: o.Judged.Logistic - o.Guess, Relation: lab.AtLeast, Want: .05,
		Why: "twice the 95 % interval of an accuracy on 2000 pictures", SkipReason: sample.Note(p.Data, "cifar10"), Null: guessed}
}

// guessed is the null in which all pictures say nothing of their class.
var guessed = kit.Null("classes at random", colourOf, func(_ ColourParams, v *ColourOut) {
	v.Judged = Judgement{Logistic: v.Guess, MLP: v.Guess, CNN: v.Guess, FD: 1000}
})

// claimColourDiversity asks whose pictures are nearer to real ones and more diverse.
func claimColourDiversity(v colourView) (out []lab.Claim, err error) {
	ours := v.Cells[0].Value.Judged
	for _, c := range v.Cells[1:] {
		name, j := c.Params.Method.Name, c.Value.Judged
		out = append(out,
			lab.Claim{What: "semi-dual: recall, less that of " + name, Source: "who is more diverse at the same ε", Got: ours.Recall - j.Recall, Relation: lab.AtLeast, Why: "a comparison", SkipReason: fewPictures(v), Null: oneColour},
			lab.Claim{What: "semi-dual: " + c.Params.Judge.distance() + " over that of " + name, Source: "who is nearer at the same ε", Got: ours.FD / j.FD, Relation: lab.AtMost, Want: 1, Why: "a comparison", SkipReason: fewPictures(v), Null: oneColour})
	}
	return out, nil
}

// claimGenerators compares both generators with the rows of Table 6, where they are trained at length.
func claimGenerators(v colourView) (out []lab.Claim, err error) {
	short := "DP-Sinkhorn learns nothing in so few steps"
	printed := map[string][3]float64{colourDCGAN: {.7496, .7462, 156.7}, colourBigGAN: {.7618, .7579, 168.4}}
	for _, c := range v.Cells {
		if c.Params.Method.Name == colourSmall {
			out = append(out, claimSmall(c.Params, c.Value))
		}
		want, ok := printed[c.Params.Method.Name]
		if !ok {
			continue
		}
		out = append(out, claimFID(v.Preset, c.Params.Judge, c.Params.Method.Name, "Table 6, at an ε that does not hold", c.Value.Judged.FD, want[2], oneColour))
		for k, a := range []float64{c.Value.Judged.MLP, c.Value.Judged.CNN} {
			out = append(out, lab.Claim{What: c.Params.Method.Name + ": " + []string{"MLP", "CNN"}[k], Source: "Table 6, at an ε that does not hold", Got: a, Want: want[k], AbsTol: .03,
				Why: "another clip, another protocol and a tenth of the steps", SkipReason: lab.Pick(v.Preset, short, short, short, ""), Null: oneColour})
		}
	}
	return out, nil
}

// semiDualColour is what the semi-dual has to be worth.
func semiDualColour(v ColourOut, small string) (out []lab.Claim) {
	for k, a := range []float64{v.Judged.MLP, v.Judged.CNN} {
		out = append(out, lab.Claim{What: "semi-dual: " + []string{"MLP", "CNN"}[k] + " over a guess of the larger class", Source: "what a private set should be worth", Got: a - v.Guess, Relation: lab.AtLeast, Want: .1, Why: "a bound", SkipReason: small, Null: oneColour})
	}
	return out
}

// facesColour compares with what the paper prints, of CelebA: on other pictures its numbers say nothing.
func facesColour(p ColourParams, v ColourOut) (out []lab.Claim) {
	if !p.CelebA {
		return nil
	}
	for k, a := range []float64{v.Judged.MLP, v.Judged.CNN} {
		name := []string{"MLP", "CNN"}[k]
		if p.Method.Name == realPictures {
			out = append(out, lab.Claim{What: "real data: " + name, Source: "Tables 3 and 6", Got: a, Want: []float64{.919, .950}[k], RelTol: .03, Why: "a third of the training pictures, another protocol", Null: oneColour})
			continue
		}
		out = append(out, lab.Claim{What: "semi-dual: " + name + " against the paper's DP-Sinkhorn at an ε that does not hold", Source: "Table 3", Got: a, Relation: lab.AtLeast, Want: []float64{.762, .763}[k], Why: "a comparison", Null: oneColour})
	}
	return out
}

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
	Recipe  Recipe `json:"recipe,omitzero"` // of small pictures
}

// The methods that are of this figure alone, by their names.
const (
	colourSmall  = "whole batch, small pictures"
	colourDCGAN  = "whole batch, DCGAN"
	colourBigGAN = "whole batch, BigGAN"
	realPictures = "as many real pictures"
)

const (
	colourDelta = 1e-6
	colourSide  = 32

	colourLatent = 32 // of generators
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

var colourOf = lab.Experiment[ColourParams, ColourOut]{Name: "dpsinkhorn/colour", Version: 2, Run: runColour, Work: func(p ColourParams, dev *device.Device) lab.Work {
	net, m := nn.Layer(arch.DCGAN{Latent: colourLatent, Classes: 2, Embed: 4, Hidden: p.Method.Hidden, Channels: 3, Size: colourSide}.Net()), p.Method
	switch m.Name {
	case colourSmall:
		return m.Recipe.work(dev, p.Synthetic)
	case colourBigGAN:
		net = arch.BigGAN{Latent: colourLatent, Classes: 2, Embed: 4, Hidden: p.Method.Hidden}.Net()
	case colourDCGAN:
	default:
		return lab.Work{}
	}
	return generatorWork(dev, net, colourLatent, m.Steps, m.Batch, .4, p.Synthetic)
}}

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
	if p.Method.Name == colourSmall {
		return p.Method.Recipe.train(ctx, dev, images, colourDelta, r)
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
	const latent, embed = colourLatent, 4
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
