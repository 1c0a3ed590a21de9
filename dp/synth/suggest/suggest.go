// Package suggest chooses a generator of synthetic images and its settings by what is public, for
// whoever has images and no wish to choose.
//
//	m, err := suggest.Request{Name: suggest.Auto, Eps: 1}.Method(public)
//	m, g, err := synth.Calibrate(ctx, m, public, dp.Budget{Epsilon: 1, Delta: 1e-5})
package suggest

import (
	"cmp"
	"fmt"

	"coupling/dp/synth"
	"coupling/dp/synth/denoise"
	"coupling/dp/synth/dpsinkhorn"
	"coupling/dp/synth/merf"
	"coupling/dp/synth/refine"
	"coupling/dp/synth/semidual"
)

// Methods that Auto chooses from.
const (
	Auto     = "auto"
	SemiDual = "semi-dual"
	Refined  = "refined"
)

// A Request says what is wanted, and what is known of the images without looking.
type Request struct {
	Name        string // Auto, SemiDual, Refined, "dp-merf", "dp-sgd" or "dp-sinkhorn"
	Eps         float64
	Handwriting bool // bright strokes on black, whose position, size and slant do not matter
	Fast        bool // of Auto: seconds rather than minutes, SemiDual
	Steps       int  // of training, or of an image; 0: as suggested
}

// Method is what is asked for, with its suggested settings. The error of an unknown name wraps
// [synth.ErrParameter].
func (r Request) Method(p synth.Public) (synth.Method, error) {
	switch r.Best(p) {
	case SemiDual:
		if r.Handwriting {
			return semidual.Handwriting(r.Eps, p), nil
		}
		return semidual.Suggested(r.Eps, p), nil
	case Refined:
		m := refine.Chosen(r.Eps, p)
		if r.Handwriting {
			m = refine.Handwriting(r.Eps, p)
		}
		m.Steps = cmp.Or(r.Steps, m.Steps)
		return m, nil
	case "dp-merf":
		return merf.Config{Steps: r.Steps}, nil
	case "dp-sgd":
		m := denoise.Suggested(r.Eps, p)
		m.Steps = cmp.Or(r.Steps, m.Steps)
		return m, nil
	case "dp-sinkhorn":
		m := dpsinkhorn.Suggested(p)
		m.Steps = cmp.Or(r.Steps, m.Steps)
		return m, nil
	}
	return nil, fmt.Errorf("suggest: Name %q: want auto, semi-dual, refined, dp-merf, dp-sgd or dp-sinkhorn: %w",
		r.Name, synth.ErrParameter)
}

// Best returns the name of the method; of Auto, that of [refine.Best].
func (r Request) Best(p synth.Public) string {
	if r.Name != Auto {
		return r.Name
	}
	if _, moves := refine.Best(r.Eps, p).(refine.Config); moves && !r.Fast {
		return Refined
	}
	return SemiDual
}

// strength is ε times images a class, over that of MNIST at ε = 1.
func strength(eps float64, p synth.Public) float64 {
	return eps * float64(p.Records) / float64(6000*len(p.Classes))
}

// worth is the accuracy in percent on real test images, rounded down, of semi-dual and of refined; 0: not measured. Of
// MNIST and Fashion-MNIST it is that of the worse of two judges, a CNN and one of oriented gradients, on images made of
// 6000 a class. That of refined is of 10,000 images, the default, and the mean of three keys (dpsinkhorn/frontier at
// full), of MNIST at ε = 0.3 of two (dpsinkhorn/hard); that of semi-dual of 20,000 with one key, by earlier judges of
// both kinds; at ε = 0.3 the others' are of 6000 images with one key, judged on training images held out. Of CIFAR-10
// it is that of a CNN, on images made of 1000 a class.
var worth = []struct {
	eps                   float64
	mnist, fashion, cifar [2]float64
}{
	{.3, [2]float64{90, 94}, [2]float64{77, 77}, [2]float64{20, 0}},
	{1, [2]float64{95, 96}, [2]float64{81, 81}, [2]float64{27, 35}},
	{10, [2]float64{96, 97}, [2]float64{82, 82}, [2]float64{36, 44}},
}

// noise is the strength below which less than half of MNIST was read.
const noise = .03

// Expectation returns what the images will be worth, and what would be worth more, before anything is
// spent: noise depends on ε times images a class. It is for whoever has the images, by their exact number, and is not
// published.
func (r Request) Expectation(p synth.Public) string {
	images, like, at, how, of := "6000 images", strength(r.Eps, p), 0, "less than", 0
	if p.Channels > 1 {
		images, like = "1000 colour pictures", 6*like
	}
	if like < noise {
		return fmt.Sprintf(
			"expect noise, or little more, of what is ε = %.2g for %s a class: a larger ε helps, and more images "+
				"of a class",
			like, images)
	}
	for i, w := range worth {
		if like >= w.eps*.999 {
			at, how = i, "about"
		}
	}
	method := r.Best(p)
	if method == Refined {
		of = 1
	}
	reads := func(of int) string {
		if w := worth[at]; p.Channels == 1 {
			return fmt.Sprintf("%.0f %% of MNIST and %.0f %% of Fashion-MNIST", w.mnist[of], w.fashion[of])
		}
		return fmt.Sprintf("%.0f %% of CIFAR-10, of which guessing reads 10 %%", worth[at].cifar[of])
	}
	if p.Channels > 1 && worth[at].cifar[of] == 0 {
		return fmt.Sprintf("what %s makes of %s a class at ε = %.2g was not measured; of what %s makes "+
			"classifiers read %s %s", method, images, like, SemiDual, how, reads(0))
	}
	text := fmt.Sprintf(
		"expect what %s makes of %s a class at ε = %.2g: classifiers trained on synthetic images "+
			"alone then read %s %s", method, images, like, how, reads(of))
	if more := (Request{Name: Auto, Eps: r.Eps}).Best(p); more != method {
		text += fmt.Sprintf("; with method %s, in minutes, %s", more, reads(1))
	}
	return text
}
