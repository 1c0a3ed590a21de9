package sgd

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"coupling/data"
	"coupling/dp"
	"coupling/dp/release"
	"coupling/lab/device"
	"coupling/lab/must"
	"coupling/lab/nn"
	"coupling/lab/nn/arch"
	"coupling/lab/nn/nntest"
	"coupling/lab/nn/train"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// bars are images of 6×6 that are bright on the left or on the right, by their label.
func bars(n int) *data.Images {
	rng := rand.New(rand.NewPCG(8, 9))
	m := must.Get(data.New(n, 1, 6, 6))
	m.Labels, m.Classes = make([]int, n), []string{"left", "right"}
	for i := range n {
		m.Labels[i] = i % 2
		for j := range m.Row(i) {
			m.Row(i)[j] = .3 * rng.Float32()
			if j%6/3 == m.Labels[i] {
				m.Row(i)[j] += .6
			}
		}
	}
	return m
}

// small is a network with convolutions, normalisation of each example and dense layers.
func small() nn.Layer {
	return nn.Seq(&nn.Conv2D{In: 1, Out: 3, Window: device.SquareWindow(3, 1, 0)},
		&nn.InstanceNormPlus{Channels: 3}, nn.ReLU(),
		&nn.MaxPool{Window: device.SquareWindow(2, 2, 0)}, nn.Flatten(), &nn.Dense{In: 12, Out: 5}, nn.Tanh(),
		&nn.Dense{In: 5, Out: 2})
}

func classes(m *data.Images) Classification { return Classification{X: Pixels(m), Labels: m.Labels} }

// training is a short one.
func training(dir string) Training {
	return Training{
		Net:             small(),
		Objective:       classes(bars(40)),
		Clip:            .5,
		NoiseMultiplier: .7,
		Rate:            .2,
		Batch:           8,
		Steps:           7,
		Optimiser:       train.Adam{Rate: 1e-2},
		Average:         .8,
		Virtual:         4,
		Dir:             dir,
		Every:           3,
	}
}

// begin initialises the network and changes its weights by a factor.
func begin(t testing.TB, tr Training, scale float64) *run {
	t.Helper()
	r := &run{Training: tr, dev: nntest.CPU(t), out: release.Run{Key: release.SeededKey(3), Releases: 1}}
	r.Net.Init(r.dev, r.Type, r.out.Key.Rand("weights", 0))
	for _, p := range r.Net.Params() {
		device.Scale(p.Value, scale, p.Value)
	}
	return r
}

func sumOf(r *run, batch []int) []float64 {
	return must.Get(r.sum(0, batch))
}

func weights(net nn.Layer) (out []float64) {
	for _, p := range net.Params() {
		v := must.Get(p.Value.Float64s())
		out = append(out, v...)
	}
	return out
}

// The sum over virtual batches is that of gradients taken and clipped one by one in float64.
func TestSum(t *testing.T) {
	tr := training("")
	tr.Type, tr.Clip = device.Float64, 1.2
	r := begin(t, tr, 1)
	batch := []int{0, 3, 4, 5, 19, 20, 21, 22, 39}
	got, want, clipped := sumOf(r, batch), make([]float64, nn.Count(r.Net.Params())), 0
	for _, i := range batch {
		p := &nn.Pass{}
		dy := must.Get(r.Objective.Cotangent(Batch{Net: r.Net, Pass: p, Dev: r.dev, Type: r.Type, Records: []int{i}}))
		nn.ZeroGrads(r.Net.Params())
		r.Net.VJP(p, dy)
		one := make([]float64, len(want))
		must.Do(addGrads(one, r.Net.Params()))
		factor := min(1, tr.Clip/floats.Norm(one, 2))
		if factor < 1 {
			clipped++
		}
		floats.AddScaled(want, factor, one)
	}
	if clipped == 0 || clipped == len(batch) {
		t.Fatalf("%d of %d gradients were clipped: the test tests little", clipped, len(batch))
	}
	// train.Margin of float64, for nine records.
	if d := floats.Distance(got, want, 2); d > 1e-8 {
		t.Errorf("off by %g of %g", d, floats.Norm(want, 2))
	}
}

