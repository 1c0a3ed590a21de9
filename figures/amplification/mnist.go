package amplification

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"coupling/data"
	"coupling/data/sample"
	"coupling/dp/release"
	"coupling/dp/sgd"
	"coupling/lab"
	"coupling/lab/device"
	"coupling/lab/durable"
	"coupling/lab/nn"
	"coupling/lab/nn/train"
)

// MNISTParams is DP-SGD on digits, looked at after some steps.
type MNISTParams struct {
	Net    MNISTNet    `json:"net"`
	Train  int         `json:"train" min:"1" max:"60000" doc:"first images of the training set; the last 5000 are the paper's validation set, which nobody looks at here"`
	Test   int         `json:"test" min:"1" doc:"test images at most"`
	Batch  int         `json:"batch" min:"1" doc:"expected size of Poisson batches"`
	Noise  float64     `json:"noise" min:"0" doc:"noise multiplier"`
	Clip   float64     `json:"clip" min:">0" doc:"norm to which gradients of an example are clipped"`
	Adam   float64     `json:"adam" min:">0" doc:"learning rate"`
	Steps  []int       `json:"steps" min:"1" doc:"after which accuracy is measured, increasing; training ends after the last"`
	Repeat int         `json:"repeat" min:"0" doc:"number of the run, over which curves are averaged"`
	Device string      `json:"device" doc:"where networks run: cpu, cuda:0 or cuda:0,tf32"`
	Data   data.Origin `json:"data,omitzero" enum:",subset,sample" doc:"files: \"\" the official ones, or fewer of them"`
}

// MNISTNet is two convolutions of 3×3 without padding, a maximum of windows, and two dense layers.
type MNISTNet struct {
	Channels [2]int `json:"channels" min:"1" doc:"of two convolutions of 3×3 without padding"`
	Pool     int    `json:"pool" min:"1" doc:"side of the windows whose maximum is taken"`
	Hidden   int    `json:"hidden" min:"1" doc:"width of the dense layer"`
}

func (m MNISTNet) layers() nn.Layer {
	side := (28 - 4) / m.Pool
	return nn.Seq(
		&nn.Conv2D{In: 1, Out: m.Channels[0], Window: device.SquareWindow(3, 1, 0)}, nn.ReLU(),
		&nn.Conv2D{In: m.Channels[0], Out: m.Channels[1], Window: device.SquareWindow(3, 1, 0)}, nn.ReLU(),
		&nn.MaxPool{Window: device.SquareWindow(m.Pool, m.Pool, 0)}, nn.Flatten(),
		&nn.Dense{In: m.Channels[1] * side * side, Out: m.Hidden}, nn.ReLU(), &nn.Dense{In: m.Hidden, Out: 10},
	)
}

// MNISTOut is the accuracy on test images after each of Steps.
type MNISTOut struct {
	Accuracy   []float64 `json:"accuracy"`
	Parameters int       `json:"parameters"`
}

var mnistOf = lab.Experiment[MNISTParams, MNISTOut]{Name: "amplification/mnist", Version: 1, Run: runMNIST}

func runMNIST(ctx context.Context, c *lab.Cell, p MNISTParams) (out MNISTOut, err error) {
	images, err := data.MNIST(ctx, sample.From(p.Data), data.Train)
	if err != nil {
		return out, err
	}
	test, err := data.MNIST(ctx, sample.From(p.Data), data.Test)
	if err != nil {
		return out, err
	}
	images, test = images.Slice(0, p.Train), test.Slice(0, min(p.Test, test.Len()))
	dev, err := c.Device(p.Device)
	if err != nil {
		return out, err
	}
	dir, err := c.Scratch()
	if err != nil {
		return out, err
	}
	l := looks{path: filepath.Join(dir, "looks"), Accuracy: map[int]float64{}}
	if err := l.load(); err != nil {
		return out, err
	}
	t := sgd.Training{
		Net: p.Net.layers(), Objective: sgd.Classification{X: sgd.Pixels(images), Labels: images.Labels}, Clip: p.Clip, NoiseMultiplier: p.Noise, Rate: float64(p.Batch) / float64(p.Train),
		Steps: slices.Max(p.Steps), Optimiser: train.Adam{Rate: p.Adam}, Dir: dir, Every: 500,
	}
	t.Trace = func(done int) error {
		c.Progress(done, t.Steps)
		if !slices.Contains(p.Steps, done) {
			return nil
		}
		a, err := accuracy(t.Net, test)
		if err != nil {
			return err
		}
		return l.note(done, a)
	}
	if err := t.Run(ctx, dev, release.SeededKey(c.Seed+uint64(p.Repeat)<<32)); err != nil {
		return out, err
	}
	for _, k := range p.Steps {
		a, ok := l.Accuracy[k]
		if !ok {
			return out, fmt.Errorf("no accuracy after step %d in %s", k, l.path)
		}
		out.Accuracy = append(out.Accuracy, a)
	}
	out.Parameters = nn.Count(t.Net.Params())
	return out, nil
}

// looks are accuracies seen so far, which outlive a killed training as its checkpoint does.
type looks struct {
	path     string
	Accuracy map[int]float64 `json:"accuracy"`
}

func (l *looks) load() error {
	b, err := os.ReadFile(l.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	return json.Unmarshal(b, l)
}

func (l *looks) note(step int, accuracy float64) error {
	l.Accuracy[step] = accuracy
	return durable.WriteFile(l.path, 0o666, func(w io.Writer) error { return json.NewEncoder(w).Encode(l) })
}

// accuracy is that of a network on images.
func accuracy(net nn.Layer, images *data.Images) (float64, error) {
	logits, err := sgd.Predict(net, sgd.Pixels(images))
	if err != nil {
		return 0, err
	}
	right := 0
	for i, label := range images.Labels {
		if row := logits.RawRowView(i); row[label] == slices.Max(row) {
			right++
		}
	}
	return float64(right) / float64(images.Len()), nil
}
