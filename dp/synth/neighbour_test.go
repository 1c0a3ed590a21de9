//go:build unix

package synth_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"coupling/data"
	"coupling/dp"
	"coupling/dp/release"
	"coupling/dp/synth"
	"coupling/dp/synth/denoise"
	"coupling/dp/synth/dpsinkhorn"
	"coupling/dp/synth/merf"
	"coupling/dp/synth/refine"
	"coupling/dp/synth/semidual"
	"coupling/lab/device"
	"coupling/lab/must"
	"coupling/lab/nn/nntest"
)

// released returns the files of a folder, by name. Pixels are noisy values: of those files it returns
// the length, and of their digest in synthetic.json nothing.
func released(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, name := range names(t, dir) {
		b := must.Get(os.ReadFile(filepath.Join(dir, name)))
		out[name] = string(b)
	}
	const pixels, about = "synthetic.npy", "synthetic.json"
	digest := fmt.Sprintf("%x", sha256.Sum256([]byte(out[pixels])))
	out[about] = strings.Replace(out[about], digest, "", 1)
	for _, name := range []string{pixels, "grid.png"} {
		out[name] = fmt.Sprint(len(out[name]))
	}
	return out
}

// tells lists the files that tell whether there are 200 images or 201, where the noise on their number
// is such that both are counted alike: every file but the pixels must then be the same to the last bit,
// since it may depend on nothing else.
func tells(t *testing.T, method func(p synth.Public, exact int) synth.Method) []string {
	t.Helper()
	publish := func(n int, seed uint64) (map[string]string, int) {
		images := must.Get(halves(n).Resize(16, 16, data.Nearest))
		out := fresh(t)
		s := must.Get(synth.Publication{
			Method:  func(p synth.Public) synth.Method { return method(p, n) },
			Budget:  dp.Budget{Epsilon: 100, Delta: 1e-4},
			Count:   4,
			Seed:    &seed,
			Out:     out,
			Picture: func(w io.Writer, _ *data.Images) error { _, err := io.WriteString(w, "picture"); return err },
		}.Run(t.Context(), nntest.CPU(t), images, nil))
		return released(t, out), s.Records
	}
	one, counted := publish(200, 1)
	for seed := range uint64(100) { // the seed itself is in no file
		if p, err := (synth.Public{Records: 201}).Counted(release.SeededKey(seed), 1); err != nil ||
			p.Records != counted {
			continue
		}
		two, again := publish(201, seed)
		if again != counted {
			t.Fatalf("201 images are counted as %d, want %d by ε/100", again, counted)
		}
		return slices.DeleteFunc(slices.Sorted(maps.Keys(two)),
			func(name string) bool { return one[name] == two[name] })
	}
	t.Fatalf("201 images are never counted as 200 of them, %d", counted)
	return nil
}

// Folders of neighbouring data sets are not told apart by any file, but for values with noise; settings
// that depend on the exact number of images are found out.
func TestNeighboursAreNotToldApart(t *testing.T) {
	for name, method := range map[string]func(p synth.Public) synth.Method{
		"average": average{Steps: 2}.suggested,
		"semi-dual": func(p synth.Public) synth.Method {
			c := semidual.Suggested(100, p)
			c.Basis, c.Local, c.Steps = 9, 9, 2
			return c
		},
		"refined": func(p synth.Public) synth.Method {
			c := refine.Chosen(100, p)
			c.Base.Basis, c.Base.Local, c.Base.Steps, c.Axes, c.Steps = 9, 9, 2, 9, 2
			c.TeacherShare = .3
			return c
		},
		"dp-sgd": func(p synth.Public) synth.Method {
			c := denoise.Suggested(100, p)
			c.Basis, c.Hidden, c.Steps = 9, 4, 2
			return c
		},
		"dp-sinkhorn": func(p synth.Public) synth.Method {
			c := dpsinkhorn.Suggested(p)
			c.Net, c.Steps = dpsinkhorn.Net{MLP: &dpsinkhorn.MLP{Latent: 2, Embed: 2, Hidden: []int{4}}}, 2
			return c
		},
		"dp-merf": func(synth.Public) synth.Method { return merf.Config{Features: 20, Steps: 2} },
	} {
		if got := tells(t, func(p synth.Public, _ int) synth.Method { return method(p) }); len(got) > 0 {
			t.Errorf("%s: neighbours are told apart by %v", name, got)
		}
	}
	exact := func(p synth.Public, n int) synth.Method {
		return denoise.Config{Basis: 9, Hidden: 4, Steps: 2, Records: n, Batch: n}
	}
	if got := tells(t, exact); !slices.Contains(got, "privacy.json") || !slices.Contains(got, "privacy.txt") {
		t.Errorf("settings by the exact number: told apart by %v", got)
	}
}

