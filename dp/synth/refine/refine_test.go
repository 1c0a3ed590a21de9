package refine

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"coupling/data"
	"coupling/dp/release"
	"coupling/dp/synth"
	"coupling/dp/synth/semidual"
	"coupling/lab/must"
	"coupling/lab/nn/nntest"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
)

// bars are images of 16×16 with a bright bar, upright or level by their label, three pixels wide and sharp.
func bars(seed uint64, n int) *data.Images {
	rng := rand.New(rand.NewPCG(seed, 9))
	m := must.Get(data.New(n, 1, 16, 16))
	m.Labels, m.Classes = make([]int, n), []string{"upright", "level"}
	for i := range n {
		m.Labels[i] = i % 2
		at := 3 + rng.IntN(8)
		for j := range m.Row(i) {
			place := j % 16
			if m.Labels[i] == 1 {
				place = j / 16
			}
			if place >= at && place < at+3 {
				m.Row(i)[j] = 1
			}
		}
	}
	return m
}

func small() Config {
	return Config{Base: semidual.Config{PerClass: 2, Basis: 64, Local: 16, Steps: 4}, Axes: 10}
}

// Without noise coordinates of moved samples have the private images' means by class more nearly than samples have.
func TestRefines(t *testing.T) {
	images := bars(3, 600)
	off := func(rate float64) float64 {
		c := small()
		c.Axes, c.Steps, c.Rate = 100, 40, rate
		s := must.Get(c.Train(t.Context(), nntest.CPU(t), images, synth.Run{Key: release.SeededKey(4)}))
		m := must.Get(s.Sample(rand.New(rand.NewPCG(1, 1)), 600))
		if low, high := slices.Min(m.Pixels()), slices.Max(m.Pixels()); low < 0 || high > 1 {
			t.Fatalf("values are in [%g, %g]", low, high)
		}
		var of [2][]float64
		for k, m := range []*data.Images{m, images} {
			sum := must.Get(s.(*Sampler).sums(m))
			for l, n := range sum.count {
				floats.Scale(1/n, sum.first.RawRowView(l))
				of[k] = append(of[k], sum.first.RawRowView(l)...)
			}
		}
		return floats.Distance(of[0], of[1], 2)
	}
	before, after := off(1e-6), off(.1)
	if after > .5*before {
		t.Errorf("the distance of means is %.3f before, %.3f after", before, after)
	}
}

// A run in a folder repeats its releases and ends in the same images; other settings, or one release more, are refused.
func TestOneLedger(t *testing.T) {
	dir, images := t.TempDir(), bars(5, 200)
	c := small().WithNoise(5).(Config)
	train := func(c Config) (*data.Images, error) {
		s, err := c.Train(t.Context(), nntest.CPU(t), images, synth.Run{Key: release.SeededKey(6), Dir: dir})
		if err != nil {
			return nil, err
		}
		return s.Sample(rand.New(rand.NewPCG(1, 1)), 20)
	}
	a := must.Get(train(c))
	b := must.Get(train(c))
	if !slices.Equal(a.Pixels(), b.Pixels()) {
		t.Error("the same run in the same folder makes other images")
	}
	c.Share = .5
	if _, err := train(c); !errors.Is(err, release.ErrLedger) {
		t.Errorf("other settings in the same folder: %v, want ErrLedger", err)
	}
}

// Handwriting in colour has the semi-dual's share of the budget, since its Jitter is of the semi-dual's samples.
func TestHandwritingInColour(t *testing.T) {
	p := synth.Public{Records: 1000, Classes: []string{"a", "b"}, Channels: 3, Height: 32, Width: 32}
	if c := Suggested(1, p); !c.Shapes {
		t.Fatal("colour with a small budget does not start as shapes: the test cannot fail")
	}
	c := must.Get(Handwriting(1, p).filled(p))
	if c.Shapes || c.Share+c.TeacherShare > .5 {
		t.Errorf("Shapes %t, Share %g, TeacherShare %g", c.Shapes, c.Share, c.TeacherShare)
	}
}

// The statement says what is assumed of handwriting, and nothing of the kind of other images.
func TestDescribe(t *testing.T) {
	p := synth.Public{Records: 60_000, Classes: []string{"a", "b"}, Channels: 1, Height: 28, Width: 28}
	for i, c := range []Config{Suggested(1, p), Handwriting(1, p)} {
		if _, settings := c.Describe(); strings.Contains(settings, "assumed") != (i == 1) {
			t.Errorf("settings %q", settings)
		}
	}
}

func TestRefusals(t *testing.T) {
	p := synth.Public{Records: 1000, Classes: []string{"a", "b"}, Channels: 1, Height: 16, Width: 16}
	odd := p
	odd.Width = 18
	c := small().WithNoise(5).(Config)
	if _, err := c.Event(odd); !errors.Is(err, synth.ErrParameter) {
		t.Errorf("a side of 18: %v", err)
	}
	c.Share = 1
	if _, err := c.Event(p); !errors.Is(err, synth.ErrParameter) {
		t.Errorf("Share = 1: %v", err)
	}
	if _, err := small().Event(p); !errors.Is(err, synth.ErrParameter) {
		t.Errorf("no noise: %v", err)
	}
	for _, share := range []float64{-.1, math.NaN(), .6} { // beside .4 of the moments
		c := small().WithNoise(5).(Config)
		c.TeacherShare = share
		if _, err := c.Event(p); !errors.Is(err, synth.ErrParameter) {
			t.Errorf("TeacherShare = %g: %v", share, err)
		}
	}
}

