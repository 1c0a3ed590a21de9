package dpsinkhorn

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"coupling/data"
	"coupling/dp"
	"coupling/dp/release"
	"coupling/dp/synth"
	"coupling/lab/device"
	"coupling/lab/must"
	"coupling/lab/nn"
	"coupling/lab/nn/arch"
	"coupling/lab/nn/nntest"
	"coupling/lab/nn/train"

	"gonum.org/v1/gonum/floats"
)

// bars is images of two classes: the upper or the lower half is bright.
func bars(n int) *data.Images {
	rng := rand.New(rand.NewPCG(9, 9))
	m := must.Get(data.New(n, 1, 28, 28))
	m.Labels, m.Classes = make([]int, n), []string{"upper", "lower"}
	for i := range n {
		m.Labels[i] = rng.IntN(2)
		for j := range 392 {
			m.Row(i)[m.Labels[i]*392+j] = .8 + .2*rng.Float32()
		}
	}
	return m
}

var digits = synth.Public{Records: 40, Classes: []string{"upper", "lower"}, Channels: 1, Height: 28, Width: 28}

// fit trains under key 1 and returns the generator.
func fit(t testing.TB, tr Training, images *data.Images, r synth.Run) (*Generator, error) {
	t.Helper()
	if r.Key == (release.Key{}) {
		r.Key = release.SeededKey(1)
	}
	if r.Every == 0 {
		r.Every = 3
	}
	g, err := tr.Train(t.Context(), nntest.CPU(t), images, r)
	if err != nil {
		return nil, err
	}
	return g.(*Generator), nil
}

func small() Training {
	return Training{
		Net: Net{DCGAN: &arch.DCGAN{
			Latent:  3,
			Classes: 2,
			Embed:   2,
			Hidden:  2,
		}}, Loss: Loss{L1: 1, Fresh: .4}, Sanitiser: WholeBatch{NoiseMultiplier: .5},
		Images: 6, Rate: .1, Steps: 7, Adam: train.Adam{Rate: 1e-2, Decay: 1e-5},
	}
}

func weights(t testing.TB, params []*nn.Param) []float32 {
	var out []float32
	for _, p := range params {
		v := must.Get(p.Value.Get32())
		out = append(out, v...)
	}
	return out
}

func digest(a *device.Array) string {
	v, err := a.Get32()
	if err != nil {
		return err.Error()
	}
	var b bytes.Buffer
	_ = binary.Write(&b, binary.LittleEndian, v)
	return fmt.Sprintf("%x", b.Bytes()[:40])
}

// killedEnv names the folder in which TestKilledProcess trains and kills itself.
const killedEnv = "DPSINKHORN_KILLED_DIR"

// TestKilledProcess is the process that TestKillAndResume kills: it does nothing by itself.
func TestKilledProcess(t *testing.T) {
	dir := os.Getenv(killedEnv)
	if dir == "" {
		t.Skip("the child of TestKillAndResume")
	}
	tr := small()
	at, _ := strconv.Atoi(os.Getenv(killedEnv + "_AT"))
	tr.Trace = func(k int, release *device.Array) {
		fmt.Printf("release %d %s\n", k, digest(release))
		if k == at {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}
	}
	g := must.Get(fit(t, tr, bars(40), synth.Run{Dir: dir}))
	fmt.Printf("weights %x\n", weights(t, g.Params())[:20])
}

// A run that is killed, without warning, after releases that no checkpoint holds, ends in the same weights; it releases
// the same again where it plays steps again, and its ledger has every step once.
func TestKillAndResume(t *testing.T) {
	dir := t.TempDir()
	var log [3][]string
	for i, at := range []int{4, 5, -1} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestKilledProcess$")
		cmd.Env = append(os.Environ(), killedEnv+"="+dir, killedEnv+"_AT="+strconv.Itoa(at))
		out, err := cmd.Output()
		if (err == nil) != (at < 0) {
			t.Fatalf("run %d: %v\n%s", i, err, out)
		}
		for line := range strings.Lines(string(out)) {
			if strings.HasPrefix(line, "release") || strings.HasPrefix(line, "weights") {
				log[i] = append(log[i], line)
			}
		}
	}
	seen := map[string]string{}
	for _, lines := range log {
		for _, line := range lines {
			if what, of, _ := strings.Cut(line, " "); what == "release" {
				step, value, _ := strings.Cut(of, " ")
				if old, ok := seen[step]; ok && old != value {
					t.Errorf("step %s released %s and then %s", step, old, value)
				}
				seen[step] = value
			}
		}
	}
	if !strings.HasPrefix(log[1][0], "release 3 ") || len(seen) != 7 {
		t.Errorf("the second run began with %q; %d steps were released", log[1][0], len(seen))
	}
	g := must.Get(fit(t, small(), bars(40), synth.Run{}))
	if got, want := log[2][len(log[2])-1], fmt.Sprintf("weights %x\n", weights(t, g.Params())[:20]); got != want {
		t.Errorf("resumed: %s never killed: %s", got, want)
	}
	ledger := must.Get(os.ReadFile(filepath.Join(dir, "ledger")))
	if n := strings.Count(string(ledger), "step "); n != 7 {
		t.Errorf("%d steps in the ledger, want 7", n)
	}
	other := small()
	other.Sanitiser = WholeBatch{NoiseMultiplier: .1}
	if _, err := fit(t, other, bars(40), synth.Run{Dir: dir}); !errors.Is(err, release.ErrLedger) {
		t.Errorf("less noise in the same folder: %v", err)
	}
}

