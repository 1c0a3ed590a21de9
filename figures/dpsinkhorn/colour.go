package dpsinkhorn

import (
	"fmt"
	"slices"
	"strings"

	"coupling/data"
	"coupling/data/sample"
	"coupling/dp/synth/dpsinkhorn"
	"coupling/figures/internal/kit"
	"coupling/figures/style"
	"coupling/lab"
	"coupling/score/eval/inception"
)

// Fig3 is Figure 3: private pictures in colour.
func Fig3() lab.Study[Params, Out] {
	s := colourStudy("fig3", "Figure 3: private pictures in colour at an ε that holds", semiDual, dpMERF, colourSmall,
		colourFree, colourRows, colourDCGAN, colourBigGAN, realPictures)
	s.Draw, s.Claims = drawColourPictures, func(v view) ([]lab.Claim, error) { return claimMethod(v), nil }
	return s
}

// Fig6 is Figure 6: pictures by two generators. Below the paper preset they learn nothing, and claims are about the
// small generator.
func Fig6() lab.Study[Params, Out] {
	s := colourStudy("fig6", "Figure 6: private pictures by DCGAN and BigGAN generators", colourDCGAN, colourBigGAN,
		colourSmall, colourFree, realPictures)
	s.Draw, s.Claims = drawColourPictures, claimGenerators
	return s
}

// Tab3 is Table 3: what private pictures in colour are worth.
func Tab3() lab.Study[Params, Out] {
	s := colourStudy("tab3", "Table 3: what private pictures in colour are worth at an ε that holds", semiDual, dpMERF,
		colourSmall, colourFree, colourRows, colourDCGAN, colourBigGAN, realPictures)
	s.Draw, s.Claims = func(v view) (lab.Exhibit, error) { return drawColourTable(v, "3") },
		claimColour("Table 3", map[string]triple{
			realPictures: {.919, .950, 1.1}, dpMERF: {.648, .65, 274}, colourFree: {.808, .822, 129.5},
			colourRows: {.762, .763, 189.5},
		})
	return s
}

// Tab6 is Table 6: the same for two generators.
func Tab6() lab.Study[Params, Out] {
	s := colourStudy("tab6", "Table 6: what pictures by DCGAN and BigGAN generators are worth", colourDCGAN,
		colourBigGAN, colourSmall, colourFree, realPictures)
	s.Draw, s.Claims = func(v view) (lab.Exhibit, error) { return drawColourTable(v, "6") }, claimGenerators
	return s
}

// colourStudy is what the figures and tables in colour share: the cells of some methods.
func colourStudy(name, title string, methods ...string) lab.Study[Params, Out] {
	return lab.Study[Params, Out]{
		Name: "dpsinkhorn/" + name, Title: title,
		Shows: "Pictures of two classes, 32 × 32 in colour, made with differential privacy by mechanisms of the " +
			"same (ε = 10, δ = 1e-6): semi-dual transport, DP-MERF, and DP-Sinkhorn with the clip that holds, by " +
			"DCGAN and by BigGAN generators, or at quick and full by dense layers that make small pictures. Below " +
			"the paper preset they are CIFAR-10's, animals and vehicles; at paper CelebA's faces, which users " +
			"bring, by gender. The paper's own ε is not justified: all rows share one batch.",
		Sizes: kit.ByPreset("CIFAR-10, 160 pictures, 60 synthetic ones, a few steps",
			"CIFAR-10 in two classes, 1000 synthetic ones, a CNN of a quarter of the width; DP-MERF 1000 features, "+
				"100 steps; DP-Sinkhorn 3000 steps of 10 pictures of 8 × 8, five trainings; 20 steps of 10 with "+
				"generators of 16 channels, which learn nothing in them",
			"CIFAR-10 (10,000 pictures where the subset is here) in two classes, 3000 synthetic ones, a CNN of a "+
				"quarter of the width; DP-MERF 2000 features, 400 steps; DP-Sinkhorn 10,000 steps of 10 pictures of "+
				"8 × 8, five trainings; 60 steps of 20 with generators of 32 channels, which learn nothing in them",
			"CelebA at 32 × 32, 162,770 faces by gender, 60,000 synthetic ones; DP-MERF 10,000 features; "+
				"DP-Sinkhorn 1.7 million steps of 50 (500 without privacy) with the paper's generators"),
		Seconds:    kit.ByPreset(2., 10*float64(len(methods)), 50*float64(len(methods))),
		Experiment: imagesOf,
		Grid: func(set lab.Setting) (out []Params) {
			for _, p := range colourGrid(set) {
				// is Figure 6's
				slow := p.Method.Steps < 100 && strings.Contains(p.Method.Name, "GAN") &&
					slices.Contains(methods, semiDual)
				if slices.Contains(methods, p.Method.Name) && (!slow || set.Preset == lab.Smoke) {
					out = append(out, p)
				}
			}
			return out
		},
	}
}

