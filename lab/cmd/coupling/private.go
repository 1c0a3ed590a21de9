package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"

	"coupling/data"
	"coupling/dp"
	"coupling/dp/release"
	"coupling/dp/synth/denoise"
	"coupling/dp/synth/dpsinkhorn"
	"coupling/dp/synth/merf"
	"coupling/dp/synth/semidual"
	"coupling/figures/style"
	"coupling/lab"
	"coupling/lab/device"
	"coupling/lab/nn/arch"
	"coupling/lab/nn/train"
)

// privateCmd makes a synthetic data set from a private one.
type privateCmd struct {
	Images string  `help:"Folder of private images: a subfolder for each class with PNG or JPEG files." placeholder:"DIR" xor:"source"`
	Data   string  `help:"Or a known data set: mnist, fashion-mnist, usps or cifar10 (its training images), or mnist-sample and so on for the few inside the program." placeholder:"NAME" xor:"source"`
	Size   int     `help:"Side to resize images to; default: as they are, which must be all of one size."`
	Grey   bool    `help:"Make images grey."`
	Eps    float64 `required:"" help:"ε to spend."`
	Delta  float64 `default:"1e-5" help:"δ; below one over the number of images."`
	Method string  `default:"semi-dual" enum:"semi-dual,dp-merf,dp-sgd,dp-sinkhorn" help:"semi-dual (private semi-dual transport: the best images), dp-merf (one release, a network), dp-sgd (DP-SGD on a small denoiser), dp-sinkhorn (whole-batch clip, a DCGAN; 28x28 or 32x32)."`
	Count  int     `default:"10000" help:"Synthetic images to draw."`
	Steps  int     `help:"Training steps of dp-merf, dp-sgd and dp-sinkhorn; default 3000, 100 to 500 by ε, and 2000."`
	Device string  `default:"" help:"cpu, cuda or auto."`
	Seed   *uint64 `help:"Take all randomness from a seed: reproducible, and NOT private."`
	Out    string  `required:"" help:"Folder to write synthetic.npy, grid.png and the privacy statement to." placeholder:"DIR"`
}

// Help says what is written.
func (privateCmd) Help() string {
	return `Learns from private labelled images under (eps, delta)-differential privacy, for one image more or less, and writes

    synthetic.npy, synthetic.labels.npy   images in [0, 1], float32 [N, C, H, W], and their classes
    grid.png                              some of each class
    privacy.json, privacy.txt             the privacy statement: mechanism, unit, ε, δ, accountant, noise, what is protected and what is not

Noise and batches come from the operating system's cryptographic generator, and what they came from is not kept. Every run spends its
own budget, also one that was killed: a folder that holds a statement is not written again. dp-sgd and dp-sinkhorn keep a checkpoint, a ledger and their key in
OUT/run while they run, and go on from there when they were killed; who has the key can take the noise off: guard the folder as the images.`
}

// maker is a method at work.
type maker struct {
	event  dp.Event
	g      dp.Guarantee
	what   string // the mechanism, in words
	config any
	sample func(rng *rand.Rand, n int) (*data.Images, error)
}

// Run learns, draws and states.
func (c privateCmd) Run(a *app) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	statement := filepath.Join(c.Out, "privacy.json")
	if _, err := os.Stat(statement); !errors.Is(err, fs.ErrNotExist) {
		if err := c.forget(); err != nil { // should the run have been killed just before
			return err
		}
		return usage(fmt.Errorf("--out %s: holds the statement of another run: a new run spends its own budget; give it another folder", c.Out))
	}
	images, err := c.load(ctx)
	if err != nil {
		return usage(err)
	}
	if !(c.Delta > 0) || c.Delta*float64(images.Len()) >= 1 {
		return usage(fmt.Errorf("--delta %g: must be positive and below 1/%d, one over the number of images, else an image may be given away whole", c.Delta, images.Len()))
	}
	if c.Count < 1 || c.Steps < 0 {
		return usage(fmt.Errorf("--count %d, --steps %d: must be positive", c.Count, c.Steps))
	}
	if err := os.MkdirAll(c.Out, 0o777); err != nil {
		return err
	}
	dev, err := device.Open(c.Device)
	if err != nil {
		return err
	}
	defer func() { _ = dev.Close() }() // frees what lives
	key, err := c.key()
	if err != nil {
		return err
	}
	m, err := c.train(ctx, a, dev, images, key)
	if errors.Is(err, dp.ErrParameter) || errors.Is(err, dp.ErrUnreachable) {
		return usage(err)
	} else if err != nil {
		return err
	}
	return c.write(a, m, images, key)
}

