package dpsinkhorn

import (
	"fmt"
	"slices"
	"strings"

	"coupling/figures/internal/kit"
	"coupling/lab"
	"coupling/score/eval/inception"
)

// Fig2 is Figure 2: private digits of several mechanisms, side by side.
func Fig2() lab.Study[Params, Out] {
	s := utilityStudy("fig2", "Figure 2: private images at an ε that holds",
		"Digits and clothes made with differential privacy by mechanisms of the same (ε, δ = 1e-5), one of each "+
			"class, as they were drawn. The paper's own numbers are at an ε that is not justified: all rows share "+
			"one batch.")
	s.Grid, s.Draw, s.Claims = atQuick(10, 1), drawImages,
		func(v view) ([]lab.Claim, error) { return claimMethod(v), nil }
	return s
}

// Fig4b is Figure 4(b): accuracy against ε.
func Fig4b() lab.Study[Params, Out] {
	s := utilityStudy("fig4b", "Figure 4(b): what DP-Sinkhorn's images are worth against ε",
		"Accuracy on real test digits of classifiers that were trained on private digits alone, over ε at δ = 1e-5: "+
			"by DP-Sinkhorn and DP-MERF. The level line is what the paper reports at ε = 10 by an accounting that "+
			"is not justified. GS-WGAN, its other method, is not trained here.")
	s.Grid, s.Draw, s.Claims = figureRows, drawAccuracy(isPapers), claimOverEps
	return s
}

// Tab1 is Table 1: accuracies and distances of every mechanism.
func Tab1() lab.Study[Params, Out] {
	s := utilityStudy("tab1", "Table 1: what private images are worth at an ε that holds",
		"Accuracy on real test images of classifiers that were trained on private images alone, and distances in "+
			"the features of a LeNet, by mechanisms of the same (ε, δ = 1e-5), beside the rows that the paper "+
			"prints. The paper's own ε is not justified: all rows share one batch.")
	s.Grid, s.Draw, s.Claims = atQuick(10, 1), drawTab1, claimTable
	return s
}

// Mechanisms is what the semi-dual, which is ours, is worth beside the other mechanisms at the same ε.
func Mechanisms() lab.Study[Params, Out] {
	s := utilityStudy("mechanisms", "What private images of several mechanisms are worth against ε",
		"Accuracy on real test digits of classifiers that were trained on private digits alone, over ε at δ = 1e-5: "+
			"by the private semi-dual, which is ours, DP-MERF and DP-Sinkhorn, and from full on by refined samples "+
			"and DP-SGD. It has the cells of Table 1.")
	s.Grid, s.Draw, s.Claims = utilityGrid, drawAccuracy(func(Method) bool { return true }), claimMechanisms
	return s
}

// isPapers reports whether a method is one of the paper or of its baselines, or real images.
func isPapers(m Method) bool { return !strings.HasPrefix(m.Name, semiDual) && m.Name != dpSGD }

// figureRows are the cells that Figure 4(b) draws, and its references.
func figureRows(set lab.Setting) []Params {
	return slices.DeleteFunc(utilityGrid(set),
		func(p Params) bool { return !isPapers(p.Method) || p.Method.Recipe.Rows > 0 })
}

// atQuick leaves out, at quick, the cells at other ε, so that a figure alone takes less than a minute.
func atQuick(eps ...float64) func(lab.Setting) []Params {
	return func(set lab.Setting) []Params {
		return slices.DeleteFunc(utilityGrid(set), func(p Params) bool {
			return set.Preset == lab.Quick && p.Method.Epsilon > 0 && !slices.Contains(eps, p.Method.Epsilon)
		})
	}
}

// utilityStudy is what Figures 2 and 4(b), Table 1 and Mechanisms share.
func utilityStudy(name, title, shows string) lab.Study[Params, Out] {
	return lab.Study[Params, Out]{
		Name:  "dpsinkhorn/" + name,
		Title: title,
		Shows: shows,
		Sizes: kit.ByPreset("MNIST, 1500 digits, 300 synthetic ones, ε = 10, a few steps",
			"MNIST, 60,000 digits, 3000 synthetic ones, a CNN of a quarter of the width; DP-MERF 1000 features, 200 "+
				"steps; DP-Sinkhorn "+smallSizes(lab.Quick)+" at ε = 10; Figure 4(b) at ε = 10, 1 and 0.3, the "+
				"others at 10 and 1, as printed and without noise; one training each",
			"MNIST, 60,000 digits, 6000 synthetic ones, a CNN of half width; moved samples of the semi-dual; "+
				"DP-MERF 2000 features, 600 steps; DP-SGD on a small denoiser; DP-Sinkhorn "+smallSizes(lab.Full)+
				"; at ε = 10 and without ε five trainings of DP-Sinkhorn and three of the others, 1000 images for "+
				"the papers' protocols; Fashion-MNIST at ε = 10 alone",
			"MNIST and Fashion-MNIST, 60,000 synthetic images, the code's classifiers' widths; DP-MERF 10,000 "+
				"features; DP-SGD as at full; DP-Sinkhorn 160,000 steps of 50 (500 without noise; Fashion-MNIST "+
				"280,000); five trainings a row of Table 1"),
		Seconds:    kit.ByPreset(3., 50, 7000),
		Experiment: imagesOf,
	}
}

