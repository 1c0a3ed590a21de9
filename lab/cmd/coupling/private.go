package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"time"

	"coupling/data"
	"coupling/dp"
	"coupling/dp/synth"
	"coupling/dp/synth/suggest"
	"coupling/figures/style"
	"coupling/lab"
	"coupling/lab/device"
	"coupling/score/eval"
	"coupling/score/eval/membership"
)

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
	ask := suggest.Request{
		Name:        c.Method,
		Eps:         c.Eps,
		Handwriting: c.Kind == "handwriting",
		Fast:        c.Fast,
		Steps:       given(c.Steps),
	}
	measured := slices.Contains([]string{suggest.Auto, suggest.SemiDual, suggest.Refined}, c.Method)
	if ask.Handwriting && !measured {
		return usagef("--kind %s with --method %s: only semi-dual and refined use it", c.Kind, c.Method)
	}
	lab.Check(usage(isOutside(c.Out, c.Images)))
	defer debug.SetGCPercent(debug.SetGCPercent(garbage))
	images, _, err := c.parts(ctx, a)
	lab.Check(usage(err))
	public := orUsage(synth.PublicOf(images))
	dev := orUsage(device.Open(c.Device))
	defer func() { _ = dev.Close() }() // frees what lives
	used, _ := os.ReadDir(c.Out)       // if there are any, it is refused below
	if measured && !a.quiet && len(used) == 0 {
		a.note("%s\n", ask.Expectation(public))
	}
	status := a.status(10 * time.Second)
	statement, err := synth.Publication{
		Method:  ask.Method,
		Budget:  dp.Budget{Epsilon: c.Eps, Delta: c.Delta},
		Count:   c.Count,
		Seed:    c.Seed,
		Out:     c.Out,
		Picture: drawGrid,
	}.Run(ctx, dev, images, func(what string, done, of int) { status.say(fmt.Sprintf("%s: %d of %d", what, done, of)) })
	status.clear()
	lab.Check(blame(err))
	a.printf("wrote %s: %s of %d classes\n\n%s", c.Out, plural(statement.Synthetic, "image"),
		len(public.Classes), statement.Text())
	return nil
}

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

// judgeCmd trains classifiers on synthetic images and tests them on real ones.
type judgeCmd struct {
	Synthetic string `arg:""`
	pictures
	Classifiers []string `default:"cnn,oriented" enum:"logistic,mlp,lenet,cnn,example,oriented"`
	Protocol    string   `default:"quick" enum:"quick,code,paper"`
	Epochs      *int     `min:"1"`
	Attack      bool
	Seeds       int    `default:"1" min:"1"`
	Device      string `default:""`
}

// Run prints an accuracy for each classifier and seed.
func (c judgeCmd) Run(a *app) error {
	ctx, stop := interruptible(a)
	defer stop()
	learn, test, err := c.parts(ctx, a)
	if err == nil && test == nil {
		err = fmt.Errorf("--images %s: no images are kept aside to judge by: give --keep, as to coupling private",
			c.Images)
	}
	images := learn
	if err == nil && c.Synthetic != "real" {
		images, err = data.Load(filepath.Join(c.Synthetic, "synthetic.npy"))
	}
	lab.Check(usage(err))
	if images.Dim() != test.Dim() {
		return usagef("%s has %d values an image, %s %d: must be equal",
			c.Synthetic, images.Dim(), c.Images+c.Data, test.Dim())
	}
	dev := orUsage(device.Open(c.Device))
	defer func() { _ = dev.Close() }() // frees what lives
	for _, name := range c.Classifiers {
		of := eval.Classifier{
			Kind:     eval.Kind(slices.Index([]string{"logistic", "mlp", "cnn", "lenet", "example", "oriented"}, name)),
			Protocol: eval.Protocol(slices.Index([]string{"quick", "code", "paper"}, c.Protocol)),
			Epochs:   given(c.Epochs),
		}
		for seed := range c.Seeds {
			r := lab.Must(of.Evaluate(ctx, dev, images, test, rand.New(rand.NewPCG(uint64(seed)+1, 0))))
			a.printf("%v, seed %d: %v, trained on %d images\n", r.Kind, seed+1, &r.Score, images.Len())
		}
	}
	if !c.Attack || c.Synthetic == "real" {
		return nil
	}
	return c.attack(ctx, a, images, learn, test)
}

// attack prints how well members are told from others, and the bound TPR − FPR ≤ (e^ε − 1 + 2δ)/(e^ε
// + 1) of (ε, δ)-differential privacy.
func (c judgeCmd) attack(ctx context.Context, a *app, images, learn, test *data.Images) error {
	var spent synth.Statement
	text, err := os.ReadFile(filepath.Join(c.Synthetic, "privacy.json"))
	if err == nil {
		err = json.Unmarshal(text, &spent)
	}
	lab.Check(usage(err))
	n := min(4000, learn.Len(), test.Len())
	members, err1 := learn.Slice(0, n).Scale(0, 1)
	others, err2 := test.Slice(0, n).Scale(0, 1)
	lab.Check(errors.Join(err1, err2))
	r := lab.Must(membership.Run(ctx, images, members, others))
	advantage := 0.
	for _, p := range r.ROC {
		advantage = max(advantage, p.TPR-p.FPR)
	}
	bound := math.Tanh(spent.Epsilon/2) + 2*spent.Delta/(math.Exp(spent.Epsilon)+1)
	copies := lab.Must(membership.Copies(ctx, images.Slice(0, min(n, images.Len())), members, others))
	a.printf("copies: %.3f of synthetic images are nearer to one of %d images that were learnt from than to any of as "+
		"many others; 0.5 is none\n", copies, n)
	a.printf("membership attack on %d and %d images: %v; largest advantage %.3f, at most %.3f by ε = %g\n", n,
		n, r, advantage, bound, spent.Epsilon)
	return nil
}
