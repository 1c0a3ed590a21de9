package refine

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"coupling/data"
	"coupling/data/batch"
	"coupling/dp"
	"coupling/dp/release"
	"coupling/dp/synth"
	"coupling/lab/must"
	"coupling/lab/nn/nntest"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// insertion returns the largest norm by which one of the records moves a sum, whose values are released times factors
// (nil: as they are), and whether each moves it as if it stood alone: to the bit, whoever else is there, in any order.
func insertion(m *data.Images, records []int, factors []float64, sum func(*data.Images) []float64) (longest float64,
	alone bool) {
	all := sum(m)
	alone = true
	for _, i := range records {
		others := slices.DeleteFunc(rand.New(rand.NewPCG(1, 1)).Perm(m.Len()), func(k int) bool { return k == i })
		moved := floats.SubTo(make([]float64, len(all)), all, sum(m.Take(others)))
		alone = alone && slices.Equal(moved, sum(m.Take([]int{i})))
		if factors != nil {
			floats.Mul(moved, factors)
		}
		longest = max(longest, floats.Norm(moved, 2))
	}
	return longest, alone
}

// One record more moves each released sum by its own part, of norm at most the bound, which is reached. Variants are
// found out: sums about what the private images themselves say of where to look from move the parts of others, and
// those of vectors that are not clipped move too far.
func TestOneRecordMovesEachSumByAtMostItsBound(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	pool, many := bars(1, 400), bars(2, 507) // more than a chunk
	for j := range many.Row(0) {
		many.Row(0)[j], many.Row(100)[j] = float32(j/4%2), rng.Float32()
	}
	odd := many.Clone()
	odd.Row(506)[0] = float32(math.NaN())
	f := must.Get(newFeatures(nntest.CPU(t), pool, 60))
	ours := must.Get(f.newTeacher(pool))
	weights := ours.weights.RawMatrix().Data
	for j := range weights {
		weights[j] = 20 * rng.NormFloat64()
	}
	var factors []float64
	f.noMoments().visit(func(_ *float64, factor float64) { factors = append(factors, factor) })
	values := func(m moments) (out []float64) {
		m.visit(func(v *float64, _ float64) { out = append(out, *v) })
		return out
	}
	gradient := func(t *teacher, x []float32, m *data.Images) []float64 {
		return t.gradient(x, m.Labels).RawMatrix().Data
	}
	few, plain := confused(1, 30), bars(2, 40)
	moved := must.Get(synth.Jitter{Rotate: .7, Shift: .2}.Apply(rand.New(rand.NewPCG(1, 1)), plain))
	votes := func(moved, m *data.Images) []float64 {
		return []float64{must.Get(preference(newBank(f.dev, m), plain, moved, m))}
	}
	some := []int{0, 3, 100, 506}
	for _, c := range []struct {
		what    string
		images  *data.Images
		records []int
		factors []float64
		bound   float64
		long    bool // the fault: a record moves the sum too far
		others  bool // the fault: it moves what is said of others
		sum     func(*data.Images) []float64
	}{
		{"moments", odd, some, factors, 1, false, false, func(m *data.Images) []float64 {
			return values(must.Get(f.sums(m)))
		}},
		{"moments about the private means", many, some, factors, math.Inf(1), false, true,
			func(m *data.Images) []float64 {
				about := *f
				about.mean = centre(must.Get(f.rows(m)), m.Labels, 2)
				return values(must.Get(about.sums(m)))
			}},
		{"moments without a clip", many, some, factors, 1, true, false, func(m *data.Images) []float64 {
			sum := f.noMoments()
			must.Do(f.each(m, func(i int, z []float64) {
				l := m.Labels[i]
				floats.Sub(z, f.mean.RawRowView(l))
				down(z)
				sum.count[l]++
				floats.Add(sum.first.RawRowView(l), z)
				sum.second.SymRankOne(sum.second, 1, mat.NewVecDense(len(z), z))
			}))
			return values(sum)
		}},
		{"gradient", odd, some, nil, residualClip, false, false, func(m *data.Images) []float64 {
			return gradient(ours, must.Get(ours.table(m)), m)
		}},
		{"gradient about the private centre", many, some, nil, math.Inf(1), false, true,
			func(m *data.Images) []float64 {
				theirs := must.Get(f.newTeacher(m))
				theirs.weights = ours.weights
				return gradient(theirs, must.Get(theirs.table(m)), m)
			}},
		{"gradient without a clip of rows", many, some, nil, residualClip, true, false,
			func(m *data.Images) []float64 {
				x := must.Get(ours.table(m))
				must.Do(f.each(m, func(i int, u []float64) {
					floats.Sub(u, ours.centre)
					floats.Scale(1/ours.reach, u)
					down(u)
					for j, v := range u {
						x[i*(len(u)+1)+j] = float32(v)
					}
				}))
				return gradient(ours, x, m)
			}},
		{"votes", few, batch.All(30), nil, 1, false, false, func(m *data.Images) []float64 { return votes(moved, m) }},
		{"votes by the private images", few, batch.All(30), nil, math.Inf(1), false, true,
			func(m *data.Images) []float64 { return votes(m, m) }},
	} {
		longest, alone := insertion(c.images, c.records, c.factors, c.sum)
		if longest > c.bound != c.long || alone == c.others {
			t.Errorf("%s: a record moves them by up to %.17g, want at most %g: %t; as if it stood alone: %t, want %t",
				c.what, longest, c.bound, !c.long, alone, !c.others)
		}
		if !c.long && !c.others && longest < .99*c.bound {
			t.Errorf("%s: no record reaches the bound, the longest is %g: the test would not see one that passes it",
				c.what, longest)
		}
	}
}