// Noise and bounds that are not numbers of their kind are refused, by training and by its event: no
// noise must come of them.
func TestSanitiserIsChecked(t *testing.T) {
	for _, s := range []Sanitiser{
		WholeBatch{NoiseMultiplier: -1}, WholeBatch{NoiseMultiplier: math.NaN()},
		WholeBatch{NoiseMultiplier: math.Inf(1)}, WholeBatch{Bound: -1, NoiseMultiplier: 1},
		WholeBatch{Bound: math.NaN(), NoiseMultiplier: 1}, WholeBatch{Bound: math.Inf(1), NoiseMultiplier: 1},
		WholeBatch{Bound: -1, NoiseMultiplier: -1}, PerRow{Bound: -1, NoiseMultiplier: 1},
	} {
		tr := small()
		tr.Sanitiser = s
		if _, err := fit(t, tr, bars(10), synth.Run{}); !errors.Is(err, dp.ErrParameter) {
			t.Errorf("%#v: trained: %v", s, err)
		}
		if _, err := tr.Event(digits); !errors.Is(err, dp.ErrParameter) {
			t.Errorf("%#v: an event: %v", s, err)
		}
		g := nntest.CPU(t).From32([]float32{.1, 0}, 1, 2)
		if w, ok := s.(WholeBatch); ok && w.Bound == 0 {
			if err := sanitise(s, g, &release.Run{Key: release.SeededKey(1), Releases: 1}, 0); !errors.Is(err,
				dp.ErrParameter) {
				t.Errorf("%#v: released: %v", s, err)
			}
		}
	}
}

// Noise is never used twice: other images or labels are refused in the folder of a run, a step that
// would release something else than before is refused too, and without a folder another gradient
// gets other noise.
func TestNoiseIsUsedOnce(t *testing.T) {
	dir := t.TempDir()
	tr := small()
	images := bars(40)
	must.Get(fit(t, tr, images, synth.Run{Dir: dir, Every: 100}))
	pixel, label := bars(40), bars(40)
	pixel.Pixels()[5] += .25
	label.Labels[3] = 1 - label.Labels[3]
	for name, other := range map[string]*data.Images{"pixel": pixel, "label": label} {
		if _, err := fit(t, tr, other, synth.Run{Dir: dir}); !errors.Is(err, release.ErrLedger) {
			t.Errorf("another %s in the same folder: %v", name, err)
		}
	}
	must.Do(os.Remove(filepath.Join(dir, "checkpoint")))
	tr.Schedule = train.Staircase(1, .5)
	if _, err := fit(t, tr, images, synth.Run{Dir: dir, Every: 100}); !errors.Is(err, release.ErrLedger) {
		t.Errorf("steps played again with another schedule: %v", err)
	}

	s := WholeBatch{Bound: 1, NoiseMultiplier: 2}
	noise := func(entry float32) []float64 {
		g := nntest.CPU(t).From32([]float32{entry, 0, 0, 0}, 2, 2)
		must.Do(sanitise(s, g, &release.Run{Key: release.SeededKey(4), Releases: 1}, 0))
		return must.Get(g.Float64s())
	}
	if a, b := noise(.5), noise(.5); !slices.Equal(a, b) {
		t.Errorf("the same release twice: %v and %v", a, b)
	}
	if a, b := noise(.5), noise(.25); a[1] == b[1] || a[2] == b[2] || a[3] == b[3] {
		t.Errorf("two gradients with the same noise: %v and %v", a, b)
	}
}

// Without noise the generator learns which half is bright, by the gradient at images of either
// network, by that of parameters, and by plain descent.
func TestLearns(t *testing.T) {
	for name, change := range map[string]func(*Training){
		"images":     func(*Training) {},
		"parameters": func(tr *Training) { tr.Parameters = true },
		"dense": func(tr *Training) {
			tr.Net, tr.Turns = Net{MLP: &MLP{Latent: 4, Embed: 4, Hidden: []int{16}}}, true
		},
		"descent": func(tr *Training) { tr.SGD = &train.SGD{Rate: 1e-3, Momentum: .9} },
	} {
		tr := small()
		tr.Steps, tr.Rate, tr.Images, tr.Sanitiser = 60, .5, 10, WholeBatch{Bound: 5}
		tr.Net.DCGAN.Hidden = 4
		change(&tr)
		g := must.Get(fit(t, tr, bars(40), synth.Run{Key: release.SeededKey(3)}))
		m := must.Get(g.Sample(rand.New(rand.NewPCG(1, 1)), 40))
		right := 0.
		for i, l := range m.Labels {
			half := [2]float64{}
			for j, v := range m.Row(i) {
				half[j/392] += float64(v)
			}
			if half[l] > half[1-l] {
				right += 1. / 40
			}
		}
		if right < .9 {
			t.Errorf("%s: %g of the images are bright on the right side", name, right)
		}
	}
}

