package main

import (
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"time"

	"coupling/data"
	"coupling/dp"
	"coupling/dp/synth"
	"coupling/dp/synth/denoise"
	"coupling/dp/synth/dpsinkhorn"
	"coupling/dp/synth/merf"
	"coupling/dp/synth/refine"
	"coupling/dp/synth/semidual"
	"coupling/figures/style"
	"coupling/lab"
	"coupling/lab/device"
)

// Methods that auto chooses from.
const auto, semiDual, refined = "auto", "semi-dual", "refined"

const handwriting = "handwriting" // a kind

// privateCmd makes a synthetic data set from a private one.
type privateCmd struct {
	pictures
	Kind   string  `default:"any" enum:"any,handwriting"`
	Eps    float64 `required:"" min:">0"`
	Delta  float64 `default:"1e-5"`
	Method string  `default:"auto" enum:"auto,semi-dual,refined,dp-merf,dp-sgd,dp-sinkhorn"`
	Fast   bool
	Count  int    `default:"10000" min:"1"`
	Steps  *int   `min:"1"`
	Device string `default:""`
	Seed   *uint64
	Out    string `required:"" placeholder:"DIR"`
}

// garbage is the garbage collector's target, in percent of the memory in use. It is low, since nearly all memory is
// pixels and tables without pointers, which cost the collector nothing.
const garbage = 4

// Run learns, draws and states.
func (c privateCmd) Run(a *app) error {
	ctx, stop := interruptible(a)
	defer stop()
	if c.Kind != "any" && c.Method != auto && c.Method != semiDual && c.Method != refined {
		return usage(fmt.Errorf("--kind %s with --method %s: only semi-dual and refined use it", c.Kind, c.Method))
	}
	lab.Check(usage(isOutside(c.Out, c.Images)))
	defer debug.SetGCPercent(debug.SetGCPercent(garbage))
	images, _, err := c.parts(ctx, a)
	lab.Check(usage(err))
	public := orUsage(synth.PublicOf(images))
	dev := orUsage(device.Open(c.Device))
	defer func() { _ = dev.Close() }() // frees what lives
	used, _ := os.ReadDir(c.Out)       // if there are any, it is refused below
	if m := c.best(public); (m == semiDual || m == refined) && !a.quiet && len(used) == 0 {
		fmt.Fprintln(a.err, c.expectation(public))
	}
	status := a.status(10 * time.Second)
	statement, err := synth.Publication{
		Method:  c.method,
		Budget:  dp.Budget{Epsilon: c.Eps, Delta: c.Delta},
		Count:   c.Count,
		Seed:    c.Seed,
		Out:     c.Out,
		Picture: drawGrid,
	}.Run(ctx, dev, images, func(what string, done, of int) { status.say(fmt.Sprintf("%s: %d of %d", what, done, of)) })
	status.clear()
	lab.Check(usageIf(err, synth.ErrParameter, synth.ErrOccupied, dp.ErrUnreachable))
	fmt.Fprintf(a.out, "wrote %s: %s of %d classes\n\n%s", c.Out, plural(statement.Synthetic, "image"),
		len(public.Classes), statement.Text())
	return nil
}

// method is what is asked for, with its suggested settings.
func (c privateCmd) method(p synth.Public) synth.Method {
	steps := func(suggested *int) {
		if c.Steps != nil {
			*suggested = *c.Steps
		}
	}
	switch c.best(p) {
	case refined:
		m := refine.Chosen(c.Eps, p)
		if c.Kind == handwriting {
			m = refine.Handwriting(c.Eps, p)
		}
		steps(&m.Steps)
		return m
	case "dp-merf":
		return merf.Config{Steps: given(c.Steps)}
	case "dp-sgd":
		m := denoise.Suggested(c.Eps, p)
		steps(&m.Steps)
		return m
	case "dp-sinkhorn":
		m := dpsinkhorn.Suggested(p)
		steps(&m.Steps)
		return m
	}
	if c.Kind == handwriting {
		return semidual.Handwriting(c.Eps, p)
	}
	return semidual.Suggested(c.Eps, p)
}

// best is the method asked for, or that of auto by its name.
func (c privateCmd) best(p synth.Public) string {
	if c.Method != auto {
		return c.Method
	}
	if _, moves := refine.Best(c.Eps, p).(refine.Config); moves && !c.Fast {
		return refined
	}
	return semiDual
}

// strength is ε times images a class, over that of MNIST at ε = 1.
func strength(eps float64, p synth.Public) float64 {
	return eps * float64(p.Records) / float64(6000*len(p.Classes))
}

// worth is the accuracy in percent on real test images, rounded down, of semi-dual and of refined; 0: not measured. Of
// MNIST and Fashion-MNIST it is that of the worse of two judges, a CNN and one of oriented gradients, on images made of
// 6000 a class. That of refined at ε = 1 and 10 is of 10,000 images, the default, and the mean of three keys
// (dpsinkhorn/frontier at full); that of semi-dual of 20,000 with one key, by earlier judges of both kinds; at ε = 0.3
// of 6000 images with one key, judged on training images held out. Of CIFAR-10 it is that of a CNN, on images made of
// 1000 a class.
var worth = []struct {
	eps                   float64
	mnist, fashion, cifar [2]float64
}{
	{.3, [2]float64{90, 93}, [2]float64{77, 77}, [2]float64{20, 0}},
	{1, [2]float64{95, 96}, [2]float64{81, 81}, [2]float64{27, 35}},
	{10, [2]float64{96, 97}, [2]float64{82, 82}, [2]float64{36, 44}},
}

// noise is the strength below which less than half of MNIST was read.
const noise = .03

// expectation returns what this command's images will be worth, and what would be worth more, before anything is
// spent: noise depends on ε times images a class. It is for whoever has the images, by their exact number, and is not
// published.
func (c privateCmd) expectation(p synth.Public) string {
	images, like, at, how, of := "6000 images", strength(c.Eps, p), 0, "less than", 0
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
	method := c.best(p)
	if method == refined {
		of = 1
	}
	reads := func(of int) string {
		if w := worth[at]; p.Channels == 1 {
			return fmt.Sprintf("%.0f %% of MNIST and %.0f %% of Fashion-MNIST", w.mnist[of], w.fashion[of])
		}
		return fmt.Sprintf("%.0f %% of CIFAR-10, of which guessing reads 10 %%", worth[at].cifar[of])
	}
	if p.Channels > 1 && worth[at].cifar[of] == 0 {
		return fmt.Sprintf("what --method %s makes of %s a class at ε = %.2g was not measured; of what --method %s "+
			"makes classifiers read %s %s", method, images, like, semiDual, how, reads(0))
	}
	text := fmt.Sprintf(
		"expect what --method %s makes of %s a class at ε = %.2g: classifiers trained on synthetic images "+
			"alone then read %s %s", method, images, like, how, reads(of))
	if more := (privateCmd{Method: auto, Eps: c.Eps}).best(p); more != method {
		text += fmt.Sprintf("; with --method %s, in minutes, %s", more, reads(1))
	}
	return text
}

// drawGrid draws ten images of each class, a class a row.
func drawGrid(w io.Writer, m *data.Images) error {
	_, c, h, wide := m.Shape()
	const columns = 10
	grid := style.ImageGrid{C: c, H: h, W: wide, Columns: columns, RowLabels: m.Classes}
	for _, at := range m.ByClass() {
		for k := range columns {
			var row []float32
			if k < len(at) {
				row = m.Row(at[k])
			}
			grid.Images = append(grid.Images, row)
		}
	}
	return style.Figure{Body: grid, Width: style.Screen}.Save(w, "png")
}
