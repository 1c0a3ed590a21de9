package dpsinkhorn

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"coupling/data"
	"coupling/data/sample"
	"coupling/figures/internal/kit"
	"coupling/figures/style"
	"coupling/lab"

	"gonum.org/v1/gonum/stat"
)

// A task is a data set on which private images are measured against a goal.
type task struct {
	name            string
	fashion, colour bool
	quick           string // the method at smoke and quick, which takes seconds
	// goal is the accuracy in percent that the project asks of itself at each ε of frontierEps of 60,000 images, by
	// the worse of the CNN and oriented gradients, in colour by the CNN, best that of DP-FETA in
	// DPImageBench, the best there without public images; 0: there is none.
	goal, best [3]float64
	tested     int // test images, at least
}

var frontierEps = [3]float64{10, 1, .3}

var tasks = []task{
	{
		name: "MNIST", quick: handwritten, goal: [3]float64{98.2, 97.5, 96.5}, best: [3]float64{98.1, 95.6},
		tested: 10_000,
	},
	{
		name: "Fashion-MNIST", fashion: true, quick: semiDual, goal: [3]float64{87.5, 84.5, 81},
		best: [3]float64{87.3, 81.7}, tested: 10_000,
	},
	{
		name: "CIFAR-10", colour: true, quick: semiDual, goal: [3]float64{45, 36},
		best: [3]float64{43.3, 35.1}, tested: 2000,
	},
}

// Frontier is what private images are worth, beside goals and the best published numbers.
func Frontier() lab.Study[Params, Out] {
	return lab.Study[Params, Out]{
		Name:  "dpsinkhorn/frontier",
		Title: "What private images are worth, beside goals and published numbers",
		Shows: "Accuracy on real test images of two judges that were trained on synthetic images alone, a CNN and " +
			"ridge regression on oriented gradients, at ε from 10 down and δ = 1e-5: at full the images of " +
			"coupling private with its defaults. The mean and the standard deviation of several trainings, with " +
			"their CPU seconds, stand beside the project's goal, for the worse judge, and DP-FETA's accuracy in " +
			"DPImageBench, the best there without public images. The same classifiers also learn from images of the " +
			"same method without noise (full and paper), and from DP-MERF's and as many real ones, or all where " +
			"there are fewer (not at full).",
		Sizes: kit.ByPreset("MNIST at ε = 10 and 0.3, and Fashion-MNIST at 10; 1500 images each, 300 "+
			"synthetic ones", "MNIST at three ε, Fashion-MNIST and CIFAR-10 at ε = 1; 3000 synthetic "+
			"images, CNNs of a quarter of the width; one training each, also of DP-MERF and of real "+
			"images", "MNIST and Fashion-MNIST at ε = 10 and 1; 10,000 images each by coupling private and "+
			"by the judges of coupling judge; three trainings each, one without noise",
			"the same at three ε and of CIFAR-10 too, of 60,000 synthetic images each; also DP-MERF of 10,000 "+
				"features"),
		Seconds:    kit.ByPreset(2., 40, 3000),
		Experiment: imagesOf,
		Grid:       frontierGrid,
		Draw:       drawFrontier,
		Claims:     claimFrontier,
	}
}

func frontierGrid(set lab.Setting) (out []Params) {
	base := utilityBase(set)
	base.Judge.Protocols, base.Judge.Oriented = 0, true
	if set.Preset == lab.Full {
		base.Synthetic, base.Judge.Width = 10_000, 32 // as the commands do by default
	}
	long := set.Preset == lab.Full || set.Preset == lab.Paper
	for i, t := range tasks {
		if t.colour && (set.Preset == lab.Smoke || set.Preset == lab.Full) {
			break
		}
		c := base
		if c.about(t.fashion); t.colour {
			c.Colour, c.Data = cifarClasses, data.Choose("cifar10")
		}
		if c.Method = (Method{Name: noiseless}); long {
			out = append(out, c)
		}
		if c.Method.Name = realData; set.Preset != lab.Full {
			out = append(out, c)
		}
		for _, eps := range frontierEps {
			if set.Preset == lab.Smoke && (eps == 1 || i > 0 && eps < 10) ||
				set.Preset == lab.Quick && i > 0 && eps != 1 || set.Preset == lab.Full && eps < 1 {
				continue
			}
			if c.Method = (Method{Name: t.quick, Epsilon: eps}); long {
				c.Method.Name = byCommand
			}
			for c.Repeat = range lab.Pick(set.Preset, 1, 1, 3, 3) {
				out = append(out, c)
			}
			if c.Repeat = 0; t.colour || set.Preset == lab.Smoke || set.Preset == lab.Full {
				continue
			}
			for _, c.Method = range slices.DeleteFunc(utilityMethods(set, t.fashion, eps),
				func(m Method) bool { return m.Name != dpMERF }) {
				out = append(out, c)
			}
		}
	}
	return out
}

