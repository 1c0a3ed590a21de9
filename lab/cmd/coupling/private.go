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
	"strings"
	"time"

	"coupling/data"
	"coupling/data/sample"
	"coupling/dp"
	"coupling/dp/synth"
	"coupling/dp/synth/suggest"
	"coupling/figures/style"
	"coupling/lab"
	"coupling/lab/device"
	"coupling/lab/store"
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
		Method:  func(p synth.Public) synth.Method { return orUsage(ask.Method(p)) },
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
		n, r, advantage, math.Ceil(1e3*bound)/1e3, spent.Epsilon)
	return nil
}

// pictures are the flags that name images: a user's own, or a known data set.
type pictures struct {
	Images string `placeholder:"DIR" xor:"source"`
	Split  string `placeholder:"NAME"`
	Data   string `placeholder:"NAME" xor:"source"`
	Size   int
	Grey   bool
	Keep   float64 `min:"0" max:"0.9"`
}

// pictureWords are names of data.Folder's fields, and flags.
var pictureWords = strings.NewReplacer("Size = ", "--size ", "Split = ", "--split ", "data: ", "")

// parts returns the images to learn from and those to test on: those kept aside, or a known set's.
func (p pictures) parts(ctx context.Context, a *app) (learn, test *data.Images, err error) {
	defer lab.End(&err)
	if p.Images == "" {
		learn, test, err = named(ctx, p.Data)
		lab.Check(err)
		learn, test = lab.Must(p.shaped(learn)), lab.Must(p.shaped(test))
	} else {
		learn = lab.Must(p.load(ctx, a))
	}
	if p.Keep > 0 {
		learn, test = learn.Apart(p.Keep)
	}
	return learn, test, nil
}

// load returns a user's own images, in [0, 1], with class names. Whether all are grey is public; that some are is
// worth a warning.
func (p pictures) load(ctx context.Context, a *app) (_ *data.Images, err error) {
	defer lab.End(&err)
	status, notes := a.status(10*time.Second), []string(nil)
	m, err := data.Folder{
		Dir: p.Images, Split: p.Split, Size: p.Size, Grey: p.Grey, Empty: true,
		Note:     func(line string) { notes = append(notes, line) },
		Progress: func(done, of int) { status.say(fmt.Sprintf("reading: %d of %s", done, plural(of, "picture"))) },
	}.Load(ctx)
	status.clear()
	if err == nil && len(m.Classes) == 0 {
		err = fmt.Errorf("folder %q: images have no classes: want a subfolder for each, even for one, as CLASS/1.png, "+
			"or labels.csv with lines file,class", p.Images)
	}
	if err != nil {
		return nil, worded{err, "--images: " + pictureWords.Replace(err.Error())}
	}
	switch grey := greys(m); {
	case grey == m.Len():
		m, err = m.Grey()
		lab.Check(err)
	case grey > 0:
		notes = append(notes, fmt.Sprintf("%d of %d images are grey, and the others make all of them RGB, "+
			"which is no secret: give --grey, unless colour matters", grey, m.Len()))
	}
	for _, line := range notes {
		a.note("coupling: %s: %s\n", p.Images, line)
	}
	return m, nil
}

func greys(m *data.Images) (n int) {
	_, channels, h, w := m.Shape()
	for i := range m.Len() {
		if v := m.Row(i); channels == 3 && slices.Equal(v[:2*h*w], v[h*w:]) {
			n++
		}
	}
	return n
}

func (p pictures) shaped(m *data.Images) (_ *data.Images, err error) {
	defer lab.End(&err)
	if _, channels, _, _ := m.Shape(); p.Grey && channels == 3 {
		m = lab.Must(m.Grey())
	}
	if p.Size != 0 {
		m = lab.Must(m.Resize(p.Size, p.Size, data.Bilinear))
	}
	if m.Lo == 0 && m.Hi == 1 {
		return m, nil
	}
	return m.Scale(0, 1)
}

// named is a known data set: the images to learn from, and those to test on.
func named(ctx context.Context, name string) (learn, test *data.Images, err error) {
	set, small := strings.CutSuffix(name, "-sample")
	set, fit := strings.CutSuffix(set, "-fit")
	if name == "" {
		return nil, nil, errors.New("--images DIR, or --data NAME: must be given")
	}
	if known := data.Names(); !slices.Contains(known, set) {
		return nil, nil, fmt.Errorf("--data %q: there is none%s", name, store.DidYouMean(set, known))
	}
	origin := data.Official
	if small {
		origin = data.Sample
	}
	if learn, err = data.LoadNamed(ctx, sample.From(origin), set, data.Train); err != nil {
		return nil, nil, err
	}
	if fit {
		n := learn.Len() * 5 / 6
		return learn.Slice(0, n), learn.Slice(n, learn.Len()), nil
	}
	test, err = data.LoadNamed(ctx, sample.From(origin), set, data.Test)
	return learn, test, err
}
