package dpsinkhorn

import (
	"fmt"
	"slices"

	"coupling/data"
	"coupling/data/sample"
	"coupling/figures/internal/kit"
	"coupling/figures/style"
	"coupling/lab"
)

// A task is a data set on which the semi-dual is measured against a goal.
type task struct {
	name            string
	fashion, colour bool
	method          string
	// goal is the accuracy of a CNN in percent that the project asks of itself at each ε of frontierEps, best that of DP-FETA in
	// DPImageBench, the best there without public images; 0: there is none.
	goal, best [3]float64
	// least is what the first training reached at full, less a point; 0: it was not measured.
	least [3]float64
}

var frontierEps = [3]float64{10, 1, .3}

var tasks = []task{
	{name: "MNIST", method: handwritten, goal: [3]float64{98.2, 97.5, 96}, best: [3]float64{98.1, 95.6}, least: [3]float64{95.5, 95.1, 94.1}},
	{name: "Fashion-MNIST", fashion: true, method: semiDual, goal: [3]float64{87.5, 83, 80}, best: [3]float64{87.3, 81.7}, least: [3]float64{77.9, 77.2, 76.2}},
	{name: "CIFAR-10", colour: true, method: semiDual, goal: [3]float64{40, 33}, best: [3]float64{43.3, 35.1}, least: [3]float64{39.2}},
}

// Frontier is what the semi-dual's images are worth on three data sets, beside goals and the best published numbers.
func Frontier() lab.Study[Params, Out] {
	return lab.Study[Params, Out]{
		Name: "dpsinkhorn/frontier", Title: "What private images of the semi-dual are worth on three data sets",
		Shows: "Accuracy on real test images of a CNN that was trained on images of the semi-dual alone, at ε = 10, 1 and 0.3 and δ = 1e-5: the mean and the standard deviation of several trainings, " +
			"beside the project's goal and DP-FETA's accuracy in DPImageBench, the best there without public images.",
		Sizes: map[lab.Preset]string{
			lab.Smoke: "MNIST, 1500 digits, 300 synthetic ones, ε = 10 and 0.3",
			lab.Quick: "MNIST at three ε, Fashion-MNIST and CIFAR-10 at ε = 1; 3000 synthetic images, a CNN of a quarter of the width; one training each",
			lab.Full:  "MNIST, Fashion-MNIST and CIFAR-10 (10,000 pictures where the subset is here), 10,000 synthetic images, a CNN of half width; three trainings each",
			lab.Paper: "the same, 60,000 synthetic images and a CNN of full width; three trainings each",
		},
		Seconds:    map[lab.Preset]float64{lab.Smoke: 2, lab.Quick: 40, lab.Full: 500},
		Experiment: imagesOf,
		Grid:       frontierGrid,
		Draw:       drawFrontier,
		Claims:     claimFrontier,
	}
}

func frontierGrid(set lab.Setting) (out []Params) {
	base := utilityBase(set)
	base.Synthetic, base.Judge.Protocols = lab.Pick(set.Preset, base.Synthetic, base.Synthetic, 10_000, 60_000), 0
	for i, t := range tasks {
		if set.Preset == lab.Smoke && i > 0 {
			break
		}
		c := base
		if c.about(t.fashion); t.colour {
			c.Colour, c.Data = cifarClasses, data.Choose("cifar10")
		}
		for _, eps := range frontierEps {
			if set.Preset == lab.Smoke && eps == 1 || set.Preset == lab.Quick && i > 0 && eps != 1 {
				continue
			}
			c.Method = Method{Name: t.method, Epsilon: eps}
			for c.Repeat = range lab.Pick(set.Preset, 1, 1, 3, 3) {
				out = append(out, c)
			}
		}
	}
	return out
}

// taskOf returns a cell's task and the place of its ε.
func taskOf(p Params) (t task, at int) {
	k := slices.IndexFunc(tasks, func(t task) bool { return t.fashion == p.Fashion && t.colour == (p.Colour != "") })
	return tasks[k], slices.Index(frontierEps[:], p.Method.Epsilon)
}

func drawFrontier(v view) (lab.Exhibit, error) {
	table := lab.Table{Name: "frontier", Caption: "Accuracy in percent on real test images of classifiers trained on synthetic ones; goals and DP-FETA's accuracies are of a CNN",
		Header: append([]string{"data", "goal of the CNN", "DP-FETA"}, utilityHeader(v.Cells[0].Params.Judge)...)}
	panels := style.Panels{Columns: 1}
	var grid *style.ImageGrid
	for _, run := range repeats(v.Cells) {
		c := run[0]
		t, at := taskOf(c.Params)
		table.Rows = append(table.Rows, append([]string{c.Value.Name, given(t.goal[at]), given(t.best[at])}, utilityRow(run)...))
		if grid == nil || grid.Title != t.name {
			grid = &style.ImageGrid{C: 1, H: 28, W: 28, Columns: shownImages, Title: t.name, Invert: !t.colour}
			if t.colour {
				grid.C, grid.H, grid.W = 3, 32, 32
			}
			panels.Items = append(panels.Items, grid)
		}
		grid.Images, grid.RowLabels = append(grid.Images, style.Rows(kit.Matrix(c.Open, "images.npy"))[:shownImages]...), append(grid.RowLabels, fmt.Sprintf("ε = %g", c.Params.Method.Epsilon))
	}
	return lab.Exhibit{
		Pictures: kit.Wide(panels, v.Badge(fmt.Sprintf("%d synthetic images", v.Cells[0].Params.Synthetic), sample.Note(v.Cells[0].Params.Data, "mnist")), "Two of each class, as they were drawn. No real image is shown."),
		Tables:   []lab.Table{table},
		Notes: []string{distanceNote,
			"DP-FETA's accuracies are of DPImageBench's own networks (WideResNet, ResNet, ResNeXt), on all 50,000 pictures of CIFAR-10 and at δ = 1/(N log N). Settings were not chosen on test images.",
		},
	}, nil
}

// claimFrontier asks that accuracy does not fall with ε, and that each mean is what was measured before.
func claimFrontier(v view) (out []lab.Claim, err error) {
	v.Cells = means(v.Cells)
	first, last := v.Cells[0], v.Cells[0]
	for _, c := range v.Cells {
		t, at := taskOf(c.Params)
		if !t.fashion && !t.colour {
			last = c
		}
		if t.least[at] == 0 {
			continue
		}
		out = append(out, lab.Claim{What: fmt.Sprintf("%s, ε = %g: CNN", t.name, c.Params.Method.Epsilon), Source: "measured at full, less a point", Got: c.Value.Judged.CNN, Relation: lab.AtLeast, Want: t.least[at] / 100,
			Why: "a bound", SkipReason: lab.Pick(v.Preset, fewer(v), fewer(v), fewer(v), ""), Null: guessing})
	}
	return append(out, lab.Claim{What: "MNIST: logistic regression at ε = 10, less that at ε = 0.3", Source: "utility does not fall with ε", Got: first.Value.Judged.Logistic - last.Value.Judged.Logistic,
		Relation: lab.AtLeast, Why: "a comparison", SkipReason: lab.Pick(v.Preset, "1500 digits", "", "", ""), Null: fallingWorth}), nil
}