// Residuals of scores that overflow are 0, and never longer than residualClip.
func TestResidual(t *testing.T) {
	for _, scores := range [][]float64{{0, 0}, {1e300, -1e300}, {-1e300, 1e300}, {math.Inf(1), 0}, {math.NaN(), 0},
		{-700, 700}} {
		r := slices.Clone(scores)
		residual(r, 0)
		if norm := floats.Norm(r, 2); !(norm <= residualClip) {
			t.Errorf("scores %v: residual %v of norm %g", scores, r, norm)
		}
	}
}

// confused are bars whose labels are wrong at one of three, by what cannot be seen.
func confused(seed uint64, n int) *data.Images {
	m := bars(seed, n)
	for i := range m.Labels {
		if i%3 == 0 {
			m.Labels[i] = 1 - m.Labels[i]
		}
	}
	return m
}

// agrees is the share of labels that a teacher gives too.
func (t *teacher) agrees(m *data.Images) (share float64) {
	labels, err := t.label(m)
	if err != nil {
		return math.NaN()
	}
	for i, l := range m.Labels {
		if l == labels[i] {
			share += 1 / float64(len(labels))
		}
	}
	return share
}

// Without noise a teacher tells bars that it has not seen apart, even where a third of the labels
// that it learnt from are wrong. Samples of the semi-dual, which learns wrong labels too, are then
// in turn by the teacher's labels.
func TestTeacher(t *testing.T) {
	c := small()
	c.TeacherShare = .3
	sampler := must.Get(c.Train(t.Context(), nntest.CPU(t), confused(3, 600), synth.Run{Key: release.SeededKey(4)}))
	s, unseen := sampler.(*Sampler), bars(4, 200)
	if got := s.teacher.agrees(unseen); got < .95 {
		t.Errorf("the teacher reads %.3f of images that it has not seen", got)
	}
	before := must.Get(s.base.Sample(rand.New(rand.NewPCG(1, 1)), 101))
	if got := s.teacher.agrees(before); got > .8 {
		t.Errorf("the teacher agrees with %.3f of the semi-dual's labels: the test cannot fail", got)
	}
	after := must.Get(s.Sample(rand.New(rand.NewPCG(1, 1)), 101))
	for i, l := range after.Labels {
		if l != i%2 {
			t.Fatalf("image %d is of class %d: classes are not in turn", i, l)
		}
	}
	if got := s.teacher.agrees(after); got < .99 {
		t.Errorf("the teacher agrees with %.3f of labels that it gave", got)
	}
	s.teacher.weights.Scale(0, s.teacher.weights)
	if got := s.teacher.agrees(unseen); got > .6 {
		t.Errorf("a teacher without weights reads %.3f: the test cannot fail", got)
	}
	u := slices.Clone(s.teacher.centre)
	if s.teacher.convince(u, 1); !slices.Equal(u, s.teacher.centre) {
		t.Error("a teacher without weights moves coordinates")
	}
}

// Rows of coordinates that are not finite have the constant alone.
func TestRow(t *testing.T) {
	teacher := &teacher{centre: []float64{0, 0}, reach: 1}
	for _, u := range [][]float64{{math.NaN(), 0}, {math.Inf(1), 0}, {1e300, 1e300}, {3, 4}, {0, 0}} {
		row := make([]float64, 3)
		teacher.row(row, u)
		down(row)
		if norm := floats.Norm(row, 2); !(norm >= constant && norm <= 1) {
			t.Errorf("coordinates %v: row %v of norm %g", u, row, norm)
		}
	}
	v := []float64{grain * 1.9, -grain * 1.9}
	if down(v); v[0] != grain || v[1] != -grain {
		t.Errorf("rounded to %v, not towards 0", v)
	}
}

// Values of shapes have the mean and deviation that photographs have; images differ, and the same
// randomness draws the same ones.
func TestShapes(t *testing.T) {
	s := shapes{synth.Public{Records: 1, Classes: []string{"a", "b", "c"}, Channels: 3, Height: 32, Width: 32}}
	draw := func(seed uint64) *data.Images {
		return must.Get(s.Sample(rand.New(rand.NewPCG(seed, 1)), 300))
	}
	m := draw(1)
	var values []float64
	for _, v := range m.Pixels() {
		values = append(values, float64(v))
	}
	if mean, deviation := stat.MeanStdDev(values, nil); math.Abs(mean-.47) > .03 || math.Abs(deviation-.27) > .05 {
		t.Errorf("values have mean %.3f and deviation %.3f", mean, deviation)
	}
	if slices.Equal(m.Row(0), m.Row(3)) {
		t.Error("two images are the same")
	}
	if !slices.Equal(m.Pixels(), draw(1).Pixels()) {
		t.Error("the same randomness draws other images")
	}
}

// All votes are for samples that have the classes right and against those that have them wrong; none are between
// equal ones.
func TestVotes(t *testing.T) {
	private, wrong, good := bars(2, 100), bars(1, 100), bars(1, 100)
	for i, l := range wrong.Labels {
		wrong.Labels[i] = 1 - l
	}
	f := newBank(nntest.CPU(t), private)
	for _, c := range []struct {
		plain, moved *data.Images
		want         float64
	}{{wrong, good, 100}, {good, wrong, -100}, {good, good, 0}} {
		if votes, err := preference(f, c.plain, c.moved, private); err != nil || votes != c.want {
			t.Errorf("%g votes, want %g: %v", votes, c.want, err)
		}
	}
}
