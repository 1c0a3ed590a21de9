//go:build linux

package neural

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"coupling/data/synth"
	"coupling/lab/device"
	"coupling/lab/must"
	"coupling/score"
	"coupling/score/dsm"
	"coupling/score/scones"
)

// This test binary, told so, is a process that fits two clouds and may be killed on the way.
func TestMain(m *testing.M) {
	if dir := os.Getenv("NEURAL_TEST_DIR"); dir != "" {
		if err := fits(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// fits says each step that it has made, and at the end what it draws.
func fits(dir string) error {
	dev, err := device.Open("cpu")
	if err != nil {
		return err
	}
	rng := rand.New(rand.NewPCG(7, 7))
	x, err := synth.Normal(rng, 50, 2)
	if err != nil {
		return err
	}
	y, err := synth.Moons(rng, 60, .1)
	if err != nil {
		return err
	}
	levels, err := score.Geometric(1, .02, 12)
	if err != nil {
		return err
	}
	say := func(part string) func(int, float64) { return func(step int, _ float64) { fmt.Println(part, step) } }
	draw, err := parts{
		potentials: Training{Ascent: scones.Ascent{Compatibility: scones.Compatibility{Lambda: 1}, Steps: 40, Batch: 16,
			Trace: say("potentials")}, Hidden: []int{8, 8}, Every: 7},
		score:      dsm.Training{Sigmas: levels, Steps: 50, Batch: 16, Every: 9, Trace: say("score")},
		width:      128,
		projection: Projection{Steps: 40, Batch: 16, Every: 6, Trace: say("projection")},
		sampler: score.Langevin{Levels: levels[3:], Steps: 4, Step: levels[11] * levels[11] / 5, Denoise: true,
			Path: filepath.Join(dir, "samples.ckpt"), Every: 5,
			Trace: func(p score.Progress) { fmt.Println("sample", p.Done, p.Total) }},
		dir: dir,
	}.run(context.Background(), rng, dev, x, y)
	if err != nil {
		return err
	}
	out, err := draw(context.Background(), rand.New(rand.NewPCG(8, 8)), x, 2)
	if err != nil {
		return err
	}
	fmt.Println("drew", out.RawMatrix().Data)
	return nil
}

// child runs fits until it has said `most` lines (all, where negative), kills it then, and returns
// what it drew if it did and the lines that it said.
func child(t *testing.T, dir string, most int) (drew string, lines []string) {
	t.Helper()
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), "NEURAL_TEST_DIR="+dir, "GOMAXPROCS=1")
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	for read := bufio.NewScanner(out); read.Scan(); {
		if line := read.Text(); strings.HasPrefix(line, "drew") {
			drew = line
		} else if lines = append(lines, line); len(lines) == most {
			must.Do(c.Process.Kill())
		}
	}
	if err := c.Wait(); err != nil && most < 0 {
		t.Fatal(err)
	}
	return drew, lines
}

// A fit that is killed by the system at any moment, again and again, and begun again, ends with the
// same bits as one that was not: score, potentials, projection, and the chains of what they draw,
// killed too. (That chains go on from where they were stored: package score.)
func TestKilledAndResumed(t *testing.T) {
	want, all := child(t, t.TempDir(), -1)
	sampled := 0
	for _, line := range all {
		if strings.HasPrefix(line, "sample") {
			sampled++
		}
	}
	if want == "" || len(all)-sampled != 130 || sampled < 30 {
		t.Fatalf("%d steps, %d of them samples', %q", len(all), sampled, want)
	}
	for seed := range uint64(2) {
		rng, dir, killed := rand.New(rand.NewPCG(seed, 1)), t.TempDir(), 0
		for {
			got, _ := child(t, dir, 10+rng.IntN(40))
			if got != "" {
				if got != want {
					t.Errorf("seed %d: after %d kills it draws\n%s, want\n%s", seed, killed, got, want)
				}
				break
			}
			if killed++; killed > 60 {
				t.Fatal("it gets nowhere")
			}
		}
		if killed < 2 {
			t.Errorf("seed %d: killed %d times", seed, killed)
		}
	}
}