// adversary changes images and labels of m, of which record 0 is the one that comes and goes, into hard ones.
var adversaries = map[string]func(rng *rand.Rand, m *data.Images){
	"random": func(*rand.Rand, *data.Images) {},
	"all the same": func(_ *rand.Rand, m *data.Images) { // all gradients add up
		for i := range m.Len() {
			copy(m.Row(i), m.Row(0))
			m.Labels[i] = m.Labels[0]
		}
	},
	"opposite labels": func(_ *rand.Rand, m *data.Images) { // and cancel
		for i := range m.Len() {
			copy(m.Row(i), m.Row(0))
			m.Labels[i] = i % 2
		}
	},
	"huge": func(rng *rand.Rand, m *data.Images) {
		for j := range m.Row(0) {
			m.Row(0)[j] = float32(1e30 * rng.NormFloat64())
		}
	},
	"not finite": func(_ *rand.Rand, m *data.Images) {
		m.Row(0)[0], m.Row(0)[1] = float32(math.NaN()), float32(math.Inf(-1))
	},
	"checkers": func(_ *rand.Rand, m *data.Images) {
		for j := range m.Row(0) {
			m.Row(0)[j] = float32((j + j/6) % 2)
		}
	},
}

// One record more or less moves the sum by no more than Clip, in the arithmetic that is released, and by about that
// much: over adversarial records, sizes of weights, and virtual batches from one record to all.
func TestSensitivity(t *testing.T) {
	size := 400
	if testing.Short() {
		size = 150
	}
	for name, change := range adversaries {
		t.Run(name, func(t *testing.T) {
			largest := 0.
			for trial, scale := range []float64{1e-3, 1, 30, 1e4} {
				if testing.Short() && (trial == 1 || trial == 2) {
					continue
				}
				tr := training("")
				m := bars(size)
				change(rand.New(rand.NewPCG(1, uint64(trial))), m)
				tr.Objective, tr.Clip, tr.Virtual, tr.Rate = classes(m), []float64{1e-4, .5}[trial%2],
					[]int{1, 16, size, 64}[trial], 1
				r := begin(t, tr, scale)
				all := everybody(m.Len())
				with := sumOf(r, all)
				moved := floats.Distance(with, sumOf(r, all[1:]), 2)
				largest = max(largest, moved/tr.Clip)
				if moved > tr.sensitivity() {
					t.Errorf("weights × %g: moved by %g, Clip = %g", scale, moved, tr.Clip)
				}
				// Gone from the data set, so that all others move up a place.
				r.Objective = classes(m.Slice(1, m.Len()))
				if moved := floats.Distance(with, sumOf(r, all[:m.Len()-1]), 2); moved > tr.sensitivity() {
					t.Errorf("weights × %g: moved by %g where others move up, Clip = %g", scale, moved, tr.Clip)
				}
				if n := floats.Norm(sumOf(r, []int{0}), 2); n > tr.Clip {
					t.Errorf("weights × %g: one record alone has %g, Clip = %g", scale, n, tr.Clip)
				}
			}
			t.Logf("moved by up to %.6f of Clip", largest)
			if largest < .99 {
				t.Errorf("moved by no more than %g of Clip: the test has no teeth", largest)
			}
		})
	}
}

// nets have each kind of layer that has corners, in sizes that are not multiples of anything.
var nets = map[string]func() nn.Layer{
	"small": small,
	"dense": func() nn.Layer {
		return nn.Seq(nn.Flatten(), &nn.Dense{In: 36, Out: 301}, nn.ReLU(), &nn.Dense{In: 301, Out: 47}, nn.SiLU(),
			&nn.Dense{In: 47, Out: 2})
	},
	"convolutions": func() nn.Layer {
		return nn.Seq(&nn.Conv2D{In: 1, Out: 7, Window: device.SquareWindow(3, 1, 1)}, nn.ReLU(),
			&nn.Conv2D{In: 7, Out: 13, Window: device.SquareWindow(3, 1, 0)}, nn.ReLU(),
			&nn.MaxPool{Window: device.SquareWindow(2, 2, 0)}, nn.Flatten(), &nn.Dense{In: 52, Out: 33}, nn.ReLU(),
			&nn.Dense{In: 33, Out: 2})
	},
}