// forget removes the checkpoint, the ledger and the key of a run that is done.
func (c privateCmd) forget() error { return os.RemoveAll(filepath.Join(c.Out, "run")) }

// key is fresh, or of a seed; dp-sgd and dp-sinkhorn find the one that they began with.
func (c privateCmd) key() (key release.Key, err error) {
	if c.Seed != nil {
		return release.SeededKey(*c.Seed), nil
	}
	path := filepath.Join(c.Out, "run", "key")
	if c.Method != "dp-sinkhorn" && c.Method != "dp-sgd" {
		return release.NewKey()
	}
	switch b, err := os.ReadFile(path); {
	case err == nil && len(b) == len(key):
		return release.Key(b), nil
	case err == nil:
		return key, fmt.Errorf("%s: %d bytes, want the %d of a key: remove %s to begin anew, which spends anew", path, len(b), len(key), filepath.Dir(path))
	case !errors.Is(err, fs.ErrNotExist):
		return key, err
	}
	if key, err = release.NewKey(); err != nil {
		return key, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return key, err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return key, err
	}
	_, err = f.Write(key[:])
	return key, errors.Join(err, f.Sync(), f.Close())
}

func (c privateCmd) train(ctx context.Context, a *app, dev *device.Device, images *data.Images, key release.Key) (m maker, err error) {
	classes := len(images.Classes)
	bar := newProgress(a.err, "learning", 1, a.quiet)
	tick := func(done, of int) { bar.event(lab.Event{Kind: lab.Advanced, Key: "private", Done: done, Total: of}) }
	defer bar.finish()
	switch c.Method {
	case "dp-merf":
		conf := merf.Config{Steps: c.Steps}
		if conf, m.g, err = conf.Calibrate(ctx, c.Eps, c.Delta); err != nil {
			return m, err
		}
		if m.event, err = conf.Event(); err != nil {
			return m, err
		}
		gen, err := conf.Train(ctx, dev, images, classes, key, tick)
		if err != nil {
			return m, err
		}
		m.what, m.config, m.sample = "DP-MERF: means of random features by class, released once, and a network fitted to them", conf, gen.Sample
		return m, nil
	case "dp-sgd":
		return c.denoiser(ctx, dev, images, key, tick)
	case "dp-sinkhorn":
		return c.recipe(ctx, dev, images, key, tick)
	}
	conf, g, err := semidual.Suggested(c.Eps, images.Len(), classes, images.Dim()).Calibrate(ctx, c.Eps, c.Delta)
	if err != nil {
		return m, err
	}
	if m.event, err = conf.Event(); err != nil {
		return m, err
	}
	model, err := conf.Train(ctx, dev, images, classes, key, func(s semidual.Step) { tick(s.Done, s.Of) })
	if err != nil {
		return m, err
	}
	m.g, m.what, m.config, m.sample = g, "private semi-dual transport: noisy sums of transport weights, clipped displacements and clipped outer products", conf, model.Sample
	return m, nil
}

// denoiser is DP-SGD.
func (c privateCmd) denoiser(ctx context.Context, dev *device.Device, images *data.Images, key release.Key, tick func(done, of int)) (m maker, err error) {
	conf := denoise.Suggested(c.Eps, images.Len())
	if c.Steps > 0 {
		conf.Steps = c.Steps
	}
	if conf, m.g, err = conf.Calibrate(ctx, images.Len(), c.Eps, c.Delta); err != nil {
		return m, err
	}
	if m.event, err = conf.Event(images.Len()); err != nil {
		return m, err
	}
	m.what, m.config = "DP-SGD on a class-conditional denoiser: sums of clipped gradients, one of each image", conf
	conf.Dir = filepath.Join(c.Out, "run")
	gen, err := conf.Train(ctx, dev, images, len(images.Classes), key, tick)
	if err != nil {
		return m, err
	}
	m.sample = gen.Sample
	return m, nil
}