// All releases together are one Gaussian mechanism of the budget, of which each has its share.
func TestEvent(t *testing.T) {
	p := synth.Public{Records: 1000, Classes: []string{"a", "b"}, Channels: 1, Height: 16, Width: 16}
	for name, c := range map[string]Config{
		"a choice":     {Base: small().Base, Share: .4, Jitter: synth.Jitter{Shift: .1}, ChoiceShare: .05},
		"a teacher":    {Base: small().Base, Share: .2, TeacherShare: .5},
		"shapes":       {Shapes: true, Share: .2, TeacherShare: .6},
		"shapes alone": {Shapes: true, Share: .2},
	} {
		c = c.WithNoise(20).(Config)
		shares := c.Share + c.TeacherShare + c.ChoiceShare
		whole, scale := 4/(20*20.)/(1-.3)/(1-shares), 1. // of the base's steps .3 go to covariances
		if c.Shapes {
			whole, scale = 1/(20*20.), shares
		}
		for _, s := range []struct{ share, sigma float64 }{
			{c.Share, c.noise()}, {c.TeacherShare, c.teacherNoise() / math.Sqrt(lessons)},
			{c.ChoiceShare, c.noiseOf(c.ChoiceShare)},
		} {
			if got := scale / whole / (s.sigma * s.sigma); s.share > 0 && math.Abs(got-s.share) > 1e-12 {
				t.Errorf("%s: a release has %g of the budget, want %g", name, got, s.share)
			}
		}
		got := must.Get(dp.Epsilon(t.Context(), must.Get(c.Event(p)), dp.Relation{}, 1e-5)).Epsilon
		one := dp.Gaussian{NoiseMultiplier: 1 / math.Sqrt(whole) * (1 - release.GridMargin)}
		if want := must.Get(dp.Epsilon(t.Context(), one, dp.Relation{}, 1e-5)).Epsilon; math.Abs(got/want-1) > 1e-6 {
			t.Errorf("%s: ε = %g, that of one Gaussian mechanism %g", name, got, want)
		}
	}
}

// Noise is that of the event, and the teacher a function of what was released: both are computed again from the
// releases. A training of other shares is found out by the noise of both.
func TestReleasesAreThoseOfTheEvent(t *testing.T) {
	defer func(all int) { framing = all }(framing)
	framing = 300
	c := small()
	c.TeacherShare, c.Jitter, c.ChoiceShare = .3, synth.Jitter{Shift: .05}, .01
	shapes := Config{Shapes: true, TeacherShare: .3, Axes: c.Axes}
	for _, c := range []Config{c, shapes} {
		if wrong := wrongNoise(t, c, c); wrong != nil {
			t.Errorf("shapes %t: %v", c.Shapes, wrong)
		}
	}
	other := shapes
	other.Share, other.TeacherShare = .1, .6
	if wrong := wrongNoise(t, shapes, other); len(wrong) != 2 {
		t.Errorf("of other shares: %v, want both", wrong)
	}
}

