package dpsinkhorn

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"coupling/data/sample"
	"coupling/dp"
	"coupling/dp/synth/dpsinkhorn"
	"coupling/figures/internal/kit"
	"coupling/figures/style"
	"coupling/lab"

	"gonum.org/v1/plot"
)

// A publishedRow is a row of the paper's Table 1: FID, and accuracy in percent of logistic regression, MLP and CNN; 0:
// not given. of is our method of the same mechanism, if there is one.
type publishedRow struct {
	name string
	of   string
	fid  float64
	acc  [3]float64
}

// published are the rows of MNIST and of Fashion-MNIST (true).
var published = map[bool][]publishedRow{
	false: {
		{"DP-Sinkhorn, paper (ε " + dpsinkhorn.NotJustified + ")", asPrinted, 48.4, triple{82.8, 82.7, 83.2}},
		{"real data, paper", realData, 1.6, triple{92.2, 97.5, 99.3}},
		{"non-private Sinkhorn, m = 1, paper", nonPrivate1, 54.2, triple{89.0, 89.0, 91.0}},
		{"non-private Sinkhorn, m = 3, paper", nonPrivate3, 43.4, triple{87.7, 87.3, 90.6}},
		{"G-PATE, paper, ε = 10", "", 177.2, triple{0, 26, 25}},
		{"DP-CGAN, paper, ε = 10", "", 179.2, triple{60, 60, 63}},
		{"DataLens, paper, ε = 10", "", 173.5, triple{0, 0, 80.66}},
		{"DP-MERF, paper, ε = 10", dpMERF, 116.3, triple{79.4, 78.3, 82.1}},
		{"GS-WGAN, paper (the same accounting)", "", 61.3, triple{79, 79, 80}},
	},
	true: {
		{"DP-Sinkhorn, paper (ε " + dpsinkhorn.NotJustified + ")", asPrinted, 128.3, triple{75.1, 74.6, 71.1}},
		{"real data, paper", realData, 2.5, triple{84.5, 88.2, 90.8}},
		{"non-private Sinkhorn, m = 1, paper", nonPrivate1, 65.8, triple{78.4, 79.1, 73.9}},
		{"non-private Sinkhorn, m = 3, paper", nonPrivate3, 63.8, triple{78.4, 78.4, 73.3}},
		{"G-PATE, paper, ε = 10", "", 205.8, triple{42, 30, 50}},
		{"DP-CGAN, paper, ε = 10", "", 243.8, triple{51, 50, 46}},
		{"DataLens, paper, ε = 10", "", 167.7, triple{0, 0, 70.61}},
		{"DP-MERF, paper, ε = 10", dpMERF, 132.6, triple{75.5, 74.5, 75.4}},
		{"GS-WGAN, paper (the same accounting)", "", 131.3, triple{68, 65, 65}},
	},
}

// bySet calls draw with the cells of each data set.
func bySet(v view, draw func(cells []cell, fashion bool)) {
	for _, fashion := range []bool{false, true} {
		if cells := v.Where(func(p Params) bool { return p.Fashion == fashion }); len(cells) > 0 {
			draw(cells, fashion)
		}
	}
}

// shownImages is two of each class.
const shownImages = 20

// drawImages is a picture of each ε, the largest first, with both data sets side by side.
func drawImages(v view) (out lab.Exhibit, err error) {
	first := v.Cells[0].Params
	for _, eps := range epsilons(v.Cells) {
		panels := style.Panels{Columns: 1}
		bySet(v, func(cells []cell, fashion bool) {
			panels.Columns = len(panels.Items) + 1
			panels.Items = append(panels.Items, utilityImages(means(cells), fashion, eps))
		})
		name, at := fmt.Sprintf("epsilon-%g", eps), fmt.Sprintf("at ε = %g and δ = 1e-5", eps)
		if eps == 0 {
			name, at = "without", "by methods of which no ε that holds was asked"
		}
		out.Pictures = append(out.Pictures, kit.Picture(name, panels,
			v.Badge(first.sizes(), sample.Note(first.Data, "mnist")), fmt.Sprintf(
				"One image of each class %s, as they were drawn. No real image is shown.", at)))
	}
	out.Notes = utilityNotes(v)
	return out, nil
}

// epsilons are those of cells, the largest first, and 0 for those without.
func epsilons(cells []cell) (out []float64) {
	for _, c := range cells {
		if m := c.Params.Method; !m.isReal() && !slices.Contains(out, m.Epsilon) {
			out = append(out, m.Epsilon)
		}
	}
	slices.Sort(out)
	slices.Reverse(out)
	return out
}