// recipe is DP-Sinkhorn with the clip that holds.
func (c privateCmd) recipe(ctx context.Context, dev *device.Device, images *data.Images, key release.Key, tick func(done, of int)) (m maker, err error) {
	_, ch, h, w := images.Shape()
	if h != w || h != 28 && h != 32 {
		return m, fmt.Errorf("images of %d×%d: dp-sinkhorn takes 28×28 or 32×32, see --size: %w", h, w, dp.ErrParameter)
	}
	steps := c.Steps
	if steps == 0 {
		steps = 2000
	}
	t := dpsinkhorn.Training{
		Net:  dpsinkhorn.Net{DCGAN: &arch.DCGAN{Latent: 12, Classes: len(images.Classes), Embed: 4, Channels: ch, Size: h}},
		Loss: dpsinkhorn.Loss{L1: 1, Fresh: .4}, Images: 50, Rate: min(50/float64(images.Len()), 1), Steps: steps, Adam: train.Adam{Rate: 1e-3, Decay: 2e-5},
		Dir: filepath.Join(c.Out, "run"), Every: 50, Trace: func(k int, _ *device.Array) { tick(k+1, steps) },
	}
	event := func(sigma float64) dp.Event {
		return dpsinkhorn.WholeBatch{Multiplier: sigma}.Event(t.Images, t.Rate, steps)
	}
	sigma, g, err := dp.MinNoise(ctx, dp.Budget{Epsilon: c.Eps, Delta: c.Delta}, event)
	if err != nil {
		return m, err
	}
	t.Sanitiser = dpsinkhorn.WholeBatch{Multiplier: sigma}
	if m.event, err = t.Event(); err != nil { // of what runs
		return m, err
	}
	gen, err := t.Run(ctx, dev, images, len(images.Classes), key)
	if err != nil {
		return m, err
	}
	m.g, m.what, m.config, m.sample = g, "DP-Sinkhorn, gradients at the generator's output clipped over the whole batch", t.Sanitiser, gen.Sample
	return m, nil
}

// write draws the images and puts the statement beside them, last: where it is, all is.
func (c privateCmd) write(a *app, m maker, images *data.Images, key release.Key) error {
	synthetic, err := m.sample(key.Rand("sample", 0), c.Count)
	if err != nil {
		return err
	}
	if err := synthetic.Save(filepath.Join(c.Out, "synthetic.npy")); err != nil {
		return err
	}
	if err := lab.WriteFile(filepath.Join(c.Out, "grid.png"), func(w io.Writer) error { return drawGrid(w, synthetic) }); err != nil {
		return err
	}
	s := dpsinkhorn.State(m.what, m.event, m.g, c.Seed != nil)
	_, ch, h, w := images.Shape()
	s.Records, s.Classes, s.Shape, s.Synthetic, s.Settings = images.Len(), images.Classes, []int{ch, h, w}, synthetic.Len(), fmt.Sprintf("%+v", m.config)
	if err := lab.WriteFile(filepath.Join(c.Out, "privacy.txt"), func(w io.Writer) error { _, err := io.WriteString(w, s.Text()); return err }); err != nil {
		return err
	}
	err = lab.WriteFile(filepath.Join(c.Out, "privacy.json"), func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(s)
	})
	if err != nil {
		return err
	}
	if err := c.forget(); err != nil {
		return err
	}
	fmt.Fprintf(a.out, "wrote %s: %s of %d classes\n\n%s", c.Out, plural(synthetic.Len(), "image"), len(images.Classes), s.Text())
	return nil
}

// drawGrid draws ten images of each class, a class a row.
func drawGrid(w io.Writer, m *data.Images) error {
	_, c, h, wide := m.Shape()
	const columns = 10
	grid := style.ImageGrid{C: c, H: h, W: wide, Columns: columns}
	for l, at := range m.ByClass() {
		for k := range columns {
			var row []float32
			if k < len(at) {
				row = m.Row(at[k])
			}
			grid.Images = append(grid.Images, row)
		}
		name := fmt.Sprint(l)
		if l < len(m.Classes) {
			name = m.Classes[l]
		}
		grid.RowLabels = append(grid.RowLabels, name)
	}
	return style.Figure{Body: grid, Width: style.Screen}.Save(w, "png")
}
