package dpsinkhorn

import (
	"fmt"
	"strings"

	"coupling/data"
	"coupling/data/sample"
	"coupling/dp/synth/dpsinkhorn"
	"coupling/figures/artifact"
	"coupling/figures/style"
	"coupling/lab"
)

// Colour is Figures 3 and 6 and Tables 3 and 6: pictures of two classes in colour.
func Colour() lab.Figure {
	return lab.Figure{
		Name:  "dpsinkhorn/colour",
		Title: "Figures 3 and 6, Tables 3 and 6: private pictures in colour at an ε that holds",
		Shows: "Pictures of two classes, 32 × 32 in colour, made with differential privacy by mechanisms of the same (ε = 10, δ = 1e-6): semi-dual transport, DP-MERF, and DP-Sinkhorn with the clip that holds, by DCGAN and by BigGAN generators. " +
			"At smoke and quick they are CIFAR-10's, animals and vehicles; at paper CelebA's faces, which users bring, by gender. The paper's own ε is not justified: all rows share one batch.",
		Sizes: map[lab.Preset]string{
			lab.Smoke: "CIFAR-10, 160 pictures, 60 synthetic ones, a few steps, no classifiers of real pictures",
			lab.Quick: "CIFAR-10 (10,000 pictures where the subset is here) in two classes, 3000 synthetic ones, a CNN of a quarter of the width; DP-MERF 2000 features, 400 steps; DP-Sinkhorn 60 steps of 20 with generators of 32 channels",
			lab.Paper: "CelebA at 32 × 32, 162,770 faces by gender, 60,000 synthetic ones; DP-MERF 10,000 features; DP-Sinkhorn 160,000 steps of 50 (the paper: 1.7 million) with the paper's generators",
		},
		Decoders: []lab.Decoder{colourOf.Decoder()},
		Jobs:     func(set lab.Setting) ([]lab.Job, error) { return colourOf.Jobs(set.Seed, colourGrid(set)...), nil },
		Draw:     drawColour,
		Claims:   claimColour,
	}
}