// worthless is the null in which the semi-dual's images are of one class, and the others' as good as real.
var worthless = kit.Null("the semi-dual at chance", imagesOf, func(p Params, v *Out) {
	v.Judged = atChance(*v)
	j := &v.Judged
	j.Logistic, j.MLP, j.CNN, j.Oriented, j.Recall, j.FD = .9, .9, .9, .9, .9, 1
	if strings.HasPrefix(p.Method.Name, semiDual) {
		j.Logistic, j.MLP, j.CNN, j.Oriented, j.Recall, j.FD = .1, .1, .1, .1, 0, 1000
	}
})

// asClaimed is the null in which the published accounting holds.
var asClaimed = kit.Null("the published accounting", imagesOf, func(_ Params, v *Out) { v.Epsilon = v.Published })

// fallingWorth is the null in which images are worth less the more ε is spent.
var fallingWorth = kit.Null("accuracy that falls with ε", imagesOf, func(p Params, v *Out) {
	j, eps := &v.Judged, p.Method.Epsilon
	j.Logistic, j.MLP, j.CNN = .5/(1+eps), .5/(1+eps), .5/(1+eps)
})

// utilityBase is what cells of a preset share.
func utilityBase(set lab.Setting) Params {
	p := set.Preset
	return Params{
		Most: kit.Smoke(p, 1500, 0), Synthetic: lab.Pick(p, 300, 3000, 6000, 60000), Device: set.Device,
		Judge: Judge{
			Width:     lab.Pick(p, 4, 8, 16, 32),
			Epochs:    kit.Smoke(p, 1, 0),
			Inception: inception.Chosen(),
			LeNet:     lab.Pick(p, 300, 1000, 6000, 60000),
			Images:    lab.Pick(p, 100, 1000, 2000, 10000),
			Protocols: lab.Pick(p, 0, 0, 1000, 60000),
		},
	}
}

func utilityGrid(set lab.Setting) (out []Params) {
	p, base := set.Preset, utilityBase(set)
	for _, fashion := range lab.Pick(p, []bool{false}, []bool{false}, []bool{false, true}, []bool{false, true}) {
		for _, eps := range lab.Pick(p, []float64{10}, []float64{10, 1, .3}, []float64{10, 1, .3},
			[]float64{10, 2.33, 1, .3}) {
			for _, m := range utilityMethods(set, fashion, eps) {
				minutes := m.Name == dpSGD || m.Name == refined || m.Name == refinedHand
				if fashion && strings.HasPrefix(m.Name, handwritten) || p == lab.Full && fashion && eps < 10 ||
					p == lab.Quick && (minutes || strings.HasPrefix(m.Name, wholeBatch) && eps < 10) {
					continue // what takes a minute
				}
				c := base
				c.about(fashion)
				c.Method = m
				times := 1
				if eps == 10 {
					times = lab.Pick(p, 1, 1, 3, 5)
				}
				if p == lab.Full && eps == 10 && (m.Recipe.Steps > 0 || m.isReal()) {
					times = 5
				}
				for c.Repeat = range times {
					if c.Repeat > 0 {
						c.Judge.Protocols = lab.Pick(p, 0, 0, 0, c.Judge.Protocols)
					}
					out = append(out, c)
				}
			}
		}
	}
	return out
}

// utilityMethods are the rows of an ε; at the paper's also those whose ε does not hold or that have none.
func utilityMethods(set lab.Setting, fashion bool, eps float64) []Method {
	p := set.Preset
	own := recipeFor(set, fashion, eps)
	m3 := own
	m3.L1 = 3
	nicest := Method{Name: refinedHand, Epsilon: eps, Steps: kit.Smoke(p, 5, 0)}
	if fashion {
		nicest.Name = refined
	}
	out := []Method{
		{Name: semiDual, Epsilon: eps}, {Name: handwritten, Epsilon: eps}, nicest,
		{
			Name:    dpMERF,
			Epsilon: eps,
			Steps:   lab.Pick(p, 20, 200, 600, 3000),
			Batch:   100,
			Feature: lab.Pick(p, 200, 1000, 2000, 10000),
		},
		{Name: dpSGD, Epsilon: eps, Steps: kit.Smoke(p, 10, 0)},
		{Name: wholeBatch, Epsilon: eps, Recipe: own},
	}
	if own.L1 != 3 && (p == lab.Full || p == lab.Paper) {
		out = append(out, Method{Name: wholeBatch3, Epsilon: eps, Recipe: m3})
	}
	if eps != 10 {
		return out
	}
	free := recipeFor(set, fashion, 0)
	free3 := free
	free.L1, free3.L1 = 1, 3
	out = append(out, Method{Name: asPrinted, Recipe: printedRecipe(set, fashion)},
		Method{Name: nonPrivate1, Recipe: free})
	if p != lab.Quick && p != lab.Smoke {
		out = append(out, Method{Name: nonPrivate3, Recipe: free3})
	}
	return append(out, Method{Name: realData})
}

// sizes says what was made of what.
func (p Params) sizes() string {
	if p.Most > 0 {
		return fmt.Sprintf("%d of 60,000 images", p.Most)
	}
	return fmt.Sprintf("%d synthetic images, a small recipe", p.Synthetic)
}