func colourGrid(set lab.Setting) []Params {
	p := set.Preset
	base := Params{
		Colour:    lab.Pick(p, "cifar10", "cifar10", "cifar10", "celeba"),
		Most:      kit.Smoke(p, 160, 0),
		Synthetic: lab.Pick(p, 60, 1000, 3000, 60000),
		Device:    set.Device,
		Judge: Judge{
			Width:     lab.Pick(p, 4, 8, 8, 32),
			Epochs:    kit.Smoke(p, 1, 0),
			Inception: inception.Chosen(),
			LeNet:     lab.Pick(p, 60, 1000, 3000, 60000),
			Images:    lab.Pick(p, 60, 500, 1000, 10000),
		},
	}
	if p != lab.Paper {
		base.Data = data.Choose("cifar10")
	}
	sinkhorn := Method{Epsilon: 10, Steps: lab.Pick(p, 2, 20, 60, 1_700_000), Batch: lab.Pick(p, 5, 10, 20, 50)}
	dcgan, biggan := sinkhorn, sinkhorn
	dcgan.Name, dcgan.Hidden = colourDCGAN, lab.Pick(p, 4, 16, 32, 64)
	biggan.Name, biggan.Hidden = colourBigGAN, lab.Pick(p, 4, 16, 32, 256)
	methods := []Method{
		{Name: semiDual, Epsilon: 10},
		{
			Name:    dpMERF,
			Epsilon: 10,
			Steps:   lab.Pick(p, 5, 100, 400, 3000),
			Batch:   100,
			Feature: lab.Pick(p, 100, 1000, 2000, 10000),
		},
		dcgan, biggan,
	}
	if p == lab.Paper { // the rows of Table 3 that spend no ε that holds
		free := Recipe{Hidden: 64, Images: 500, Batch: 500, Steps: 1_700_000, P: .4, Clip: .5, Rate: 1e-5}
		rows := free
		rows.Images, rows.Batch, rows.Rows = 50, 50, 1.9
		methods = append(methods, Method{Name: colourFree, Recipe: free}, Method{Name: colourRows, Recipe: rows})
	} else {
		small, free := recipeFor(set, false, 10), recipeFor(set, false, 0)
		small.Side, small.L1, small.Steps = 8, 0, lab.Pick(p, 3, 3000, 10_000, 0)
		small.Images, small.Rate = 10, 1e-3 // of four pairs the one that teaches most on held-out training pictures
		free.Side, free.L1, free.Steps = 8, 0, lab.Pick(p, 3, 1000, 1000, 0)
		methods = append(methods, Method{Name: colourSmall, Recipe: small}, Method{Name: colourFree, Recipe: free})
	}
	var out []Params
	for _, m := range append(methods, Method{Name: realPictures}) {
		c := base
		c.Method = m
		out = append(out, c)
		for c.Repeat = 1; c.Repeat < smallTrainings && p != lab.Smoke && m.Name == colourSmall; c.Repeat++ {
			out = append(out, c)
		}
	}
	return out
}

// smallTrainings is how many generators of small pictures are trained: what they teach differs by some points.
const smallTrainings = 5

// colourPublished are rows of Tables 3 and 6, on CelebA: accuracy in percent of MLP and CNN, and
// FID, which is not our distance.
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

// colourShown is how many pictures of each class are shown of a method.
const colourShown = 7

func drawColourPictures(v view) (lab.Exhibit, error) {
	first := v.Cells[0].Value
	grid := &style.ImageGrid{
		C:       3,
		H:       colourSide,
		W:       colourSide,
		Columns: 2 * colourShown,
		Title:   fmt.Sprintf("left: %s, right: %s", first.Classes[0], first.Classes[1]),
	}
	var nothing []string
	for _, run := range repeats(v.Cells) {
		c := run[0]
		if c.Params.Method.isReal() {
			continue
		}
		grid.Images = append(grid.Images, style.Rows(kit.Matrix(c.Open, "images.npy"))...)
		grid.RowLabels = append(grid.RowLabels, c.Params.Method.Name)
		if j := c.Value.Judged; max(j.Logistic, j.MLP, j.CNN) < c.Value.Guess+.03 {
			nothing = append(nothing, c.Params.Method.Name)
		}
	}
	caption := fmt.Sprintf("Pictures as they were drawn, of %s; small ones were enlarged. No real picture is shown.",
		first.Name)
	if len(nothing) > 0 {
		caption += " Nothing was learnt by " + strings.Join(nothing, " and by ") + ": no classifier of the pictures " +
			"is better by three points than a guess of the larger class."
	}
	p := v.Cells[0].Params
	return lab.Exhibit{
		Pictures: kit.Wide(grid, v.Badge(p.colourSizes(first.Name), sample.Note(p.Data, "cifar10")), caption),
		Notes:    colourNotes(v.Setting),
	}, nil
}