// drawAccuracy draws the methods that keep takes over ε, a picture of each data set.
func drawAccuracy(keep func(Method) bool) func(view) (lab.Exhibit, error) {
	return func(v view) (out lab.Exhibit, err error) {
		bySet(v, func(cells []cell, fashion bool) {
			p, name := cells[0].Params, strings.ToLower(setName(fashion))
			some := slices.DeleteFunc(slices.Clone(cells),
				func(c cell) bool { return c.Params.Method.epsilon() == 0 || !keep(c.Params.Method) })
			out.Pictures = append(out.Pictures, kit.Picture(name, utilityCurves(some, fashion),
				v.Badge(p.sizes(), sample.Note(p.Data, name)),
				"Accuracy on real test images against ε, at δ = 1e-5; a bar is one standard error. The level line "+
					"is what the paper reports for DP-Sinkhorn: at ε = 10 by an accounting that is "+
					dpsinkhorn.NotJustified+"."))
		})
		out.Notes = utilityNotes(v)
		return out, nil
	}
}

func drawTab1(v view) (out lab.Exhibit, err error) {
	bySet(v, func(cells []cell, fashion bool) {
		out.Tables = append(out.Tables, utilityTable(cells, fashion))
		if cells[0].Params.Judge.Protocols > 0 {
			out.Tables = append(out.Tables, protocolTable(cells, fashion))
		}
	})
	out.Tables = append(out.Tables, settingsTable(v))
	out.Notes = utilityNotes(v)
	return out, err
}

func utilityNotes(v view) (out []string) {
	if v.Preset != lab.Paper {
		out = append(out,
			"The recipe of DP-Sinkhorn is for seconds of two cores, not the paper's: "+smallSizes(
				v.Preset)+", which is ours. "+signalNote, chosenNote)
	}
	return append(out,
		"ε is for one image more or less, label included, of the mechanism that ran; the table says whether it is "+
			"exact. Settings of the semi-dual were found on these data sets, those of DP-SGD on MNIST, which no ε "+
			"counts.",
		"DP-SGD trains a class-conditional denoiser of low frequencies on two cores in half a minute; much larger "+
			"networks, trained for hours on GPUs, do better (Dockhorn et al. 2023).",
		"The attack guesses members by their distance to the nearest synthetic image: 0.5 is a coin. It knows "+
			"nothing of training, so that what all methods have in common is how training and test images differ, "+
			"not a leak.",
		distanceNote,
		fmt.Sprintf(
			"After ±, where it is given, is the standard deviation of %d trainings; the paper's means are of five. "+
				"Other numbers are of one training. The 95 %% interval of a test set of 10,000 alone is ±0.6 points "+
				"at 90 %%.", len(repeats(v.Cells)[0])),
	)
}

// setName names a data set.
func setName(fashion bool) string {
	if fashion {
		return "Fashion-MNIST"
	}
	return "MNIST"
}

// utilityImages is a row for each method at an ε.
func utilityImages(cells []cell, fashion bool, eps float64) *style.ImageGrid {
	grid := &style.ImageGrid{C: 1, H: 28, W: 28, Columns: 10, Title: setName(fashion), Invert: true}
	for _, c := range cells {
		if m := c.Params.Method; !m.isReal() && m.Epsilon == eps {
			grid.Images, grid.RowLabels = append(grid.Images, style.Rows(kit.Matrix(c.Open, "images.npy"))[:10]...),
				append(grid.RowLabels, m.Name)
		}
	}
	return grid
}

func utilityTable(cells []cell, fashion bool) lab.Table {
	name := setName(fashion)
	table := lab.Table{Name: strings.ToLower(name),
		Caption: name + ": accuracy in percent on real test images of classifiers trained on synthetic ones",
		Header:  append(utilityHeader(cells[0].Params.Judge), "FID as printed")}
	for _, run := range repeats(cells) {
		table.Rows = append(table.Rows, append(utilityRow(run), ""))
	}
	for _, p := range published[fashion] {
		row := []string{p.name, ""}
		for _, acc := range p.acc {
			row = append(row, given(acc))
		}
		table.Rows = append(table.Rows, append(row, "", "", "", "", "", "", given(p.fid)))
	}
	return table
}

func utilityHeader(j Judge) []string {
	return []string{"method", "ε", "logistic", "MLP", "CNN", j.distance(), "KID", "precision", "recall", "coverage",
		"attack AUC"}
}

// utilityRow is what several trainings of a method are worth.
func utilityRow(run []cell) []string {
	j, off := meanDeviation(run)
	return []string{
		run[0].Params.Method.Name, run[0].Value.privacy(), plusMinus(j.Logistic, off.Logistic),
		plusMinus(j.MLP, off.MLP), plusMinus(j.CNN, off.CNN), plusMinus(j.FD/100, off.FD/100),
		printed("%.1f", 1000*j.KID), printed("%.2f", j.Precision), printed("%.2f", j.Recall),
		printed("%.2f", j.Coverage), printed("%.3f", j.AUC),
	}
}