// isReference reports whether a row is a reference, without a goal: DP-MERF, real images or none of the noise. Table
// 1 compares with DP-SGD and DP-Sinkhorn, which take minutes.
func (m Method) isReference() bool { return m.Name == dpMERF || m.Name == noiseless || m.isReal() }

// taskOf returns a cell's task and the place of its ε.
func taskOf(p Params) (t task, at int) {
	k := slices.IndexFunc(tasks, func(t task) bool { return t.fashion == p.Fashion && t.colour == (p.Colour != "") })
	return tasks[k], slices.Index(frontierEps[:], p.Method.Epsilon)
}

func drawFrontier(v view) (lab.Exhibit, error) {
	table := lab.Table{Name: "frontier",
		Caption: "Accuracy in percent on real test images of classifiers trained on synthetic ones. " +
			"A goal is of 60,000 images and for the worse of two judges, the CNN and oriented gradients with ridge " +
			"regression; in colour for the CNN. DP-FETA's accuracies are of DPImageBench's networks. Sure is the " +
			"share of images to whose own class a LeNet of real images gives more than 0.9, and, in brackets, that " +
			"of real test images",
		Header: append([]string{"data", "goal", "met", "DP-FETA"},
			slices.Insert(utilityHeader(v.Cells[0].Params.Judge), besideCNN, "oriented gradients", "sure", "CPU s")...)}
	panels := style.Panels{Columns: 1}
	var grid *style.ImageGrid
	var names []string
	for _, run := range repeats(v.Cells) {
		c := run[0]
		t, at := taskOf(c.Params)
		if !slices.Contains(names, t.name) {
			names = append(names, t.name)
		}
		if c.Params.Method.isReference() {
			table.Rows = append(table.Rows, append([]string{c.Value.Name, "", "", ""}, frontierRow(run)...))
			continue
		}
		table.Rows = append(table.Rows,
			append([]string{c.Value.Name, given(t.goal[at]), t.met(run, at), given(t.best[at])}, frontierRow(run)...))
		if grid == nil || grid.Title != t.name {
			grid = &style.ImageGrid{C: 1, H: 28, W: 28, Columns: shownImages, Title: t.name, Invert: !t.colour}
			if t.colour {
				grid.C, grid.H, grid.W, grid.Gap = 3, 32, 32, -1
			}
			panels.Items = append(panels.Items, grid)
		}
		grid.Images, grid.RowLabels = append(grid.Images,
			style.Rows(kit.Matrix(c.Open, "images.npy"))[:shownImages]...), append(grid.RowLabels,
			fmt.Sprintf("ε = %g", c.Params.Method.Epsilon))
	}
	caption := "Two of each class, as they were drawn. No real image is shown."
	if grid.C > 1 {
		caption += " At ε ≤ 1 those of CIFAR-10 show nothing that a person would recognise: a classifier still " +
			"learns colours and places of large areas from them."
	}
	return lab.Exhibit{
		Pictures: kit.Wide(panels,
			v.Badge(fmt.Sprintf("%d synthetic images of each of %s", v.Cells[0].Params.Synthetic,
				strings.Join(names, ", ")), sample.Note(v.Cells[0].Params.Data, "mnist")), caption),
		Tables: []lab.Table{table},
		Notes: append(bounds(v), distanceNote,
			"DP-FETA's accuracies are of DPImageBench's own networks (WideResNet, ResNet, ResNeXt), on all 50,000 "+
				"pictures of CIFAR-10 and at δ = 1/(N log N). Settings were not chosen on test images.",
			"Settings were chosen by both judges, on training images held out. Nothing is put on samples for a "+
				"judge's sake: "+
				"augmentation is of a judge's own protocol, and these have none.",
			"The CNN is that of coupling judge, on all data sets. DPImageBench takes the best of three networks.",
			"Classifiers see a real image as often as a synthetic one, so that they take fewer steps where there "+
				"are fewer real images, as of CIFAR-10."),
	}, nil
}

