package refine

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"coupling/data"
	"coupling/dp"
	"coupling/dp/release"
	"coupling/dp/synth"
	"coupling/dp/synth/semidual"
	"coupling/lab/device"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
)

func cpu(t testing.TB) *device.Device {
	t.Helper()
	dev, err := device.CPU{}.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = dev.Close() })
	return dev
}

// bars are images of 16×16 with a bright bar, upright or level by their label, three pixels wide and sharp.
func bars(t testing.TB, seed uint64, n int) *data.Images {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 9))
	m, err := data.New(n, 1, 16, 16)
	if err != nil {
		t.Fatal(err)
	}
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

func featuresOf(t testing.TB, pool *data.Images, axes int) *features {
	t.Helper()
	f, err := newFeatures(cpu(t), pool, axes)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// One record more moves the released sum by exactly its own part, of norm at most 1, whatever it is
// and wherever it stands. Without the limit on norms the part of stripes everywhere is far longer;
// without the rounding the order of sums shows.
func TestOneRecordMovesTheSumByAtMostOne(t *testing.T) {
	f := featuresOf(t, bars(t, 1, 400), 60)
	images := bars(t, 2, 507) // more than a chunk
	stripes, noise, odd := images.Row(0), images.Row(100), images.Row(506)
	for j := range stripes {
		stripes[j], noise[j], odd[j] = float32(j/4%2), rand.Float32(), float32(math.NaN())
	}
	values := func(m *data.Images) (out []float64) {
		sum, err := f.sums(m)
		if err != nil {
			t.Fatal(err)
		}
		sum.visit(func(v *float64, _ float64) { out = append(out, *v) })
		return out
	}
	var factors []float64
	f.noMoments().visit(func(_ *float64, factor float64) { factors = append(factors, factor) })
	all, longest := values(images), 0.
	for _, i := range []int{0, 3, 100, 506} {
		order := slices.DeleteFunc(rand.Perm(images.Len()), func(k int) bool { return k == i })
		without, alone := values(images.Take(order)), values(images.Take([]int{i}))
		for k, v := range all {
			if v-without[k] != alone[k] {
				t.Fatalf("record %d: value %d moves by %g beside others, by %g alone", i, k, v-without[k], alone[k])
			}
		}
		floats.Mul(alone, factors)
		norm := floats.Norm(alone, 2)
		if longest = max(longest, norm); norm > 1 {
			t.Errorf("record %d moves the sum by %.17g", i, norm)
		}
	}
	if longest < .99 {
		t.Errorf(
			"the longest part has norm %g: no record reaches the bound, so the test would not see one that passes it",
			longest)
	}
}

// The moments have their share of Σ 1/σ², and the whole is one Gaussian mechanism of that precision.
func TestEvent(t *testing.T) {
	p := synth.Public{Records: 1000, Classes: []string{"a", "b"}, Channels: 1, Height: 16, Width: 16}
	c := small()
	c.Share, c.Jitter, c.ChoiceShare = .4, synth.Jitter{Shift: .1}, .05
	c = c.WithNoise(20).(Config)
	e, err := c.Event(p)
	if err != nil {
		t.Fatal(err)
	}
	all, err := dp.Epsilon(t.Context(), e, dp.Relation{}, 1e-5)
	if err != nil {
		t.Fatal(err)
	}
	choice := 1 / math.Pow(c.noiseOf(.05), 2)
	precision := 4/(20*20.)/(1-.3) + 1/(c.noise()*c.noise()) + choice
	if share := choice / precision; math.Abs(share-.05) > 1e-12 {
		t.Errorf("the choice has %g of the budget, want .05", share)
	}
	if share := 1 / (c.noise() * c.noise()) / precision; math.Abs(share-.4) > 1e-12 {
		t.Errorf("the moments have %g of the budget, want .4", share)
	}
	one, err := dp.Epsilon(t.Context(),
		dp.Gaussian{NoiseMultiplier: 1 / math.Sqrt(precision) * (1 - release.GridMargin)},
		dp.Relation{}, 1e-5)
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(all.Epsilon/one.Epsilon-1) > 1e-6 {
		t.Errorf("ε = %g, that of one Gaussian mechanism %g", all.Epsilon, one.Epsilon)
	}
}

// Without noise coordinates of moved samples have the private images' means by class more nearly than samples have.
func TestRefines(t *testing.T) {
	images := bars(t, 3, 600)
	off := func(rate float64) float64 {
		c := small()
		c.Axes, c.Steps, c.Rate = 100, 40, rate
		s, err := c.Train(t.Context(), cpu(t), images, synth.Run{Key: release.SeededKey(4)})
		if err != nil {
			t.Fatal(err)
		}
		m, err := s.Sample(rand.New(rand.NewPCG(1, 1)), 600)
		if err != nil {
			t.Fatal(err)
		}
		if low, high := slices.Min(m.Pixels()), slices.Max(m.Pixels()); low < 0 || high > 1 {
			t.Fatalf("values are in [%g, %g]", low, high)
		}
		var of [2][]float64
		for k, m := range []*data.Images{m, images} {
			sum, err := s.(*Sampler).sums(m)
			if err != nil {
				t.Fatal(err)
			}
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
	dir, images := t.TempDir(), bars(t, 5, 200)
	c := small().WithNoise(5).(Config)
	train := func(c Config) (*data.Images, error) {
		s, err := c.Train(t.Context(), cpu(t), images, synth.Run{Key: release.SeededKey(6), Dir: dir})
		if err != nil {
			return nil, err
		}
		return s.Sample(rand.New(rand.NewPCG(1, 1)), 20)
	}
	a, err := train(c)
	if err != nil {
		t.Fatal(err)
	}
	b, err := train(c)
	if err != nil {
		t.Fatal(err)
	}
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
	c, err := Handwriting(1, p).filled(p)
	if err != nil {
		t.Fatal(err)
	}
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

// A record's part of the teacher's gradient has norm at most residualClip, and is the same beside
// any others and wherever it stands. Without the clip of rows or residuals it is longer; without
// the rounding the order of sums shows.
func TestOneRecordMovesTheGradientByAtMostItsClip(t *testing.T) {
	pool := bars(t, 1, 400)
	teacher, err := featuresOf(t, pool, 60).newTeacher(pool)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(7, 7))
	for j := range teacher.weights.RawMatrix().Data {
		teacher.weights.RawMatrix().Data[j] = 20 * rng.NormFloat64()
	}
	images := bars(t, 2, 507) // more than a chunk
	for j := range images.Row(0) {
		images.Row(0)[j], images.Row(100)[j], images.Row(506)[j] = float32(j/4%2), rng.Float32(), float32(math.NaN())
	}
	of := func(m *data.Images) []float64 {
		x, err := teacher.table(m)
		if err != nil {
			t.Fatal(err)
		}
		return teacher.gradient(x, m.Labels).RawMatrix().Data
	}
	all, longest := of(images), 0.
	for _, i := range []int{0, 3, 100, 506} {
		order := slices.DeleteFunc(rng.Perm(images.Len()), func(k int) bool { return k == i })
		without, alone := of(images.Take(order)), of(images.Take([]int{i}))
		for k, v := range all {
			if v-without[k] != alone[k] {
				t.Fatalf("record %d: value %d moves by %g beside others, by %g alone", i, k, v-without[k], alone[k])
			}
		}
		norm := floats.Norm(alone, 2)
		if longest = max(longest, norm); norm > residualClip {
			t.Errorf("record %d moves the gradient by %.17g", i, norm)
		}
	}
	if longest < .99*residualClip {
		t.Errorf(
			"the longest part has norm %g: no record reaches the bound, so the test would not see one that passes it",
			longest)
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
func confused(t testing.TB, seed uint64, n int) *data.Images {
	m := bars(t, seed, n)
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
	sampler, err := c.Train(t.Context(), cpu(t), confused(t, 3, 600), synth.Run{Key: release.SeededKey(4)})
	if err != nil {
		t.Fatal(err)
	}
	s, unseen := sampler.(*Sampler), bars(t, 4, 200)
	if got := s.teacher.agrees(unseen); got < .95 {
		t.Errorf("the teacher reads %.3f of images that it has not seen", got)
	}
	before, err := s.base.Sample(rand.New(rand.NewPCG(1, 1)), 101)
	if err != nil {
		t.Fatal(err)
	}
	if got := s.teacher.agrees(before); got > .8 {
		t.Errorf("the teacher agrees with %.3f of the semi-dual's labels: the test cannot fail", got)
	}
	after, err := s.Sample(rand.New(rand.NewPCG(1, 1)), 101)
	if err != nil {
		t.Fatal(err)
	}
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

// Noise is that of the event, and the teacher a function of what was released: both are computed
// again from the releases.
func TestReleasesAreThoseOfTheEvent(t *testing.T) {
	for _, shapes := range []bool{false, true} {
		t.Run(fmt.Sprintf("shapes=%t", shapes), func(t *testing.T) { releasesOfTheEvent(t, shapes) })
	}
}

func releasesOfTheEvent(t *testing.T, shapes bool) {
	images := bars(t, 3, 300)
	p, err := synth.PublicOf(images)
	if err != nil {
		t.Fatal(err)
	}
	c := small()
	if c.TeacherShare, c.Shapes = .3, shapes; !shapes {
		c.Jitter, c.ChoiceShare = synth.Jitter{Shift: .05}, .01
	}
	c, err = c.WithNoise(5).(Config).filled(p)
	if err != nil {
		t.Fatal(err)
	}
	var moments, gradients [][]float64
	others, choice := 0, math.NaN()
	run := &release.Run{Key: release.SeededKey(8), Releases: c.releases(),
		Trace: func(stream string, values []float64) {
			switch stream {
			case "moments":
				moments = append(moments, slices.Clone(values))
			case "choose":
				choice = values[0]
			case "teacher":
				gradients = append(gradients, slices.Clone(values))
			default:
				others++
			}
		}}
	s, err := c.train(t.Context(), cpu(t), images, p, synth.Run{Key: run.Key}, run)
	if err != nil {
		t.Fatal(err)
	}
	if len(moments) != 1 || len(gradients) != lessons {
		t.Fatalf("%d releases of moments, %d of gradients", len(moments), len(gradients))
	}
	if want := c.releases() - 1 - lessons - c.choices(); others != want || (want == 0) != shapes {
		t.Errorf("%d releases of the base, want %d", others, want)
	}
	noisy := func(what string, noise []float64, sigma float64) {
		if got := floats.Norm(noise, 2) / math.Sqrt(float64(len(noise))) / sigma; math.Abs(got-1) > .15 {
			t.Errorf("noise of the %s is %.3f times that of the event", what, got)
		}
	}
	exact, err := s.sums(images)
	if err != nil {
		t.Fatal(err)
	}
	released, k := s.noMoments(), 0
	released.visit(func(v *float64, factor float64) { *v, k = moments[0][k]/factor, k+1 })
	noise := moments[0]
	exact.visit(func(v *float64, factor float64) {
		noise[len(noise)-k] -= factor * *v
		k--
	})
	noisy("moments", noise, c.noise())
	if e, err := c.Event(p); err != nil || len(e.(dp.Compose)) != 2+2*c.choices() {
		t.Errorf("the event is %v, %v", e, err)
	}
	// Five standard deviations: once in a million runs.
	if !shapes && !(math.Abs(choice) < float64(images.Len())+5*c.noiseOf(c.ChoiceShare)) {
		t.Errorf("a choice by %g votes of %d images", choice, images.Len())
	}
	pool, err := s.base.Sample(run.Key.Rand("refine", 0), framing)
	if err != nil {
		t.Fatal(err)
	}
	again, err := s.newTeacher(pool)
	if err != nil {
		t.Fatal(err)
	}
	x, err := again.table(images)
	if err != nil {
		t.Fatal(err)
	}
	var all []float64
	for k, values := range gradients {
		all = append(all, values...)
		floats.Sub(all[len(all)-len(values):], again.gradient(x, images.Labels).RawMatrix().Data)
		again.descend(k, values, max(floats.Sum(released.count), 1))
	}
	noisy("gradients", all, c.teacherNoise()*residualClip)
	if !slices.Equal(again.centre, s.teacher.centre) || again.reach != s.teacher.reach {
		t.Error("the teacher's centre and reach are not those of samples")
	}
	if !mat.EqualApprox(again.mean, s.teacher.weights, 1e-9*mat.Norm(again.mean, 1)) {
		t.Error("the teacher's weights are not a function of the releases")
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

// The teacher's steps are in the event: all of the budget is one Gaussian mechanism's, whatever the shares.
func TestEventOfATeacher(t *testing.T) {
	p := synth.Public{Records: 1000, Classes: []string{"a", "b"}, Channels: 1, Height: 16, Width: 16}
	epsilon := func(c Config) float64 {
		e, err := c.Event(p)
		if err != nil {
			t.Fatal(err)
		}
		g, err := dp.Epsilon(t.Context(), e, dp.Relation{}, 1e-5)
		if err != nil {
			t.Fatal(err)
		}
		return g.Epsilon
	}
	c := small()
	c.Share, c.TeacherShare = .2, .5
	c = c.WithNoise(20).(Config)
	precision := 4 / (20 * 20.) / (1 - .3) / (1 - .7) // of the base, whose share is .3
	if share := lessons / (c.teacherNoise() * c.teacherNoise()) / precision; math.Abs(share-.5) > 1e-12 {
		t.Errorf("the teacher has %g of the budget, want .5", share)
	}
	if share := 1 / (c.noise() * c.noise()) / precision; math.Abs(share-.2) > 1e-12 {
		t.Errorf("the moments have %g of the budget, want .2", share)
	}
	one, err := dp.Epsilon(t.Context(),
		dp.Gaussian{NoiseMultiplier: 1 / math.Sqrt(precision) * (1 - release.GridMargin)},
		dp.Relation{}, 1e-5)
	if err != nil {
		t.Fatal(err)
	}
	if got := epsilon(c); math.Abs(got/one.Epsilon-1) > 1e-6 {
		t.Errorf("ε = %g, that of one Gaussian mechanism %g", got, one.Epsilon)
	}
}

// With Shapes the moments and the teacher have all of the budget.
func TestEventOfShapes(t *testing.T) {
	p := synth.Public{Records: 1000, Classes: []string{"a", "b"}, Channels: 3, Height: 16, Width: 16}
	c := Config{Shapes: true, Share: .2, TeacherShare: .6}.WithNoise(5).(Config)
	for _, teacher := range []float64{.6, 0} {
		c.TeacherShare = teacher
		e, err := c.Event(p)
		if err != nil {
			t.Fatal(err)
		}
		got, err := dp.Epsilon(t.Context(), e, dp.Relation{}, 1e-5)
		if err != nil {
			t.Fatal(err)
		}
		want, err := dp.Epsilon(t.Context(), dp.Gaussian{NoiseMultiplier: 5 * (1 - release.GridMargin)},
			dp.Relation{}, 1e-5)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(got.Epsilon/want.Epsilon-1) > 1e-6 {
			t.Errorf("a teacher's share of %g: ε = %g, that of one Gaussian mechanism %g", teacher, got.Epsilon,
				want.Epsilon)
		}
	}
	for _, sigma := range []float64{0, -1, math.NaN()} {
		if _, err := c.WithNoise(sigma).Event(p); !errors.Is(err, synth.ErrParameter) {
			t.Errorf("noise %g: %v", sigma, err)
		}
	}
	c.Jitter.Rotate = .1
	if _, err := c.Event(p); !errors.Is(err, synth.ErrParameter) {
		t.Errorf("Shapes with a Jitter: %v", err)
	}
}

// Values of shapes have the mean and deviation that photographs have; images differ, and the same
// randomness draws the same ones.
func TestShapes(t *testing.T) {
	s := shapes{synth.Public{Records: 1, Classes: []string{"a", "b", "c"}, Channels: 3, Height: 32, Width: 32}}
	draw := func(seed uint64) *data.Images {
		m, err := s.Sample(rand.New(rand.NewPCG(seed, 1)), 300)
		if err != nil {
			t.Fatal(err)
		}
		return m
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

// BenchmarkMove is the cost of an image's step.
func BenchmarkMove(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 1))
	m, err := data.New(500, 1, 28, 28)
	if err != nil {
		b.Fatal(err)
	}
	m.Labels, m.Classes = make([]int, 500), []string{"one"}
	for j := range m.Pixels() {
		m.Pixels()[j] = rng.Float32()
	}
	f, err := newFeatures(cpu(b), m, 300)
	if err != nil {
		b.Fatal(err)
	}
	maps, err := f.transport(f.noMoments(), 0)
	if err != nil {
		b.Fatal(err)
	}
	s := &Sampler{features: f, maps: maps, steps: 20, rate: .04}
	for b.Loop() {
		if err := s.move(m.Slice(0, 50)); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/1000, "µs/imagestep")
}

// One record moves the votes by its own, −1, 0 or 1, whatever others there are, and some by 1. A sum whose
// classifiers learnt from the private images too does not pass: there a record moves what is said of others.
func TestOneRecordMovesTheVotesByAtMostOne(t *testing.T) {
	images, plain := confused(t, 1, 30), bars(t, 2, 40)
	moved, err := synth.Jitter{Rotate: .7, Shift: .2}.Apply(rand.New(rand.NewPCG(1, 1)), plain)
	if err != nil {
		t.Fatal(err)
	}
	f := newBank(cpu(t), images)
	moves := func(sum func(m *data.Images) (float64, error)) (most float64, whole bool) {
		all, err := sum(images)
		for i := range images.Len() {
			keep := slices.Delete(upTo(images.Len()), i, i+1)
			rest, err1 := sum(images.Take(keep))
			own, err2 := sum(images.Take([]int{i}))
			if errors.Join(err, err1, err2) != nil {
				t.Fatal(err, err1, err2)
			}
			most, whole = max(most, math.Abs(all-rest)), whole || all-rest != own
		}
		return most, whole
	}
	most, others := moves(func(m *data.Images) (float64, error) { return preference(f, plain, moved, m) })
	if most != 1 || others {
		t.Errorf("a record moves votes by up to %g; it moves what is said of others: %v", most, others)
	}
	if _, others := moves(func(m *data.Images) (float64, error) { return preference(f, plain, m, m) }); !others {
		t.Error("classifiers that learn from private images pass this test")
	}
}

// The noise of the choice is that of its share in the event, over many keys; that of another share is told apart.
func TestChoiceHasTheNoiseOfTheEvent(t *testing.T) {
	defer func(all int) { framing = all }(framing)
	framing = 20
	images := bars(t, 2, 20)
	p, err := synth.PublicOf(images)
	if err != nil {
		t.Fatal(err)
	}
	c := small().WithNoise(5).(Config)
	c.Jitter, c.ChoiceShare, c.Share = synth.Jitter{Shift: .1}, .01, .4
	const keys = 20
	sum, dev := 0., cpu(t)
	for key := range uint64(keys) {
		r, released := synth.Run{Key: release.SeededKey(key)}, 0.
		run := &release.Run{Key: r.Key, Releases: 1, Trace: func(_ string, v []float64) { released = v[0] }}
		if _, err := c.choose(dev, shapes{p}, images, r, run); err != nil {
			t.Fatal(err)
		}
		plain, err1 := shapes{p}.Sample(r.Key.Rand("choose", 0), framing)
		moved, err2 := c.Jitter.Apply(r.Key.Rand("choose", 1), plain)
		votes, err3 := preference(newBank(dev, images), plain, moved, images)
		if err := errors.Join(err1, err2, err3); err != nil {
			t.Fatal(err)
		}
		sum += (released - votes) * (released - votes) / keys
	}
	// The mean square of 20 has a standard error of √(2/20) = .32.
	for share, want := range map[float64]bool{.01: true, .04: false} {
		if got := sum / math.Pow(c.noiseOf(share), 2); (got > .3 && got < 2) != want {
			t.Errorf("mean square of the noise over that of a share of %g: %.2f", share, got)
		}
	}
}

// All votes are for samples that have the classes right and against those that have them wrong; none are between
// equal ones.
func TestVotes(t *testing.T) {
	private, wrong, good := bars(t, 2, 100), bars(t, 1, 100), bars(t, 1, 100)
	for i, l := range wrong.Labels {
		wrong.Labels[i] = 1 - l
	}
	f := newBank(cpu(t), private)
	for _, c := range []struct {
		plain, moved *data.Images
		want         float64
	}{{wrong, good, 100}, {good, wrong, -100}, {good, good, 0}} {
		if votes, err := preference(f, c.plain, c.moved, private); err != nil || votes != c.want {
			t.Errorf("%g votes, want %g: %v", votes, c.want, err)
		}
	}
}