// What a record contributes is the same bits, whoever is in the batch: else at a corner, of a ReLU
// or between two pixels of a pool, another record's rounding would decide which way this one's
// gradient goes.
func TestRecordsAreOnTheirOwn(t *testing.T) {
	for name, net := range nets {
		tr := training("")
		tr.Net, tr.Objective = net(), classes(bars(300))
		r := begin(t, tr, 1)
		look := func(records []int) (dy, norms []float64) {
			p := &nn.Pass{Training: true}
			y := must.Get(r.cotangent(p, 0, records))
			norm := train.ExampleNorms(p, r.Net, y)
			return must.Get(y.Float64s()), must.Get(norm.Float64s())
		}
		all, whole := look(everybody(300))
		for _, n := range []int{1, 2, 3, 12, 13, 64, 127, 129, 250} {
			for _, from := range []int{0, 7, 20, 45} {
				dy, norms := look(everybody(300)[from : from+n])
				if !slices.Equal(dy[:2*n], all[2*from:2*(from+n)]) || !slices.Equal(norms[:n], whole[from:from+n]) {
					t.Errorf("%s: in a batch of %d, records are not what they are in one of 300", name, n)
				}
			}
		}
	}
}

// What rounding does to the sum of the largest virtual batch in float32, against float64, is below
// what noise is scaled up for: for records of all kinds, and for gradients that all add up, where
// it is most.
func TestRounding(t *testing.T) {
	for name, change := range adversaries {
		var sums [2][]float64
		for k, typ := range []device.DType{device.Float32, device.Float64} {
			tr := training("")
			m := bars(128)
			change(rand.New(rand.NewPCG(1, 1)), m)
			tr.Objective, tr.Virtual, tr.Type, tr.Rate, tr.Clip = classes(m), 128, typ, 1, .05
			r := begin(t, tr, 1)
			sums[k] = sumOf(r, everybody(128))
		}
		// train.Margin makes 3e-4 of a sum of up to 128 clips, in the direction of the sum; what is
		// left is rounding, in half of Slack's two worlds.
		scale := floats.Dot(sums[0], sums[1]) / floats.Dot(sums[1], sums[1])
		floats.AddScaled(sums[0], -scale, sums[1])
		d := floats.Norm(sums[0], 2) / .05
		t.Logf("%s: rounding: %.2g of Clip", name, d)
		if d > Slack/2 {
			t.Errorf("%s: rounding moved the sum by %g of Clip, Slack is %g", name, d, Slack)
		}
	}
}

// A stretch with many more records than are expected is summed in parts, of which none is larger than Slack allows.
func TestVirtualBatchesAreBounded(t *testing.T) {
	tr := training("")
	sizes := []int{}
	tr.Objective, tr.Virtual, tr.Rate = counted{classes(bars(40)), &sizes}, 3, .1
	sumOf(begin(t, tr, 1), everybody(40))
	if !slices.Equal(sizes, []int{6, 6, 6, 6, 6, 6, 4}) { // stretches of 30
		t.Errorf("virtual batches of %v", sizes)
	}
}

// counted notes how many records go together.
type counted struct {
	Classification
	sizes *[]int
}

func (c counted) Cotangent(b Batch) (*device.Array, error) {
	*c.sizes = append(*c.sizes, len(b.Records))
	return c.Classification.Cotangent(b)
}

// spoilt is a loss whose cotangent is not finite for some records.
type spoilt struct {
	Classification
	bad map[int]bool
}

func (s spoilt) Cotangent(b Batch) (*device.Array, error) {
	dy, err := s.Classification.Cotangent(b)
	if err != nil {
		return nil, err
	}
	v, err := dy.Float64s()
	for k, i := range b.Records {
		if s.bad[i] {
			v[2*k] = math.Inf(1)
		}
	}
	dy.SetFloats(v)
	return dy, err
}

// Records without a finite gradient count as zero, and nobody at all is a sum of zero.
func TestNotFiniteAndEmpty(t *testing.T) {
	tr := training("")
	want := sumOf(begin(t, tr, 1), []int{1, 4, 30})
	tr.Objective = spoilt{tr.Objective.(Classification), map[int]bool{0: true, 5: true, 31: true, 32: true}}
	r := begin(t, tr, 1)
	got := sumOf(r, []int{0, 1, 4, 5, 30, 31, 32})
	// The same records in smaller products: rounding in float32.
	if d := floats.Distance(got, want, 2); d > 1e-5 {
		t.Errorf("spoilt records move the sum by %g", d)
	}
	for _, v := range sumOf(r, nil) {
		if v != 0 {
			t.Fatalf("the sum of nobody has an entry %g", v)
		}
	}
}