// The number of images is counted with noise that is ε-differentially private: a count is about as
// likely on neighbours, and another ε has other noise.
func TestCounted(t *testing.T) {
	const seeds, eps = 40_000, .5
	both := 0
	law := func(n int) map[int]float64 {
		out := map[int]float64{}
		for seed := range uint64(seeds) {
			p := must.Get(synth.Public{Records: n}.Counted(release.SeededKey(seed), eps))
			out[p.Records]++
			p2 := must.Get(synth.Public{Records: n}.Counted(release.SeededKey(seed), eps/2))
			both += (p.Records - n) * (p2.Records - n)
		}
		return out
	}
	one, two := law(20), law(21)
	for count, times := range one {
		if want := seeds * math.Tanh(eps/2) * math.Exp(-eps*math.Abs(float64(count-20))); count > 1 &&
			math.Abs(times-want) > 5*math.Sqrt(want)+5 {
			t.Errorf("%d is counted %g times on 20 images, want %g", count, times, want)
		}
		if other := two[count]; times > 500 && math.Abs(math.Log(times/other)) > eps+.2 {
			t.Errorf("%d is counted %g times on 20 images, %g on 21", count, times, other)
		}
	}
	if math.Abs(float64(both)) > 5*8/eps/eps/2*math.Sqrt(2*seeds) { // five deviations
		t.Errorf("counts at two ε have a correlation of %v", both)
	}
}

// limited is a method whose sums are exact for so many images.
type limited struct {
	average
	most int
}

func (l limited) WithNoise(sigma float64) synth.Method {
	l.Sigma = sigma
	return l
}

func (l limited) Event(p synth.Public) (dp.Event, error) {
	if p.Records > l.most {
		return nil, fmt.Errorf("%d images: must be at most %d: %w", p.Records, l.most, synth.ErrParameter)
	}
	return l.average.Event(p)
}

func (l limited) Train(ctx context.Context, dev *device.Device, images *data.Images,
	r synth.Run) (synth.Sampler, error) {
	if images.Len() > l.most {
		return nil, fmt.Errorf("%d images: must be at most %d", images.Len(), l.most)
	}
	return l.average.Train(ctx, dev, images, r)
}

// A data set that a method may not take is refused by the number with noise alone: where the limit is
// far from the noise, on both sides of it, and where it is not, by that number and a margin.
func TestLimitsGoByTheNoisyNumber(t *testing.T) {
	const most, delta = 60, 1e-4
	margin := int(math.Ceil(-math.Log(.001 * delta))) // at ε = 1 for the count
	taken := 0
	for seed := range uint64(30) {
		for _, n := range []int{40, 43, 46} {
			p := must.Get(synth.Public{Records: n}.Counted(release.SeededKey(seed), 1))
			_, err := synth.Publication{
				Method: func(p synth.Public) synth.Method {
					return limited{average{Steps: 1, Records: p.Records}, most}
				},
				Budget: dp.Budget{Epsilon: 100, Delta: delta},
				Count:  2,
				Seed:   &seed,
				Out:    fresh(t),
			}.Run(t.Context(), nntest.CPU(t), halves(n), nil)
			if fits := p.Records+margin <= most; fits != (err == nil) ||
				err != nil && !errors.Is(err, synth.ErrParameter) {
				t.Errorf("%d images, counted as %d: %v", n, p.Records, err)
			} else if fits {
				taken++
			}
		}
	}
	if taken < 10 || taken > 80 {
		t.Errorf("%d of 90 are taken", taken)
	}
}