// drawColourTable is what the pictures are worth, beside the rows of a table of the paper.
func drawColourTable(v view, number string) (lab.Exhibit, error) {
	first := v.Cells[0].Value
	table := kit.Table("table"+number, fmt.Sprintf(
		"%s, two classes, ε = %g at δ = 1e-6: accuracy in percent on real test pictures of classifiers trained on "+
			"synthetic ones",
		first.Name, lab.Most(v.Cells, func(c cell) float64 { return c.Params.Method.Epsilon })),
		"method | ε | logistic | MLP | CNN | "+v.Cells[0].Params.Judge.distance()+" | KID | precision | recall "+
			"| coverage | attack AUC | FID as printed")
	for _, c := range means(v.Cells) {
		m, o, j := c.Params.Method, c.Value, c.Value.Judged
		table.Rows = append(table.Rows, []string{m.Name, o.privacy(), percent(j.Logistic), percent(j.MLP),
			percent(j.CNN),
			printed("%.2f", j.FD), printed("%.1f", 1000*j.KID), printed("%.2f", j.Precision), printed("%.2f", j.Recall),
			printed("%.2f", j.Coverage), printed("%.3f", j.AUC), ""})
	}
	guess := percent(first.Guess)
	table.Rows = append(table.Rows, []string{"always the larger class", "0", guess, guess, guess, "", "", "", "",
		"", "", ""})
	for _, p := range colourPublished {
		if strings.Contains(p.table, number) {
			table.Rows = append(table.Rows, []string{p.name, "", "", p.mlp, p.cnn, "", "", "", "", "", "",
				fmt.Sprint(p.fid)})
		}
	}
	return lab.Exhibit{Tables: []lab.Table{table}, Notes: colourNotes(v.Setting)}, nil
}

func colourNotes(set lab.Setting) []string {
	out := []string{
		distanceNote,
		"ε is for one picture more or less, label included, of the mechanism that ran. DP-Sinkhorn runs with the " +
			"whole-batch clip, whose accounting holds; where it is compared with the paper's rows, those are at an " +
			"ε that is " + dpsinkhorn.NotJustified + ".",
		fmt.Sprintf(
			"Accuracies are of one training of one generator, those of small pictures the means of %d; what is "+
				"shown is the first.", smallTrainings),
		"The semi-dual's pictures are colours and where they are, which is what classifiers learn from; edges lie " +
			"in frequencies that it leaves out. DP-MERF has its published generator, which was made for digits, and " +
			"features whose length grows as distances do; nothing of it was tuned here.",
	}
	if set.Preset == lab.Paper {
		return append(out,
			"Settings beside the paper's, on CelebA: the whole batch clipped to 0.5, and rows alone in the row as "+
				"printed (rows), at σ = 1.9 there and else the least for ε = 10 (1.9); |x − y|², λ = 5 by the "+
				"generators and 0.05 in the rows without privacy and as printed, which are of MNIST's DCGAN with a "+
				"code of 12 + 4.")
	}
	return append(out,
		"CIFAR-10 stands for CelebA, which its owners do not let others pass on: animals and vehicles in place of "+
			"women and men. Ten kinds of pictures of any pose are harder to draw than faces that look ahead, and "+
			"there are a sixteenth as many: rows of the paper are for orientation alone.",
		"The published generators run for "+lab.Pick(set.Preset, "2", "20", "60",
			"")+" steps here, of 1.7 million, and learn nothing in them. What two cores can train is ours: dense "+
			"layers that make pictures of 8 × 8, classes in turn, with the same clip and settings that were chosen "+
			"on held-out digits and training pictures.")
}

// claimColour asks what the paper's method is worth, and compares rows with a table of the paper, of CelebA:
// accuracies of MLP and CNN,
// and FID.
func claimColour(table string, printed map[string][3]float64) func(view) ([]lab.Claim, error) {
	return func(v view) ([]lab.Claim, error) {
		out := claimMethod(v)
		other := "other pictures, and few steps"
		for _, c := range means(v.Cells) {
			name, j := c.Params.Method.Name, c.Value.Judged
			want, ok := printed[name]
			if !ok {
				continue
			}
			out = append(out, claimFID(v.Preset, c.Params.Judge, name, table, j.FD, want[2], guessing)...)
			for k, a := range []float64{j.MLP, j.CNN} {
				out = append(out, kit.NearUnless(lab.Pick(v.Preset, other, other, other, ""),
					name+": "+classifiers[1+k], table+", at an ε that does not hold", a, want[k], .03,
					"another clip and another protocol", guessing))
			}
		}
		return out, nil
	}
}

// claimGenerators compares both generators with Table 6.
var claimGenerators = claimColour("Table 6", map[string]triple{colourDCGAN: {.7496, .7462, 156.7},
	colourBigGAN: {.7618, .7579, 168.4}})

const (
	colourSide   = 32
	colourLatent = 32 // of generators
)

func (p Params) colourSizes(name string) string {
	if p.Most > 0 {
		return fmt.Sprintf("%d pictures of CIFAR-10 in place of CelebA", p.Most)
	}
	return fmt.Sprintf("%s in place of CelebA, %d synthetic pictures, DP-Sinkhorn of few steps", name, p.Synthetic)
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
	for class := range 2 {
		for k := range colourShown {
			order = append(order, 2*k+class)
		}
	}
	return m.Take(order)
}