// The number of records goes into nothing: one more without a gradient leaves the same weights, to
// the last bit.
func TestNumberOfRecordsIsNotUsed(t *testing.T) {
	train := func(n int) []float64 {
		tr := training("")
		tr.Rate, tr.Objective = 1, spoilt{classes(bars(n)), map[int]bool{40: true}}
		must.Do(tr.Run(t.Context(), nntest.CPU(t), release.SeededKey(4)))
		return weights(tr.Net)
	}
	if forty, more := train(40), train(41); !slices.Equal(forty, more) {
		t.Errorf("a record without a gradient moved weights by %g", floats.Distance(forty, more, 2))
	}
}

// The noise has the standard deviation that Event accounts for, or more by at most a part in 500, and a budget is met.
func TestNoise(t *testing.T) {
	tr := training("")
	tr.Clip, tr.NoiseMultiplier = 2, 3
	if least := tr.Clip * tr.NoiseMultiplier; tr.sigma() < least || tr.sigma() > least*1.002 {
		t.Errorf("σ = %g, want %g or a little more", tr.sigma(), least)
	}
	r := begin(t, tr, 1)
	v := must.Get(r.release(0, make([]float64, 20_000)))
	// The estimate has a relative standard error of 1/√40000 = .005.
	if sd := floats.Norm(v, 2) / math.Sqrt(float64(len(v))); math.Abs(sd/6-1) > .025 {
		t.Errorf("noise of standard deviation %g, want 6", sd)
	}
	event, err := tr.Event()
	if err != nil || event != dp.SGD(3, .2, 7) {
		t.Errorf("event %v, %v", event, err)
	}
	budget := dp.Budget{Epsilon: 2, Delta: 1e-5, Relation: dp.Relation{Group: 2}}
	tr, g := must.Get2(tr.Calibrate(t.Context(), budget))
	event, _ = tr.Event()
	if again, err := dp.Epsilon(t.Context(), event, budget.Relation, budget.Delta); err != nil || g.Epsilon > 2 ||
		again.Epsilon > 2*(1+1e-8) || again.Epsilon < 1.99 {
		t.Errorf("calibrated to %v, its event has %v, %v", g, again, err)
	}
	tr.NoiseMultiplier = 0
	if _, err := tr.Event(); !errors.Is(err, ErrParameter) {
		t.Errorf("event without noise: %v", err)
	}
}

// With little noise a network learns, with a lot it does not: noise does go in.
func TestLearns(t *testing.T) {
	accuracy := func(multiplier float64) float64 {
		tr := training("")
		tr.Objective = classes(bars(400))
		tr.Net, tr.Steps, tr.Rate, tr.Batch, tr.NoiseMultiplier, tr.Virtual = arch.Logistic(36, 2), 40, .25, 100,
			multiplier, 0
		dev := nntest.CPU(t)
		must.Do(tr.Run(t.Context(), dev, release.SeededKey(4)))
		m, right := bars(400), 0
		logits := must.Get(Predict(tr.Net, Pixels(m)))
		for i, l := range m.Labels {
			if logits.At(i, l) > logits.At(i, 1-l) {
				right++
			}
		}
		return float64(right) / 400
	}
	if a := accuracy(1); a < .95 {
		t.Errorf("accuracy %g", a)
	}
	if a := accuracy(3e3); a > .95 {
		t.Errorf("accuracy %g with noise that drowns all", a)
	}
}

// The network ends with the moving average of its weights, in which the first steps count less.
func TestAverage(t *testing.T) {
	tr := training("")
	tr.Net, tr.Type = small(), device.Float64
	var mean, start []float64
	tr.Trace = func(done int) error {
		w := weights(tr.Net)
		if mean == nil {
			begun := begin(t, Training{Net: small(), Type: tr.Type}, 1)
			begun.Net.Init(begun.dev, tr.Type, release.SeededKey(1).Rand("weights", 0))
			mean = weights(begun.Net)
			start = slices.Clone(mean)
		}
		decay := min(.8, float64(done)/float64(done+9))
		for i := range mean {
			mean[i] = decay*mean[i] + (1-decay)*w[i]
		}
		return nil
	}
	must.Do(tr.Run(t.Context(), nntest.CPU(t), release.SeededKey(1)))
	got := weights(tr.Net)
	// rounding in float64
	if d := floats.Distance(got, mean, 2); d > 1e-12*floats.Norm(mean, 2) || floats.Distance(got, start, 2) < 1e-3 {
		t.Errorf("off the average by %g, from the start by %g", d, floats.Distance(got, start, 2))
	}
}