// wrongNoise trains, and returns the releases whose noise is not that of c's event.
func wrongNoise(t *testing.T, c, trained Config) (wrong []string) {
	images := bars(3, 300)
	p := must.Get(synth.PublicOf(images))
	c = must.Get(c.WithNoise(5).(Config).filled(p))
	trained = must.Get(trained.WithNoise(5).(Config).filled(p))
	released, all := map[string][][]float64{}, 0
	run := &release.Run{Key: release.SeededKey(8), Releases: c.releases(),
		Trace: func(stream string, values []float64) {
			released[stream], all = append(released[stream], slices.Clone(values)), all+1
		}}
	s := must.Get(trained.train(t.Context(), nntest.CPU(t), images, p, synth.Run{Key: run.Key}, run))
	if len(released["moments"]) != 1 || len(released["teacher"]) != lessons ||
		len(released["choose"]) != c.choices() || all != c.releases() {
		t.Fatalf("%d releases, in %d streams: not those of the settings", all, len(released))
	}
	if e := must.Get(c.Event(p)); len(e.(dp.Compose)) != 2+2*c.choices() {
		t.Errorf("the event is %v", e)
	}
	noisy := func(what string, noise []float64, sigma float64) {
		if got := floats.Norm(noise, 2) / math.Sqrt(float64(len(noise))) / sigma; math.Abs(got-1) > .15 {
			wrong = append(wrong, fmt.Sprintf("noise of the %s is %.3f times that of the event", what, got))
		}
	}
	noise := released["moments"][0]
	m, k := s.noMoments(), 0
	m.visit(func(v *float64, factor float64) { *v, k = noise[k]/factor, k+1 })
	k = 0
	must.Get(s.sums(images)).visit(func(v *float64, factor float64) { noise[k], k = noise[k]-factor**v, k+1 })
	noisy("moments", noise, c.noise())
	again := must.Get(s.newTeacher(must.Get(s.base.Sample(run.Key.Rand("refine", 0), framing))))
	x := must.Get(again.table(images))
	noise = nil
	for k, values := range released["teacher"] {
		noise = append(noise, values...)
		floats.Sub(noise[len(noise)-len(values):], again.gradient(x, images.Labels).RawMatrix().Data)
		again.descend(k, values, max(floats.Sum(m.count), 1))
	}
	noisy("gradients", noise, c.teacherNoise()*residualClip)
	if !slices.Equal(again.centre, s.teacher.centre) || again.reach != s.teacher.reach ||
		!mat.EqualApprox(again.mean, s.teacher.weights, 1e-9*mat.Norm(again.mean, 1)) {
		wrong = append(wrong, "the teacher is not a function of the releases")
	}
	return wrong
}

// The noise of the choice is that of its share in the event, over many keys; that of another share is told apart.
func TestChoiceHasTheNoiseOfTheEvent(t *testing.T) {
	defer func(all int) { framing = all }(framing)
	framing = 20
	images := bars(2, 20)
	c := small().WithNoise(5).(Config)
	c.Jitter, c.ChoiceShare, c.Share = synth.Jitter{Shift: .1}, .01, .4
	const keys = 20
	sum, dev, base := 0., nntest.CPU(t), shapes{must.Get(synth.PublicOf(images))}
	for key := range uint64(keys) {
		r, released := synth.Run{Key: release.SeededKey(key)}, 0.
		run := &release.Run{Key: r.Key, Releases: 1, Trace: func(_ string, v []float64) { released = v[0] }}
		must.Get(c.choose(dev, base, images, r, run))
		plain := must.Get(base.Sample(r.Key.Rand("choose", 0), framing))
		moved := must.Get(c.Jitter.Apply(r.Key.Rand("choose", 1), plain))
		votes := must.Get(preference(newBank(dev, images), plain, moved, images))
		sum += (released - votes) * (released - votes) / keys
	}
	// The mean square of 20 has a standard error of √(2/20) = .32.
	for share, want := range map[float64]bool{.01: true, .04: false} {
		if got := sum / math.Pow(c.noiseOf(share), 2); (got > .3 && got < 2) != want {
			t.Errorf("mean square of the noise over that of a share of %g: %.2f", share, got)
		}
	}
}