// With classes in turn every class is in the batch equally often, and fresh images equally often:
// of one that is in k of S steps with probability ½ or more, the count has a deviation of at most
// √S/2. In every step both sides of the debiasing term hold the same classes.
func TestEveryClassIsDebiased(t *testing.T) {
	const steps = 2000
	for _, c := range []struct{ n, fresh, classes int }{{10, 4, 10}, {10, 10, 10}, {4, 2, 8}, {50, 20, 10}, {7, 3, 2},
		{5, 4, 10}, {3, 0, 2}} {
		g := &Generator{public: synth.Public{Classes: make([]string, c.classes)}}
		batch, fresh := make([]int, c.classes), make([]int, c.classes)
		for k := range steps {
			labels := g.labels(release.SeededKey(5).Rand("codes", k), c.n, c.fresh, true, k)
			first, second := slices.Sorted(slices.Values(labels[:c.n])), slices.Sorted(slices.Values(labels[c.fresh:]))
			if !slices.Equal(first, second) {
				t.Fatalf("%+v, step %d: classes %v against %v", c, k, first, second)
			}
			for i, l := range labels {
				if i < c.n {
					batch[l]++
				} else {
					fresh[l]++
				}
			}
		}
		for l := range c.classes {
			if got := batch[l] * c.classes; got < (steps-1)*c.n || got > (steps+1)*c.n+c.classes {
				t.Errorf("%+v: class %d is %d times in the batch, of %d", c, l, batch[l], steps*c.n)
			}
			most := float64((c.n + c.classes - 1) / c.classes) // images of a class in a step
			if want := float64(steps*c.fresh) / float64(c.classes); math.Abs(float64(fresh[l])-want) >
				4*most*math.Sqrt(steps)/2 {
				t.Errorf("%+v: class %d has %d fresh images, want %g", c, l, fresh[l], want)
			}
		}
	}
}

// The gradient at fresh images is at most √(n′/(2n−n′)) times as long as what the sanitiser lets
// through of the batch's, and is left alone where it is shorter.
func TestFreshImagesDoNotOutweigh(t *testing.T) {
	dev := nntest.CPU(t)
	for _, s := range []Sanitiser{WholeBatch{Bound: .5}, PerRow{Bound: .5}} {
		r := &run{Training: Training{Images: 10, Sanitiser: s}}
		want := s.Sensitivity(10) / 2 * math.Sqrt(4./16)
		for _, length := range []float64{100, want / 2} {
			g := dev.Zeros(device.Float32, 4, 9)
			device.Fill(g, length/6)
			r.weighFresh(g)
			v := must.Get(g.Float64s())
			// The clip has a margin of some roundings of float32.
			if got := floats.Norm(v, 2); math.Abs(got/min(want, length)-1) > 1e-4 {
				t.Errorf("%v: %g of %g, want %g", s, got, length, min(want, length))
			}
		}
	}
}

// The noise of a release is what the sanitiser says, and the release without it is the clipped gradient.
func TestReleaseNoise(t *testing.T) {
	dev := nntest.CPU(t)
	s := WholeBatch{Bound: 2, NoiseMultiplier: 3}
	g := dev.Zeros(device.Float32, 50, 400)
	must.Do(sanitise(s, g, &release.Run{Key: release.SeededKey(4), Releases: 1}, 0))
	v := must.Get(g.Float64s())
	// 20,000 values: the estimate has a relative standard error of 1/√40000 = .005.
	if sd := floats.Norm(v, 2) / math.Sqrt(float64(len(v))); math.Abs(sd/12-1) > .025 {
		t.Errorf("noise of standard deviation %g, want 12", sd)
	}
	event := must.Get(Training{Net: small().Net, Sanitiser: s, Rate: .01, Steps: 100}.Event(digits))
	got := must.Get(dp.Epsilon(t.Context(), event, dp.Relation{}, 1e-5))
	want := must.Get(dp.Epsilon(t.Context(), dp.SGD(3, .01, 100), dp.Relation{}, 1e-5))
	if got.Epsilon < want.Epsilon || got.Epsilon > want.Epsilon*(1+1e-3) {
		t.Errorf("ε = %g, want %g and no less", got.Epsilon, want.Epsilon)
	}
}