// A random allocation trains: every record is in exactly two of five steps of each epoch, the
// epochs differ, a resumed run draws the same, and the event is what was drawn.
func TestAllocation(t *testing.T) {
	tr := training(t.TempDir())
	tr.Rate, tr.Epoch, tr.Selected, tr.Steps = 0, 5, 2, 10
	must.Do(tr.Run(t.Context(), nntest.CPU(t), release.SeededKey(1)))
	r := &run{Training: tr, out: release.Run{Key: release.SeededKey(1)}}
	var epochs [2]map[int][]int
	for k := range tr.Steps {
		batch, err := r.batch(k)
		again, err2 := (&run{Training: tr, out: r.out}).batch(k)
		if err != nil || err2 != nil || !slices.Equal(batch, again) || !slices.IsSorted(batch) {
			t.Fatalf("step %d: %v, %v; again %v, %v", k, batch, err, again, err2)
		}
		if k%5 == 0 {
			epochs[k/5] = map[int][]int{}
		}
		for _, i := range batch {
			epochs[k/5][i] = append(epochs[k/5][i], k%5)
		}
	}
	same := 0
	for i := range tr.Objective.Len() {
		if len(epochs[0][i]) != 2 || len(epochs[1][i]) != 2 {
			t.Errorf("record %d is in steps %v and %v of two epochs, want two of each", i, epochs[0][i], epochs[1][i])
		}
		if slices.Equal(epochs[0][i], epochs[1][i]) {
			same++
		}
	}
	if same > 20 { // of 40, each with probability 1/10
		t.Errorf("%d of 40 records have the same steps in both epochs", same)
	}
	e, err := tr.Event()
	if want := "2 × Allocation(2 of 5 steps, Gaussian(noise multiplier 0.7))"; err != nil || fmt.Sprint(e) != want {
		t.Errorf("event %v, %v; want %s", e, err, want)
	}
}