func colourGrid(set lab.Setting) []colourParams {
	p := set.Preset
	base := colourParams{
		CelebA: p == lab.Paper, Most: pick(p, 160, 0, 0), Synthetic: pick(p, 60, 3000, 60000), Epsilon: 10, Device: set.Device,
		Judge: Judge{Width: pick(p, 4, 8, 32), Epochs: pick(p, 1, 0, 0), LeNet: pick(p, 60, 3000, 60000), Images: pick(p, 60, 1000, 10000)},
	}
	if !base.CelebA {
		base.Data = data.Choose("cifar10")
	}
	sinkhorn := colourMethod{Steps: pick(p, 2, 60, 160_000), Batch: pick(p, 5, 20, 50)}
	dcgan, biggan := sinkhorn, sinkhorn
	dcgan.Name, dcgan.Hidden = colourDCGAN, pick(p, 4, 32, 64)
	biggan.Name, biggan.Hidden = colourBigGAN, pick(p, 4, 32, 256)
	var out []colourParams
	methods := []colourMethod{
		{Name: semiDual},
		{Name: dpMERF, Steps: pick(p, 5, 400, 3000), Batch: 100, Feature: pick(p, 100, 2000, 10000)},
		dcgan, biggan,
	}
	if p != lab.Smoke {
		methods = append(methods, colourMethod{Name: realPictures})
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

func drawColour(s *lab.Store, set lab.Setting) (lab.Exhibit, error) {
	cells, err := lab.RecallAll(s, colourOf, set.Seed, colourGrid(set))
	if err != nil {
		return lab.Exhibit{}, err
	}
	first := cells[0].Value
	grid := &style.ImageGrid{C: 3, H: 32, W: 32, Columns: 2 * colourShown,
		Title: fmt.Sprintf("left: %s, right: %s", first.Classes[0], first.Classes[1])}
	table := lab.Table{Name: "tables3and6", Caption: first.Name + ", two classes, ε = 10 at δ = 1e-6: accuracy in percent on real test pictures of classifiers trained on synthetic ones",
		Header: []string{"table", "method", "ε", "logistic", "MLP", "CNN", "FD-LeNet", "precision", "recall", "coverage", "attack AUC", "seconds", "FID as printed"}}
	for _, c := range cells {
		m, v, j := c.Params.Method, c.Value, c.Value.Judged
		eps, auc := spent(v.Epsilon, v.Kind), fmt.Sprintf("%.3f", j.AUC)
		if m.Name == realPictures {
			eps, auc = "∞", ""
		} else {
			rows, err := artifact.Read(c.Open, "images.npy")
			if err != nil {
				return lab.Exhibit{}, err
			}
			for k := 0; k < 4*colourShown; k += 2 * colourShown {
				grid.Images = append(grid.Images, style.Rows(rows.Slice(k, k+2*colourShown, 0, rows.RawMatrix().Cols))...)
			}
			grid.RowLabels = append(grid.RowLabels, m.Name, "")
		}
		table.Rows = append(table.Rows, []string{"", m.Name, eps, percent(j.Logistic), percent(j.MLP), percent(j.CNN),
			fmt.Sprintf("%.2f", j.FD), fmt.Sprintf("%.2f", j.Precision), fmt.Sprintf("%.2f", j.Recall), fmt.Sprintf("%.2f", j.Coverage), auc, fmt.Sprintf("%.0f", v.Seconds), ""})
	}
	guess := percent(first.Guess)
	table.Rows = append(table.Rows, []string{"", "always the larger class", "0", guess, guess, guess, "", "", "", "", "", "", ""})
	for _, p := range colourPublished {
		table.Rows = append(table.Rows, []string{p.table, p.name, "", "", p.mlp, p.cnn, "", "", "", "", "", "", fmt.Sprint(p.fid)})
	}
	return lab.Exhibit{
		Pictures: []lab.Picture{{Caption: fmt.Sprintf("Pictures as they were drawn, of %s. No real picture is shown.", first.Name),
			Drawing: style.Figure{Body: grid, Width: style.TwoColumns, Badge: badge(set, cells[0].Params.sizes(first.Name), sample.Note(cells[0].Params.Data, "cifar10"))}}},
		Tables: []lab.Table{table},
		Notes:  colourNotes(set),
	}, nil
}

func colourNotes(set lab.Setting) []string {
	out := []string{
		"FD-LeNet is the Fréchet distance in features of a LeNet trained on real pictures here: comparable within this table only, and not with the FID that the paper prints.",
		"ε is for one picture more or less, label included, of the mechanism that ran. DP-Sinkhorn runs with the whole-batch clip, whose accounting holds; where it is compared with the paper's rows, those are at an ε that is " + dpsinkhorn.NotJustified + ".",
		"Accuracies are of one training of one generator.",
		"The semi-dual's pictures are colours and where they are, which is what classifiers learn from; edges lie in frequencies that it leaves out. DP-MERF has its published generator, which was made for digits, and features whose length grows as distances do; nothing of it was tuned here.",
	}
	if set.Preset != lab.Paper {
		out = append(out, "CIFAR-10 stands for CelebA, which its owners do not let others pass on: animals and vehicles in place of women and men. Ten kinds of pictures of any pose are harder to draw than faces that look ahead, and there are a sixteenth as many: rows of the paper are for orientation alone.",
			"DP-Sinkhorn runs for "+pick(set.Preset, "2", "60", "")+" steps here, of the 1.7 million that it is published with, and learns nothing in them: two cores cannot say what it is worth, only what it gives in the same time.")
	}
	return out
}

func claimColour(s *lab.Store, set lab.Setting) (out []lab.Claim, err error) {
	cells, err := lab.RecallAll(s, colourOf, set.Seed, colourGrid(set))
	if err != nil {
		return nil, err
	}
	small := pick(set.Preset, "160 pictures and a few steps", "", "")
	ours := cells[0].Value.Judged
	for _, c := range cells {
		m, v := c.Params.Method, c.Value
		if m.Name == realPictures {
			out = append(out, facesColour(c.Params, v)...)
			continue
		}
		out = append(out, lab.Claim{What: m.Name + ": ε of what ran", Source: "its accounting", Got: v.Epsilon, Relation: lab.AtMost, Want: c.Params.Epsilon, Why: "the budget"})
		if m.Name == semiDual {
			out = append(append(out, semiDualColour(v, small)...), facesColour(c.Params, v)...)
			continue
		}
		what := "semi-dual: %s, less that of " + strings.ReplaceAll(m.Name, "%", "%%")
		out = append(out,
			lab.Claim{What: fmt.Sprintf(what, "MLP"), Source: "who wins at the same ε", Got: ours.MLP - v.Judged.MLP, Relation: lab.AtLeast, Why: "a comparison", SkipReason: small},
			lab.Claim{What: fmt.Sprintf(what, "CNN"), Source: "who wins at the same ε", Got: ours.CNN - v.Judged.CNN, Relation: lab.AtLeast, Why: "a comparison", SkipReason: small},
			lab.Claim{What: fmt.Sprintf(what, "recall"), Source: "who is more diverse at the same ε", Got: ours.Recall - v.Judged.Recall, Relation: lab.AtLeast, Why: "a comparison", SkipReason: small},
			lab.Claim{What: "semi-dual: FD-LeNet over that of " + m.Name, Source: "who is nearer at the same ε", Got: ours.FD / v.Judged.FD, Relation: lab.AtMost, Want: 1, Why: "a comparison", SkipReason: small})
	}
	return out, nil
}

// semiDualColour is what the semi-dual has to be worth.
func semiDualColour(v colourOut, small string) (out []lab.Claim) {
	for k, a := range []float64{v.Judged.MLP, v.Judged.CNN} {
		out = append(out, lab.Claim{What: "semi-dual: " + []string{"MLP", "CNN"}[k] + " over a guess of the larger class", Source: "what a private set should be worth", Got: a - v.Guess, Relation: lab.AtLeast, Want: .1, Why: "a bound", SkipReason: small})
	}
	return out
}

// facesColour compares with what the paper prints, of CelebA: on other pictures its numbers say nothing.
func facesColour(p colourParams, v colourOut) (out []lab.Claim) {
	if !p.CelebA {
		return nil
	}
	for k, a := range []float64{v.Judged.MLP, v.Judged.CNN} {
		name := []string{"MLP", "CNN"}[k]
		if p.Method.Name == realPictures {
			out = append(out, lab.Claim{What: "real data: " + name, Source: "Tables 3 and 6", Got: a, Want: []float64{.919, .950}[k], RelTol: .03, Why: "a third of the training pictures, another protocol"})
			continue
		}
		out = append(out, lab.Claim{What: "semi-dual: " + name + " against the paper's DP-Sinkhorn at an ε that does not hold", Source: "Table 3", Got: a, Relation: lab.AtLeast, Want: []float64{.762, .763}[k], Why: "a comparison"})
	}
	return out
}
