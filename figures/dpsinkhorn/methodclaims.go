package dpsinkhorn

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"coupling/data/sample"
	"coupling/dp"
	"coupling/dp/rdp"
	"coupling/dp/synth/dpsinkhorn"
	"coupling/figures/internal/kit"
	"coupling/lab"

	"gonum.org/v1/gonum/stat"
)

// private, free and isReal tell apart what claims compare: the paper's method with noise whose ε holds, the same
// without noise, and
// real images.
func (m Method) private() bool {
	return m.Recipe.Epsilon > 0 || m.Name == colourDCGAN || m.Name == colourBigGAN
}

func (m Method) free() bool {
	return m.Name == colourFree || m.Recipe.Steps > 0 && m.Recipe.Epsilon == 0 && m.Recipe.Rows == 0
}

// epsilon is what was asked for; 0: nothing.
func (m Method) epsilon() float64 { return max(m.Epsilon, m.Recipe.Epsilon) }

func (m Method) isReal() bool { return m.Name == realData || m.Name == realPictures }

// repeats are the cells that differ in their randomness alone, together.
func repeats(cells []cell) [][]cell {
	return kit.Groups(cells, func(c cell) Params {
		c.Params.Repeat, c.Params.Judge.Protocols = 0, 0
		return c.Params
	})
}

// means takes the place of several trainings by their mean; pictures are of the first.
func means(cells []cell) (out []cell) {
	for _, run := range repeats(cells) {
		c := run[0]
		c.Value.Judged, _ = meanDeviation(run)
		out = append(out, c)
	}
	return out
}

// loneDeviation is what one training is taken to vary by: rows of the paper's Table 4 that differ in Δ alone differ
// by so much.
const loneDeviation = .03

// score is a mean with its standard error.
type score struct{ mean, err float64 }

// spreadOf is the score of a number that several trainings measured, by how they differ; its error is NaN for one
// training.
func spreadOf(run []cell, of func(Judgement) float64) score {
	values := kit.Each(run, func(c cell) float64 { return of(c.Value.Judged) })
	values = slices.DeleteFunc(values, math.IsNaN)
	mean, deviation := stat.MeanStdDev(values, nil)
	return score{mean, deviation / math.Sqrt(float64(len(values)))}
}

// scoreOf is the score of an accuracy: its error is of the trainings and of the tested images.
func scoreOf(run []cell, accuracy func(Judgement) float64) score {
	s, c := spreadOf(run, accuracy), run[0]
	switch {
	case c.Params.Method.isReal(): // nothing was trained
		s.err = 0
	case math.IsNaN(s.err):
		s.err = loneDeviation
	}
	s.err = math.Hypot(s.err, math.Sqrt(max(s.mean*(1-s.mean), 0)/float64(max(c.Value.Tested, 1))))
	return s
}

// above is by how many standard errors a score is above another one.
func (s score) above(other score) float64 {
	return (s.mean - other.mean) / math.Hypot(s.err, other.err)
}

// chanceOf is the score of a guess of one class.
func chanceOf(c cell) score {
	at := max(c.Value.Guess, .1)
	return score{at, math.Sqrt(at * (1 - at) / float64(max(c.Value.Tested, 1)))}
}

// accuracy is the getter of the k-th of classifiers.
func accuracy(k int) func(Judgement) float64 {
	return func(j Judgement) float64 { return j.accuracies()[k] }
}

// best are the trainings of the highest mean accuracy of logistic regression among those that keep takes; none where
// it takes none.
func best(runs [][]cell, keep func(Method) bool) (out []cell) {
	highest := math.Inf(-1)
	for _, run := range runs {
		if !keep(run[0].Params.Method) {
			continue
		}
		if at := scoreOf(run, accuracy(0)).mean; out == nil || at > highest {
			out, highest = run, at
		}
	}
	return out
}

// errorsWhy is the reason of claims about standard errors.
const errorsWhy = "three standard errors, of the test images and of the trainings (one alone is taken to vary by 3 " +
	"points): chance does this once in 700"

// unasked says why a preset is not asked what the method learns.
func unasked(v view, p Params) string {
	name := strings.ToLower(setName(p.Fashion))
	if p.Colour != "" {
		name = "cifar10"
	}
	few := sample.Note(p.Data, name)
	if few != "" && v.Preset != lab.Paper {
		few = "the recipe learns on whole data sets, not here: " + few
	}
	return lab.Pick(v.Preset, "3 steps", few, few, "")
}

// claimMethod is what every item asks of the paper's method on each data set: more than chance, no more than as many
// real images, no
// less without noise, no leak that an attack sees, and noise as it was accounted for.
func claimMethod(v view) (out []lab.Claim) {
	bySet(v, func(cells []cell, fashion bool) {
		runs := repeats(cells)
		private, free := best(runs, Method.private), best(runs, Method.free)
		actual := best(runs, Method.isReal)
		for _, run := range [][]cell{private, free} {
			if run != nil {
				out = append(out, claimLearns(v, run))
			}
		}
		if private != nil && free != nil {
			out = append(out, kit.AtLeastUnless(unasked(v, cells[0].Params),
				setLabel(cells[0])+": logistic regression without noise, less that at "+
					epsilonLabel(private[0].Params)+", in standard errors",
				"Table 1: privacy costs", scoreOf(free, accuracy(0)).above(scoreOf(private, accuracy(0))), -3,
				errorsWhy, noiseHelps))
		}
		if private != nil && actual != nil {
			out = append(out, claimNoCopies(v, private, actual, "least over classifiers", 0, 1, 2))
		}
	})
	return append(append(out, claimReleases(v)...), claimAccounted(v)...)
}