// Parameters out of range are refused by name.
func TestRefusals(t *testing.T) {
	for name, change := range map[string]func(*Training){
		"net":        func(t *Training) { t.Net = nil },
		"objective":  func(t *Training) { t.Objective = nil },
		"records":    func(t *Training) { t.Objective = Classification{} },
		"labels":     func(t *Training) { t.Objective = Classification{X: t.Objective.(Classification).X} },
		"optimiser":  func(t *Training) { t.Optimiser = nil },
		"clip":       func(t *Training) { t.Clip = 0 },
		"multiplier": func(t *Training) { t.NoiseMultiplier = math.NaN() },
		"rate":       func(t *Training) { t.Rate = 1.1 },
		"both":       func(t *Training) { t.Epoch = 7 },
		"unfinished": func(t *Training) { t.Rate, t.Epoch = 0, 5 },
		"selected":   func(t *Training) { t.Rate, t.Epoch, t.Selected = 0, 7, 8 },
		"batch":      func(t *Training) { t.Batch = 0 },
		"steps":      func(t *Training) { t.Steps = -1 },
		"average":    func(t *Training) { t.Average = 1 },
		"virtual":    func(t *Training) { t.Virtual = -1 },
		"rounding":   func(t *Training) { t.Virtual = 65 }, // of sums, beyond Slack
		"type":       func(t *Training) { t.Type = device.Int32 },
		"label":      func(t *Training) { t.Objective.(Classification).Labels[39] = 2 },
		"targets": func(t *Training) {
			t.Objective = Regression{X: t.Objective.(Classification).X, Y: mat.NewDense(3, 2, nil)}
		},
		"columns": func(t *Training) {
			t.Objective = Regression{X: t.Objective.(Classification).X, Y: mat.NewDense(40, 3, nil)}
		},
		"shape":  func(t *Training) { t.Net = nn.Seq(&nn.Dense{In: 36, Out: 2}) },
		"width":  func(t *Training) { t.Net = nn.Seq(nn.Flatten(), &nn.Dense{In: 35, Out: 2}) },
		"sizes":  func(t *Training) { t.Net = nn.Seq(nn.Flatten(), &nn.Dense{In: 36, Out: -2}) },
		"output": func(t *Training) { t.Net = nn.Seq(&nn.Conv2D{In: 1, Out: 2, Window: device.SquareWindow(3, 1, 0)}) },
		"mixing": func(t *Training) {
			t.Net = nn.Seq(nn.Flatten(), &nn.Dense{In: 36, Out: 2}, &nn.BatchNorm{Channels: 2, Batch: true})
		},
		"nil layer":     func(t *Training) { t.Net = nn.Seq(nn.Flatten(), nil) },
		"no parameters": func(t *Training) { t.Net = nn.Seq(nn.Flatten(), nn.Tanh()) },
		"dropout": func(t *Training) {
			t.Net = nn.Seq(nn.Flatten(), &nn.Dropout{Rate: .5}, &nn.Dense{In: 36, Out: 2})
		},
	} {
		tr := training("")
		change(&tr)
		if err := tr.Run(t.Context(), nntest.CPU(t), release.SeededKey(1)); !errors.Is(err, ErrParameter) {
			t.Errorf("%s: run: %v", name, err)
		}
		after, g, err := tr.Calibrate(t.Context(), dp.Budget{Epsilon: 1, Delta: 1e-5})
		if name == "multiplier" { // Calibrate sets it
			continue
		}
		if !errors.Is(err, ErrParameter) || g.Kind != dp.None || !math.IsNaN(g.Epsilon) || !math.IsNaN(g.Delta) ||
			!math.IsNaN(after.NoiseMultiplier) {
			t.Errorf("%s: calibrated: noise multiplier %v, %v, %v", name, after.NoiseMultiplier, g, err)
		}
	}
	// After a budget that is refused or out of reach, Run does not train without noise.
	for _, b := range []dp.Budget{{Epsilon: math.NaN(), Delta: 1e-5}, {Epsilon: 1}, {Epsilon: 1e-300, Delta: 1e-300}} {
		after, g, err := training("").Calibrate(t.Context(), b)
		if err == nil || !math.IsNaN(g.Epsilon) || !math.IsNaN(g.Delta) {
			t.Errorf("budget %v: %v, %v", b, g, err)
		}
		if err := after.Run(t.Context(), nntest.CPU(t), release.SeededKey(1)); !errors.Is(err, ErrParameter) {
			t.Errorf("budget %v: a run after it: %v", b, err)
		}
	}
	// The message names the layer and what it wants, and the device is as it was.
	tr, dev := training(""), nntest.CPU(t)
	tr.Net = nn.Seq(&nn.Dense{In: 36, Out: 2})
	outer := dev.Scope()
	if err := tr.Run(t.Context(), dev, release.SeededKey(1)); err == nil ||
		!strings.Contains(err.Error(), "Dense: shape of x = [2 1 6 6]: must be [N 36]") {
		t.Errorf("a dense layer on images: %v", err)
	}
	outer.Close()
	for name, x := range map[string]Inputs{"rank": Rows(mat.NewDense(3, 36, nil)), "width": Pixels(mustImages())} {
		net := small()
		net.Init(nntest.CPU(t), device.Float32, rand.New(rand.NewPCG(1, 1)))
		if _, err := Predict(net, x); !errors.Is(err, ErrParameter) {
			t.Errorf("prediction, %s: %v", name, err)
		}
	}
	if _, err := Predict(nil, Pixels(bars(2))); !errors.Is(err, ErrParameter) {
		t.Errorf("no network: %v", err)
	}
	if _, err := Predict(small(), Pixels(bars(2))); !errors.Is(err, ErrParameter) {
		t.Errorf("prediction before training: %v", err)
	}
}

func mustImages() *data.Images {
	return must.Get(data.New(2, 1, 9, 9))
}

// A network learns a line from rows of numbers, in both types, and little of it where noise drowns it.
func TestRegression(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	x, y := mat.NewDense(600, 2, nil), mat.NewDense(600, 1, nil)
	for i := range 600 {
		a, b := 2*rng.Float64()-1, 2*rng.Float64()-1
		x.SetRow(i, []float64{a, b})
		y.Set(i, 0, .7*a-.4*b+.1)
	}
	residual := func(typ device.DType, multiplier float64) (mean float64) {
		tr := Training{
			Net:             nn.Seq(&nn.Dense{In: 2, Out: 1}),
			Objective:       Regression{X: Rows(x), Y: y},
			Type:            typ,
			Clip:            1,
			NoiseMultiplier: multiplier,
			Rate:            .5,
			Batch:           300,
			Steps:           60,
			Optimiser:       train.SGD{Rate: 1},
		}
		must.Do(tr.Run(t.Context(), nntest.CPU(t), release.SeededKey(4)))
		got := must.Get(Predict(tr.Net, Rows(x)))
		for i := range 600 {
			d := got.At(i, 0) - y.At(i, 0)
			mean += d * d / 600
		}
		return mean
	}
	for _, typ := range []device.DType{device.Float32, device.Float64} {
		// Noise of 1/(.5·600) in a gradient is what three weights err by; y has variance .22.
		if r := residual(typ, 1); r > 1e-3 {
			t.Errorf("%v: residual %g", typ, r)
		}
		if r := residual(typ, 300); r < .05 {
			t.Errorf("%v: residual %g with noise that drowns all", typ, r)
		}
	}
}