// privacy says what a row spent.
func (o Out) privacy() string {
	switch {
	case o.Epsilon == 0:
		return "no privacy"
	case o.Published > 0:
		return spent(o.Epsilon, o.Kind) + "; as published " + dp.FormatUp(o.Published, 3) + ", " +
			dpsinkhorn.NotJustified
	}
	return spent(o.Epsilon, o.Kind)
}

// plusMinus prints a mean in percent, with the deviation of several trainings.
func plusMinus(mean, deviation float64) string {
	if deviation == 0 {
		return percent(mean)
	}
	return percent(mean) + " ± " + percent(deviation)
}

// given prints a number that a paper gives.
func given(v float64) string {
	if v == 0 {
		return ""
	}
	return fmt.Sprint(v)
}

// protocolTable has the accuracies by the paper's protocol and by that of its code, which differ.
func protocolTable(cells []cell, fashion bool) lab.Table {
	out := lab.Table{Name: strings.ToLower(setName(fashion)) + "-protocols",
		Caption: fmt.Sprintf(
			"%s: accuracy in percent of classifiers trained on %d synthetic images as the paper says, and as its "+
				"code does, which makes their dark half black; in brackets what the paper prints. The paper's CNN "+
				"has two convolutions and Adam, the code's three and plain gradient descent.",
			setName(fashion),
			cells[0].Params.Judge.Protocols)}
	out.Header = []string{"method", "ε", "paper: logistic", "MLP", "CNN", "code: logistic", "MLP", "CNN",
		"with the dark half black: " + cells[0].Params.Judge.distance()}
	for _, c := range cells {
		if c.Params.Judge.Protocols == 0 || c.Params.Repeat > 0 {
			continue
		}
		row := []string{c.Params.Method.Name, c.Value.privacy()}
		for _, by := range c.Value.Judged.By {
			for k, a := range by {
				row = append(row, besides(percent(a), publishedOf(fashion, c.Params.Method).acc[k]))
			}
		}
		out.Rows = append(out.Rows, append(row, printed("%.1f", c.Value.Judged.Dark)))
	}
	return out
}

// publishedOf is the paper's row of a method; zero where there is none, or at another ε.
func publishedOf(fashion bool, m Method) publishedRow {
	for _, p := range published[fashion] {
		if p.of == m.Name && (m.Epsilon == 0 || m.Epsilon == 10) {
			return p
		}
	}
	return publishedRow{}
}

// utilityCurves is accuracy against ε, a panel for each classifier and a line for each method, with a bar at the
// means of several trainings.
func utilityCurves(cells []cell, fashion bool) style.Panels {
	out := style.Panels{Columns: 3}
	eps := kit.Each(cells, func(c cell) float64 { return c.Params.Method.Epsilon })
	runs := repeats(cells)
	for k, title := range classifiers {
		var lines []style.Line
		var items []plot.Plotter
		for _, run := range runs {
			name, x := run[0].Params.Method.Name, run[0].Params.Method.Epsilon
			i := slices.IndexFunc(lines, func(l style.Line) bool { return l.Name == name })
			if i < 0 {
				i, lines = len(lines), append(lines, style.Line{Name: name, Series: len(lines), Marks: true})
			}
			s := percentOf(spreadOf(run, accuracy(k)))
			lines[i].X, lines[i].Y = append(lines[i].X, x), append(lines[i].Y, s.mean)
			items = append(items, whisker(i, x, s))
		}
		at := published[fashion][0].acc[k]
		lines = append(lines, style.Line{
			Name:   "DP-Sinkhorn as published, at ε = 10 " + dpsinkhorn.NotJustified,
			Series: len(lines),
			X:      []float64{slices.Min(eps), slices.Max(eps)},
			Y:      []float64{at, at},
		})
		for _, l := range lines {
			items = append(items, l)
		}
		out.Items = append(out.Items, style.Plot{
			Title: title,
			X:     style.Axis{Label: "ε", Log: true},
			Y:     style.Axis{Label: "accuracy", Unit: "%"},
			Items: items,
		})
	}
	return out
}

func percent(v float64) string { return printed("%.1f", 100*v) }

