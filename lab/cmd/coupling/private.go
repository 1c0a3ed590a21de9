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

// privateCmd makes a synthetic data set from a private one.
type privateCmd struct {
	pictures
	Kind   string  `default:"any" enum:"any,handwriting,textured" help:"What is known of the images without looking: any (nothing), handwriting (bright strokes on black, whose position, size and slant do not matter) or textured (things with fine patterns, such as clothes; matters where the budget is small); for semi-dual and refined."`
	Eps    float64 `required:"" min:">0" help:"ε to spend, > 0."`
	Delta  float64 `default:"1e-5" help:"δ; below one over the number of images, which is counted with noise."`
	Method string  `default:"semi-dual" enum:"semi-dual,refined,dp-merf,dp-sgd,dp-sinkhorn" help:"semi-dual (private semi-dual transport, in seconds), refined (its images, moved nearer to real ones, in minutes), dp-merf (one release, a network), dp-sgd (DP-SGD on a small denoiser), dp-sinkhorn (whole-batch clip, a DCGAN; 28x28 or 32x32)."`
	Count  int     `default:"10000" min:"1" help:"Synthetic images to draw."`
	Steps  *int    `min:"1" help:"Steps of refined (of an image), and of training of dp-merf, dp-sgd and dp-sinkhorn; default 20, 3000, 100 to 500 by ε, and 2000."`
	Device string  `default:"" help:"cpu, cuda or auto."`
	Seed   *uint64 `help:"Take all randomness from a seed: reproducible, and NOT private."`
	Out    string  `required:"" help:"New folder for synthetic.npy, grid.png and the privacy statement." placeholder:"DIR"`
}

// garbage is how much memory may be garbage, in percent of what is in use. Pixels and tables are most of it, in which
// the collector looks for nothing.
const garbage = 4

// Run learns, draws and states.
func (c privateCmd) Run(a *app) error {
	ctx, stop := interruptible(a)
	defer stop()
	if c.Kind != "any" && c.Method != "semi-dual" && c.Method != "refined" {
		return usage(fmt.Errorf("--kind %s with --method %s: only semi-dual and refined use it", c.Kind, c.Method))
	}
	lab.Check(usage(isOutside(c.Out, c.Images)))
	defer debug.SetGCPercent(debug.SetGCPercent(garbage))
	images := orUsage(c.load(ctx, a))
	public := orUsage(synth.PublicOf(images))
	dev := orUsage(device.Open(c.Device))
	defer func() { _ = dev.Close() }()                                                       // frees what lives
	if used, _ := os.ReadDir(c.Out); c.Method == "semi-dual" && !a.quiet && len(used) == 0 { // else it is refused below
		fmt.Fprintln(a.err, expectation(c.Eps, public))
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
	fmt.Fprintf(a.out, "wrote %s: %s of %d classes\n\n%s", c.Out, plural(statement.Synthetic, "image"), len(public.Classes), statement.Text())
	return nil
}

// method is what is asked for, with its suggested settings.
func (c privateCmd) method(p synth.Public) synth.Method {
	steps := func(suggested *int) {
		if c.Steps != nil {
			*suggested = *c.Steps
		}
	}
	switch c.Method {
	case "refined":
		m := refine.Suggested(c.Eps, p)
		if c.Kind == "handwriting" {
			m = refine.Handwriting(c.Eps, p)
		}
		steps(&m.Steps)
		if c.Kind == "textured" {
			return m.Textured()
		}
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
	switch c.Kind {
	case "handwriting":
		return semidual.Handwriting(c.Eps, p)
	case "textured":
		return semidual.Suggested(c.Eps, p).Textured()
	}
	return semidual.Suggested(c.Eps, p)
}

// worth is the accuracy in percent of networks trained on images of semi-dual alone, rounded down: on MNIST's test images with --kind
// handwriting and on Fashion-MNIST's, trained on 20,000 images made of 6000 a class, the lowest of coupling judge's LeNet and CNN where
// both ran; and on CIFAR-10's, made of 1000 pictures a class, by DP-Sinkhorn's CNN, which saw 60,000 images twice. moved is cifar with
// --method refined; 0: not measured.
var worth = []struct{ eps, mnist, fashion, cifar, moved float64 }{{.3, 95, 78, 20, 0}, {1, 96, 80, 27, 35}, {10, 97, 82, 36, 44}}

// expectation says before anything is spent what the synthetic images will be worth: noise depends on ε
// times images a class. It is for whoever has the images, by their exact number, and is not published.
func expectation(eps float64, p synth.Public) string {
	images := "6000 images"
	like, at, how := eps*float64(p.Records)/float64(6000*len(p.Classes)), 0, "less than"
	if p.Channels > 1 {
		images, like = "1000 colour pictures", 6*like
	}
	for i, w := range worth {
		if like >= w.eps*.999 {
			at, how = i, "about"
		}
	}
	of := fmt.Sprintf("%.0f %% of MNIST (--kind handwriting) and %.0f %% of Fashion-MNIST", worth[at].mnist, worth[at].fashion)
	if p.Channels > 1 {
		of = fmt.Sprintf("%.0f %% of the ten classes of CIFAR-10, of which guessing reads 10 %%; they do not show what a person would recognise", worth[at].cifar)
		if moved := worth[at].moved; moved > 0 {
			of += fmt.Sprintf("; images of --method refined, which takes minutes, teach them %.0f %%", moved)
		}
	}
	return fmt.Sprintf("expect what ε = %.2g makes of %s a class: networks trained on synthetic images alone then read %s %s", like, images, how, of)
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