// Different records have different digests, of all parts.
func TestDigest(t *testing.T) {
	seen := map[string]int{}
	pixel, label, targets := bars(4), bars(4), mat.NewDense(4, 1, nil)
	pixel.Row(2)[7] += .1
	label.Labels[3] = 0
	x := bars(4).Mat()
	moved := mat.DenseCopyOf(x)
	moved.Set(3, 35, 2)
	for i, o := range []Objective{
		classes(bars(4)), classes(pixel), classes(label), classes(bars(3)),
		Classification{Pixels(pixel), label.Labels}, Classification{Rows(x), label.Labels},
		Regression{Rows(x), targets}, Regression{Rows(moved), targets},
		Regression{Rows(x), mat.NewDense(4, 1, []float64{0, 0, 0, 1})}, Regression{Rows(x), mat.NewDense(2, 2, nil)},
		Regression{Rows32(bars(4).Pixels(), 36), targets}, Regression{Rows32(pixel.Pixels(), 36), targets},
		Regression{Rows32(pixel.Pixels(), 18), targets},
	} {
		var b bytes.Buffer
		must.Do(o.Digest(&b))
		if k, ok := seen[b.String()]; ok {
			t.Errorf("objectives %d and %d have one digest", k, i)
		}
		seen[b.String()] = i
	}
}

// Rows of a file are those of the images in it, in either type; features are a network's outputs, of mean 0 and norm 1.
func TestRows32(t *testing.T) {
	m := bars(5)
	path := filepath.Join(t.TempDir(), "m.npy")
	must.Do(m.Save(path))
	read := must.Get(ReadRows(path))
	dev, net := nntest.CPU(t), nn.Seq(nn.Flatten(), &nn.Dense{In: m.Dim(), Out: 6})
	net.Init(dev, device.Float32, rand.New(rand.NewPCG(1, 1)))
	fixed, err1 := Features(net, Pixels(m), 2)
	want, err2 := Predict(net, Pixels(m))
	must.Do(errors.Join(err1, err2))
	for _, dtype := range []device.DType{device.Float32, device.Float64} {
		got, other := batch(t, dev, read, dtype), batch(t, dev, Rows(m.Mat()), dtype)
		if !mat.Equal(got, other) {
			t.Errorf("%v: rows of the file are %v, want %v", dtype, got, other)
		}
	}
	got := batch(t, dev, fixed, device.Float64)
	for k, i := range []int{4, 0, 4} {
		want := mat.VecDenseCopyOf(want.RowView(i))
		for group := range slices.Chunk(want.RawVector().Data, 3) {
			floats.AddConst(-floats.Sum(group)/3, group)
			floats.Scale(1/floats.Norm(group, 2)/math.Sqrt2, group)
		}
		if !mat.EqualApprox(got.RowView(k), want, 1e-6) { // float32
			t.Errorf("features %v, want %v", mat.Formatted(got.RowView(k).T()), mat.Formatted(want.T()))
		}
	}
	if alone := must.Get(Features(net, Pixels(bars(1)), 2)); !slices.Equal(alone.(rows32).x, fixed.(rows32).row(0)) {
		t.Error("the features of a record depend on another")
	}
	if _, err := Features(net, Pixels(m), 4); !errors.Is(err, ErrParameter) {
		t.Errorf("6 features in 4 groups: %v", err)
	}
	if _, err := ReadRows(path + "x"); err == nil {
		t.Error("a file that is not there was read")
	}
}

// batch are records 4, 0 and 4.
func batch(t *testing.T, dev *device.Device, x Inputs, dtype device.DType) *mat.Dense {
	a := must.Get(x.Batch(dev, dtype, []int{4, 0, 4}))
	return must.Get(a.Mat())
}