// bounds compare goals with what the method gives without noise, at the same number of images.
func bounds(v view) (out []string) {
	for _, run := range repeats(v.Cells) {
		if p := run[0].Params; p.Method.Name == noiseless {
			t, _ := taskOf(p)
			mean, _ := meanDeviation(run)
			out = append(out, fmt.Sprintf("%s: without noise %d images of the same method read %s %% by the worse "+
				"judge. What an ε lacks of that is lost to noise; what a goal asks beyond it, the method does not "+
				"give at this number of images.", t.name, p.Synthetic, percent(t.accuracy(mean))))
		}
	}
	return out
}

// accuracies are those of which the goal is: of the CNN and, but in colour, of oriented gradients.
func (t task) accuracies(j Judgement) []float64 {
	if t.colour {
		return []float64{j.CNN}
	}
	return []float64{j.CNN, j.Oriented}
}

// accuracy is that of the worse judge.
func (t task) accuracy(j Judgement) float64 { return slices.Min(t.accuracies(j)) }

// besideCNN is the column beside the CNN's among those of utilityHeader.
const besideCNN = 5

// frontierRow is utilityRow with the accuracy of oriented gradients, how sure a classifier is, and CPU seconds.
func frontierRow(run []cell) []string {
	mean, off := meanDeviation(run)
	seconds := slices.DeleteFunc(kit.Each(run, func(c cell) float64 { return c.Value.Seconds }), math.IsNaN)
	return slices.Insert(utilityRow(run), besideCNN, plusMinus(mean.Oriented, off.Oriented),
		percent(mean.Sure)+" ("+percent(mean.SureReal)+")", printed("%.0f", stat.Mean(seconds, nil)))
}

// met returns whether the mean accuracy of the worse judge reaches the goal, in words.
func (t task) met(run []cell, at int) string {
	mean, _ := meanDeviation(run)
	switch short := t.goal[at] - 100*t.accuracy(mean); {
	case t.goal[at] == 0:
		return ""
	case short > 0:
		return fmt.Sprintf("no, by %.1f", short)
	}
	return "yes"
}

// claimFrontier asks that a CNN learns more from the semi-dual's images than from guesses and from those of other
// methods at the same ε, and that their worth does not fall with ε. (At quick, of thousands of images, the other judge
// reads less of Fashion-MNIST at ε = 1 than of DP-MERF's.)
func claimFrontier(v view) (out []lab.Claim, err error) {
	runs := repeats(v.Cells)
	for _, run := range runs {
		p := run[0].Params
		t, _ := taskOf(p)
		if p.Method.isReference() {
			continue
		}
		claim := func(than string, accuracy float64, null lab.Null) {
			out = append(out, kit.AtLeastUnless(lab.Pick(v.Preset, "1500 digits and a few steps", "", "", ""),
				fmt.Sprintf("%s, ε = %g: CNN, less that of %s, in standard errors", t.name, p.Method.Epsilon, than),
				"who wins at the same ε", t.aboveBy(run, accuracy), 3, "three standard errors of the test "+
					"images and of the trainings: chance does this once in 700", null))
		}
		claim("guessing", .1, guessing)
		for _, other := range runs {
			if q := other[0].Params; q.Method.Name == dpMERF && q.Method.Epsilon == p.Method.Epsilon &&
				q.Fashion == p.Fashion && p.Colour == "" {
				theirs, _ := meanDeviation(other)
				claim(q.Method.Name, t.accuracies(theirs)[0], worthless)
			}
		}
	}
	// the largest ε first
	digits := means(v.Where(func(p Params) bool { return !p.Fashion && p.Colour == "" && !p.Method.isReference() }))
	first, last := digits[0], digits[len(digits)-1]
	return append(out, kit.AtLeastUnless(lab.Pick(v.Preset, "1500 digits", "", "", ""),
		fmt.Sprintf("MNIST: logistic regression at ε = %g, less that at ε = %g", first.Params.Method.Epsilon,
			last.Params.Method.Epsilon), "utility does not fall with ε",
		first.Value.Judged.Logistic-last.Value.Judged.Logistic, 0, "a comparison", fallingWorth)), nil
}

// aboveBy is how far the mean accuracy of a run's CNN is above another CNN's on the same number of
// test images, in standard errors: of both proportions, and of the trainings, which are taken to
// spread alike.
func (t task) aboveBy(run []cell, other float64) float64 {
	mean, off := meanDeviation(run)
	mine, spread := t.accuracies(mean)[0], t.accuracies(off)[0]
	variance := (mine*(1-mine)+other*(1-other))/float64(t.tested) + spread*spread*(1+1/float64(len(run)))
	return (mine - other) / math.Sqrt(max(variance, 1e-9))
}