// settingsTable is the paper's appendix D beside what its code does and what ran, so that no difference is silent.
func settingsTable(v view) lab.Table {
	var sound, printed, free Recipe
	var p Params
	for _, c := range v.Cells {
		if p = c.Params; p.Fashion {
			break
		}
		switch p.Method.Name {
		case wholeBatch:
			sound = p.Method.Recipe
		case asPrinted:
			printed = p.Method.Recipe
		case nonPrivate1:
			free = p.Method.Recipe
		}
	}
	p = v.Cells[0].Params
	t := sound.training(60_000)
	generator, latent, classes := fmt.Sprintf("DCGAN, %d·(4, 2, 1) channels", sound.Hidden), "12 + 4", "at random"
	if t.Net.MLP != nil {
		generator = fmt.Sprintf("dense, %v, to images of %d × %d, enlarged", t.Net.MLP.Hidden, sound.Side, sound.Side)
		latent, classes = fmt.Sprintf("%d + %d", t.Net.MLP.Latent, t.Net.MLP.Embed), "in turn"
	}
	schedule := "constant"
	if sound.Fall {
		schedule = "rising in the first tenth, then to 0 along half a cosine"
	}
	both := func(of func(Recipe) string) string {
		if of(sound) == of(printed) || printed.Steps == 0 {
			return of(sound)
		}
		return of(sound) + "; as printed: " + of(printed)
	}
	return kit.Table("settings",
		"Appendix D of the paper, its code, and what ran here on MNIST: the sound recipe, and the printed one where "+
			"it differs", "setting | paper | its code | here",
		kit.Row("generator | DCGAN, 256, 128, 64 channels, ReLU | the same, leaky ReLU 0.2 | %s", generator),
		kit.Row("latent code and embedding | 12 + 4 | 16 + 8 | %s", latent),
		kit.Row("classes of a batch | at random | at random | %s", classes),
		kit.Row("cost | |x − y|² + m|x − y|, m = 1 (Fashion-MNIST 3) | the same | %s",
			both(func(r Recipe) string { return fmt.Sprintf("m = %g", r.L1) })),
		kit.Row("weight of classes α, λ | 15, 0.05 | 15, 0.05 | %g, %g", cmp.Or(t.Loss.Label, 15),
			cmp.Or(t.Loss.Blur, .05)),
		kit.Row("updates of the potentials | GeomLoss, scaling 0.5 | the same, some 13 | the same, scaling %g",
			cmp.Or(t.Loss.Scaling, .5)),
		kit.Row("fresh images p | 0.4 | 0.2 | %s", both(func(r Recipe) string { return fmt.Sprint(r.P) })),
		kit.Row("images of a step, private ones expected | 50, 50; without privacy 500 | as many as the private "+
			"ones, 50 | %s",
			both(func(r Recipe) string { return fmt.Sprintf("%d, %d", r.Images, r.Batch) })+
				fmt.Sprintf("; without privacy %d, %d", free.Images, free.Batch)),
		kit.Row("what is clipped | each row, to 0.5 | the whole batch, to 0.5 | %s", both(clipped)),
		kit.Row("noise multiplier σ | 1.5 (Fashion-MNIST 1.9) | 1.1 (0.9) | %s", both(func(r Recipe) string {
			if r.Rows > 0 {
				return fmt.Sprint(r.Rows)
			}
			return fmt.Sprintf("the least for ε = %g", r.Epsilon)
		})),
		kit.Row("steps | 160,000 (280,000) | 3,446,400 (1,812,000) | %s",
			both(func(r Recipe) string { return fmt.Sprint(r.Steps) })),
		kit.Row("optimiser | Adam, rate 1e-4 (1e-5), decay 2e-5 | Adam, rate 1e-5, decay 1e-5 | Adam, rate %g, %s, "+
			"decay %g",
			sound.Rate, schedule, t.Adam.Decay),
		kit.Row("accounting | %s | Rényi, T steps | exact, T steps",
			"Rényi, n·T rows, each a sample of its own: "+dpsinkhorn.NotJustified),
		kit.Row("synthetic images | 60,000 | 60,000, dark half black | %v", p.Synthetic),
		kit.Row("logistic regression | scikit-learn's L-BFGS, 5000 iterations | Adam 1e-4, 300 epochs, patience 10 "+
			"| %s",
			p.Judge.how()),
		kit.Row("MLP | 100 units, Adam, patience 30 | the same, Adam 1e-4 | %s", p.Judge.how()),
		kit.Row("CNN | 32, 64, dropout 0.5, Adam, patience 30 | 32, 64, 128, gradient descent 1e-3, patience 60 | "+
			"%d channels first; %s",
			p.Judge.Width, p.Judge.how()),
		kit.Row("means | of 5 trainings | – | of %d", len(repeats(v.Cells)[0])))
}

func clipped(r Recipe) string {
	if r.Rows > 0 {
		return fmt.Sprintf("each row, to %g", r.Clip)
	}
	return fmt.Sprintf("the whole batch, to %g", r.Clip)
}

// how says by which protocols classifiers learn.
func (j Judge) how() string {
	if j.Protocols > 0 {
		return fmt.Sprintf("ours for two cores; the paper's and the code's on %d images", j.Protocols)
	}
	return "ours for two cores (package eval, Quick)"
}
