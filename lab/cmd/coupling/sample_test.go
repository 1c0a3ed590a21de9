package main

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"coupling/data"
	"coupling/lab/must"

	"gonum.org/v1/gonum/mat"
)

func sampledBy(t *testing.T, args ...string) (sampled, int) {
	return answered[sampled](t, "sample", args...)
}

// Two far parts on the line go to two far parts, each to its own.
func TestSamplePoints(t *testing.T) {
	dir, rng := t.TempDir(), rand.New(rand.NewPCG(1, 1))
	file := func(name string, at float64) string {
		m := mat.NewDense(100, 1, nil)
		for i := range 100 {
			m.Set(i, 0, at*float64(1-2*(i%2))+.1*rng.NormFloat64())
		}
		path := filepath.Join(dir, name)
		must.Do(saveMatrix(path, m))
		return path
	}
	x, y := file("x.npy", 1), file("y.npy", 3)
	s, code := sampledBy(t, "--x", x, "--y", y, "--lambda", ".3", "--each", "3", "--out", filepath.Join(dir, "out"))
	if code != 0 || s.Samples != 300 || s.Status != "converged" || s.Acceptance < .3 || !(s.PerSecond > 0) {
		t.Fatalf("code %d, %+v", code, s)
	}
	out := must.Get(data.ReadPoints(filepath.Join(dir, "out", "samples.npy")))
	for i := range 300 {
		if want := 3 * float64(1-2*(i/3%2)); math.Abs(out.At(i, 0)-want) > 1 {
			t.Errorf("sample %d at %.2f, want about %g", i, out.At(i, 0), want)
		}
	}
	wide := filepath.Join(dir, "wide.npy")
	must.Do(saveMatrix(wide, mat.NewDense(5, 2, nil)))
	far := filepath.Join(dir, "far.npy")
	must.Do(saveMatrix(far, mat.NewDense(2, 1, []float64{0, 1e200})))
	for name, args := range map[string][]string{
		"dimension": {"--x", x, "--y", wide},
		"no file":   {"--x", x, "--y", filepath.Join(dir, "none.npy")},
		"mixed":     {"--x", x, "--y", dir},
		"each":      {"--x", x, "--y", y, "--each", "0"},
		"lambda":    {"--x", x, "--y", y, "--lambda", "-1"},
		"one place": {"--x", wide, "--y", wide},
		"bandwidth": {"--x", x, "--y", y, "--bandwidth", "1e-200"},
		"of":        {"--x", x, "--y", y, "--of", wide},
		"too many":  {"--x", x, "--y", y, "--each", "1000000000000"},
		"far":       {"--x", x, "--y", y, "--of", far},
	} {
		if _, code := sampledBy(t, append(args, "--out", filepath.Join(dir, "bad"))...); code != exitUsage {
			t.Errorf("%s: code %d", name, code)
		}
	}
}

// A run that is killed by the system while it samples goes on where it was stored, and writes the
// same bytes; with other arguments it is refused.
func TestSampleKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("kills the command many times")
	}
	dir, rng := t.TempDir(), rand.New(rand.NewPCG(1, 1))
	points := filepath.Join(dir, "x.npy")
	m := mat.NewDense(300, 2, nil)
	m.Apply(func(int, int, float64) float64 { return rng.NormFloat64() }, m)
	must.Do(saveMatrix(points, m))
	args := func(out string, more ...string) []string {
		return append([]string{"--x", points, "--y", points, "--steps", "600", "--every", "20", "--out",
			filepath.Join(dir, out)}, more...)
	}
	whole, code := sampledBy(t, args("whole")...)
	if code != 0 {
		t.Fatalf("code %d", code)
	}
	killed := exec.Command("coupling", append([]string{"sample"}, args("killed")...)...)
	must.Do(killed.Start())
	stored := filepath.Join(dir, "killed", ".chains.ckpt")
	for end := time.Now().Add(5 * time.Minute); ; time.Sleep(time.Millisecond) {
		if _, err := os.Stat(stored); err == nil {
			break
		} else if time.Now().After(end) {
			t.Fatal("nothing is stored")
		}
	}
	must.Do(killed.Process.Kill())
	_ = killed.Wait()
	if _, err := os.Stat(stored); err != nil {
		t.Fatalf("it was not killed while it sampled: %v", err)
	}
	if _, code := sampledBy(t, args("killed", "--seed", "2")...); code != exitUsage {
		t.Errorf("another seed: code %d", code)
	}
	again, code := sampledBy(t, args("killed")...)
	if code != 0 || again.Acceptance != whole.Acceptance {
		t.Errorf("code %d, %+v, want %+v", code, again, whole)
	}
	want := must.Get(os.ReadFile(filepath.Join(dir, "whole", "samples.npy")))
	if got, err := os.ReadFile(filepath.Join(dir, "killed", "samples.npy")); err != nil || !bytes.Equal(got, want) {
		t.Errorf("other samples: %v", err)
	}
	if _, err := os.Stat(stored); !os.IsNotExist(err) {
		t.Errorf("the chains are still stored: %v", err)
	}
}

// What cannot be written is said before anything is fitted, and a sampler that stands still says so.
func TestSampleSays(t *testing.T) {
	dir := t.TempDir()
	points := filepath.Join(dir, "x.npy")
	must.Do(saveMatrix(points, mat.NewDense(2, 1, []float64{1, 2})))
	var out, errs bytes.Buffer
	if code := run([]string{"sample", "--x", points, "--y", points, "--out", points}, &out, &errs); code != exitUsage ||
		!strings.Contains(errs.String(), "--out") {
		t.Errorf("a file for a folder: code %d, %s", code, errs.String())
	}
	for acceptance, want := range map[float64]int{.19: 1, .2: 0, 1: 0} {
		errs.Reset()
		if warnSlow(&errs, acceptance); strings.Count(errs.String(), "\n") != want {
			t.Errorf("acceptance %g: %q", acceptance, errs.String())
		}
	}
}

func TestSamplePictures(t *testing.T) {
	dir := t.TempDir()
	for side, light := range map[string]uint8{"dark": 30, "light": 220} {
		folder := filepath.Join(dir, side)
		must.Do(os.MkdirAll(folder, 0o777))
		for k := range 8 {
			p := image.NewGray(image.Rect(0, 0, 6, 6))
			for i := range p.Pix {
				p.Pix[i] = light + uint8((i*7+k*11)%30)
			}
			p.SetGray(0, 0, color.Gray{0})
			var b bytes.Buffer
			must.Do(png.Encode(&b, p))
			must.Do(os.WriteFile(filepath.Join(folder, string(rune('a'+k))+".png"), b.Bytes(), 0o666))
		}
	}
	s, code := sampledBy(t, "--x", filepath.Join(dir, "dark"), "--y", filepath.Join(dir, "light"), "--size", "4",
		"--steps", "20", "--out", filepath.Join(dir, "out"))
	if code != 0 || s.Samples != 8 {
		t.Fatalf("code %d, %+v", code, s)
	}
	f := must.Get(os.Open(filepath.Join(dir, "out", "00007-0.png")))
	defer f.Close()
	p := must.Get(png.Decode(f))
	if v := color.GrayModel.Convert(p.At(2, 2)).(color.Gray).Y; p.Bounds().Dx() != 4 || v < 180 {
		t.Errorf("a picture of %v, grey %d in the middle", p.Bounds(), v)
	}
}