// claimAccounted is that the ε of private cells is that of the noise, the sampling and the steps that they had: by
// another accountant than the one that calibrated them, which bounds it from above. None where how many images there
// are is not known.
func claimAccounted(v view) []lab.Claim {
	least := math.Inf(1)
	for _, c := range v.Cells {
		r, images := c.Params.Method.Recipe, cmp.Or(c.Params.Most, 60_000)
		if r.Epsilon == 0 || c.Params.Colour != "" || c.Params.Most == 0 && c.Params.Data != "" {
			continue
		}
		event := dpsinkhorn.WholeBatch{NoiseMultiplier: c.Value.Multiplier}.Event(r.Images, r.poisson(images), r.Steps)
		bound, err := dp.EpsilonBy(context.Background(), rdp.Accountant{}, event, dp.Relation{}, c.Params.delta())
		if err != nil { // too little noise for any bound
			bound.Epsilon = math.Inf(1)
		}
		least = min(least, c.Value.Epsilon/bound.Epsilon)
	}
	if math.IsInf(least, 1) {
		return nil
	}
	return []lab.Claim{kit.AtLeast("least ε of what ran over its bound by Rényi divergences at the noise, rate and "+
		"steps that ran", "algorithm 1", least, .77, "Rényi divergences lose a fifth here, at 3 steps and at "+
		"thousands; half of the steps or of the ε is below", understated)}
}

// claimLearns is that a method teaches classes.
func claimLearns(v view, run []cell) lab.Claim {
	c := run[0]
	return kit.AtLeastUnless(unasked(v, c.Params),
		setLabel(c)+", "+c.Params.Method.Name+", "+epsilonLabel(c.Params)+": logistic regression above "+
			"chance, in standard errors",
		fmt.Sprintf("chance is %.3g", chanceOf(c).mean), scoreOf(run, accuracy(0)).above(chanceOf(c)),
		3, errorsWhy, guessing)
}

// claimNoCopies is that private images teach some classifiers less than as many real ones: those who return training
// images do not.
func claimNoCopies(v view, private, actual []cell, over string, classifiers ...int) lab.Claim {
	least := math.Inf(1)
	for _, k := range classifiers {
		if z := scoreOf(actual, accuracy(k)).above(scoreOf(private, accuracy(k))); !math.IsNaN(z) {
			least = min(least, z)
		}
	}
	c := private[0]
	return kit.AtLeastUnless(unasked(v, c.Params),
		setLabel(c)+", "+c.Params.Method.Name+", "+epsilonLabel(c.Params)+": accuracy below that of as "+
			"many real images, in standard errors, "+over,
		"private images are no copies", least, 3, errorsWhy, copies)
}

// claimReleases is that no attack tells members, where it was run, and that releases vary as their noise was
// accounted for.
func claimReleases(v view) (out []lab.Claim) {
	attacked, seen := math.Inf(-1), []kit.Noise(nil)
	for _, c := range v.Cells {
		if j := c.Value.Judged; c.Params.Method.epsilon() > 0 && !math.IsNaN(j.AUC) {
			attacked = max(attacked, (j.AUC-.5)/j.AUCError)
		}
		if n := c.Value.Values; n > 0 {
			seen = append(seen, kit.Noise{Squares: c.Value.Released * float64(n), Values: n})
		}
	}
	if !math.IsInf(attacked, 0) {
		out = append(out, kit.AtMost("largest AUC of an attack on members over ½, in standard errors", "privacy",
			attacked, 6, "the largest of a few dozen cells: four, and two for what ε = 10 reveals of the thousands "+
				"of images at quick, and for training and test images that differ; the training images themselves "+
				"are above 25", copies))
	}
	return append(out, kit.AsAccounted("", "algorithm 1, with the noise that was calibrated", seen,
		"the largest of some dozens; the clipped gradient adds less than one", overspent))
}

// setLabel names the data of a cell.
func setLabel(c cell) string {
	if c.Params.Colour != "" {
		return c.Value.Name
	}
	return setName(c.Params.Fashion)
}

// epsilonLabel names the ε that was asked for.
func epsilonLabel(p Params) string { return privacyName(p.Method.epsilon()) }

// guessing is the null in which all images say nothing of their class.
var guessing = kit.Null("classes at random", imagesOf, func(_ Params, v *Out) { v.Judged = atChance(*v) })

// atChance is the Judgement of images that say nothing of their class.
func atChance(o Out) Judgement {
	j, at := unmeasured(), max(o.Guess, .1)
	j.Logistic, j.MLP, j.CNN, j.Oriented, j.FD, j.Dark = at, at, at, at, 1000, 1000
	j.By[0], j.By[1] = j.accuracies(), j.accuracies()
	return j
}

// understated is the null in which a third of the ε is said.
var understated = kit.Null("a third of the ε", imagesOf, func(_ Params, v *Out) { v.Epsilon /= 3 })

// noiseHelps is the null in which only noise teaches.
var noiseHelps = kit.Null("without noise at chance", imagesOf, func(p Params, v *Out) {
	if v.Judged = atChance(*v); p.Method.private() {
		v.Judged.Logistic, v.Judged.MLP, v.Judged.CNN = .9, .9, .9
	}
})

// copies is the null in which private images are training images.
var copies = kit.NullOf("training images as samples", imagesOf, func(cells []cell) {
	for i := range cells {
		if cells[i].Params.Method.epsilon() == 0 {
			continue
		}
		for _, other := range cells {
			if other.Params.Method.isReal() && other.Params.Fashion == cells[i].Params.Fashion {
				cells[i].Value.Judged = other.Value.Judged
			}
		}
		cells[i].Value.Judged.AUC, cells[i].Value.Judged.AUCError = .99, .01
	}
})
