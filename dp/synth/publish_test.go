//go:build unix

package synth_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"coupling/data"
	"coupling/dp"
	"coupling/dp/release"
	"coupling/dp/synth"
	"coupling/lab/device"
	"coupling/lab/must"
	"coupling/lab/nn/nntest"
)

// average is a generator that lives outside of the project: the noisy mean image of each class,
// with noise about it. One image moves the sums by its own pixels, which are scaled to norm 1 at
// most.
type average struct {
	Sigma   float64
	Records int            // about how many images there are
	Steps   int            // releases of the same sums, which are averaged
	stop    func(step int) // a fault, for tests
}

// suggested is the method for images of any kind.
func (a average) suggested(p synth.Public) synth.Method {
	a.Records = p.Records
	return a
}

func (average) Describe() (mechanism, settings string) { return "noisy mean images", "none" }

func (a average) WithNoise(sigma float64) synth.Method {
	a.Sigma = sigma
	return a
}

func (a average) Event(p synth.Public) (dp.Event, error) {
	if !(a.Sigma > 0) {
		return nil, fmt.Errorf("average: Sigma = %g: %w", a.Sigma, dp.ErrParameter)
	}
	return dp.Repeat{Times: a.Steps, Event: dp.Gaussian{NoiseMultiplier: a.Sigma * (1 - release.GridMargin)}}, nil
}

func (a average) Train(ctx context.Context, dev *device.Device, images *data.Images,
	r synth.Run) (synth.Sampler, error) {
	p, err := synth.PublicOf(images)
	if err != nil {
		return nil, err
	}
	run, err := r.Begin(dev, images, a.Steps, map[string]any{"mechanism": "average", "sigma": a.Sigma})
	if err != nil {
		return nil, err
	}
	defer func() { _ = run.Close() }()
	sums := make([]float64, len(p.Classes)*p.Values())
	for i, l := range images.Labels {
		for j, v := range images.Row(i) { // in [0, 1], of which there are Values
			sums[l*p.Values()+j] += float64(v) / math.Sqrt(float64(p.Values()))
		}
	}
	means := make([]float64, len(sums))
	err = run.Loop(ctx, release.Loop{Steps: a.Steps, Step: func(k int) error {
		if a.stop != nil {
			a.stop(k)
		}
		noisy, err := run.Release("mean", k, sums, a.Sigma, 1)
		for j, v := range noisy {
			means[j] += v * math.Sqrt(float64(p.Values())) / float64(a.Steps) * float64(len(p.Classes)) /
				float64(a.Records)
		}
		r.Step(k+1, a.Steps)
		return err
	}})
	return drawn{p, means}, err
}

type drawn struct {
	synth.Public
	means []float64
}

func (d drawn) Sample(rng *rand.Rand, n int) (*data.Images, error) {
	return synth.Draw(d.Public, "average", n, 10, func(labels []int) (values []float64, err error) {
		for _, l := range labels {
			for _, v := range d.means[l*d.Values() : (l+1)*d.Values()] {
				values = append(values, v+.05*rng.NormFloat64())
			}
		}
		return values, nil
	})
}

// halves are images of 4×4, bright in the half of their class.
func halves(n int) *data.Images {
	m := must.Get(data.New(n, 1, 4, 4))
	m.Labels, m.Classes = make([]int, n), []string{"upper", "lower"}
	for i := range n {
		m.Labels[i] = i % 2
		for j := range 8 {
			m.Row(i)[8*m.Labels[i]+j] = .9
		}
	}
	return m
}

// of is a publication of eight releases under a seed, so that runs can be compared.
func of(out string, eps float64) synth.Publication {
	seed := uint64(1)
	return synth.Publication{
		Method: average{Steps: 8}.suggested,
		Budget: dp.Budget{Epsilon: eps, Delta: 1e-4},
		Count:  40,
		Seed:   &seed,
		Out:    out,
	}
}

// unseeded is of at ε = 1 with a key of its own.
func unseeded(out string) synth.Publication {
	p := of(out, 1)
	p.Seed = nil
	return p
}

// fresh is a folder that is not there.
func fresh(t testing.TB) string {
	return filepath.Join(t.TempDir(), "out")
}

// state is a file of a run that makes out.
func state(out, name string) string { return filepath.Join(out+".state", name) }

func publish(t testing.TB, p synth.Publication) (synth.Statement, error) {
	t.Helper()
	return p.Run(t.Context(), nntest.CPU(t), halves(400), nil)
}

// look returns the pixels and the statement of a data set.
func look(t testing.TB, out string) (pixels []float32, statement string) {
	m := must.Get(data.Load(filepath.Join(out, "synthetic.npy")))
	b := must.Get(os.ReadFile(filepath.Join(out, "privacy.txt")))
	return m.Pixels(), string(b)
}

// put makes a file.
func put(path, content string) {
	must.Do(errors.Join(os.MkdirAll(filepath.Dir(path), 0o777),
		os.WriteFile(path, []byte(content), 0o666)))
}

// names lists all below a folder.
func names(t testing.TB, dir string) (out []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if path != dir {
			out = append(out, strings.TrimPrefix(path, dir+"/"))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// A generator from outside learns, is calibrated, drawn from and stated like those of the project.
func TestForeignMethod(t *testing.T) {
	out := filepath.Join(t.TempDir(), "new", "made")
	p := of(out, 2)
	p.Seed = nil
	p.Picture = func(w io.Writer, _ *data.Images) error { _, err := io.WriteString(w, "picture"); return err }
	s := must.Get(publish(t, p))
	if s.Epsilon > 2 || s.Epsilon < 1.999 || !s.Private || s.Records < 1 || s.Records > 2000 || s.Synthetic != 40 ||
		s.Mechanism != "noisy mean images" {
		t.Errorf("%+v", s)
	}
	m := must.Get(data.Load(filepath.Join(out, "synthetic.npy")))
	for i, l := range m.Labels {
		var half [2]float32
		for j, v := range m.Row(i) {
			half[j/8] += v
		}
		if half[l] < 3*half[1-l] {
			t.Errorf("image %d of class %d: %v", i, l, half)
		}
	}
	if got := names(t, filepath.Dir(out)); !slices.Equal(got, []string{
		"made", "made/grid.png", "made/privacy.json", "made/privacy.txt", "made/summary.json", "made/synthetic.json",
		"made/synthetic.labels.npy", "made/synthetic.npy",
	}) {
		t.Errorf("the folder holds %v", got)
	}
}

func stat(path string) os.FileMode {
	info := must.Get(os.Stat(path))
	return info.Mode().Perm()
}

// A folder that holds anything is refused, and nothing in it or beside it is touched: a folder run
// of the user's, with a statement or without, a file in the place of the folder, and a folder
// OUT.state that no run made.
func TestNothingOfOthersIsTouched(t *testing.T) {
	for name, files := range map[string][]string{
		"user's run":     {"out/run/results.txt"},
		"beside another": {"out/privacy.json", "out/run/results.txt", "out/run/key"},
		"a file":         {"out"},
		"user's state":   {"out.state/thesis.txt"},
		"user's data":    {"out.state/key", "out.state/notes"},
		"user's key":     {"out.state/key"},
		"our names": {"out.state/published", "out.state/lock", "out.state/key.notes.tmp",
			"out.state/data/synthetic.npy"},
	} {
		dir := t.TempDir()
		for _, f := range files {
			put(filepath.Join(dir, f), "mine")
		}
		before := names(t, dir)
		for _, seeded := range []bool{true, false} {
			p := of(filepath.Join(dir, "out"), 1)
			if !seeded {
				p.Seed = nil
			}
			if _, err := publish(t, p); !errors.Is(err, synth.ErrOccupied) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if after := names(t, dir); !slices.Equal(after, before) {
			t.Errorf("%s: before %v, after %v", name, before, after)
		}
		for _, f := range files {
			if b, err := os.ReadFile(filepath.Join(dir, f)); err != nil || string(b) != "mine" {
				t.Errorf("%s: %s: %q, %v", name, f, b, err)
			}
		}
	}
	// A key that is none, in a folder with a run's lock, stays too.
	out := fresh(t)
	put(state(out, "coupling-private.lock"), "")
	put(state(out, "key"), "thesis\n")
	p := unseeded(out)
	if _, err := publish(t, p); err == nil || !strings.Contains(err.Error(), "7 bytes") {
		t.Errorf("a key of 7 bytes: %v", err)
	}
	if b, err := os.ReadFile(state(out, "key")); string(b) != "thesis\n" {
		t.Errorf("a key of 7 bytes: %q, %v", b, err)
	}
	empty := fresh(t)
	must.Do(os.Mkdir(empty, 0o777))
	if _, err := publish(t, of(empty, 1)); err != nil {
		t.Errorf("an empty folder: %v", err)
	}
}

// What is out of range is refused before there is any folder.
func TestPublicationIsChecked(t *testing.T) {
	dir := t.TempDir()
	for name, change := range map[string]func(*synth.Publication){
		"method":  func(p *synth.Publication) { p.Method = nil },
		"epsilon": func(p *synth.Publication) { p.Budget.Epsilon = math.Inf(1) },
		"delta":   func(p *synth.Publication) { p.Budget.Delta = .5 },
		"kind":    func(p *synth.Publication) { p.Budget.Relation.Kind = dp.Substitution },
		"group":   func(p *synth.Publication) { p.Budget.Relation.Group = 2 },
		"count":   func(p *synth.Publication) { p.Count = 0 },
	} {
		p := of(filepath.Join(dir, "out"), 1)
		change(&p)
		if _, err := publish(t, p); !errors.Is(err, synth.ErrParameter) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, change := range map[string]func(*data.Images){
		"classes": func(m *data.Images) { m.Classes = nil },
		"labels":  func(m *data.Images) { m.Labels = nil },
		"label":   func(m *data.Images) { m.Labels[7] = 2 },
		"range":   func(m *data.Images) { m.Hi = m.Lo },
	} {
		m := halves(400)
		change(m)
		if _, err := of(filepath.Join(dir, "out"), 1).
			Run(t.Context(), nntest.CPU(t), m, nil); !errors.Is(err, synth.ErrParameter) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := names(t, dir); len(got) > 0 {
		t.Errorf("there is %v", got)
	}
}

// childEnv names what TestChild does, and childOut where.
const childEnv, childOut = "SYNTH_CHILD", "SYNTH_CHILD_OUT"

// TestChild is a process that is killed or stopped by itself: it does nothing by itself.
func TestChild(t *testing.T) {
	what := os.Getenv(childEnv)
	if what == "" {
		t.Skip("a child of the tests below")
	}
	p := of(os.Getenv(childOut), 1)
	sends := syscall.SIGKILL
	if strings.HasPrefix(what, "stop") {
		sends = syscall.SIGSTOP
	}
	goes := make(chan os.Signal, 1)
	signal.Notify(goes, syscall.SIGCONT)
	hit := func() {
		must.Do(syscall.Kill(os.Getpid(), sends))
		<-goes // what was killed does not go on
	}
	switch _, where, _ := strings.Cut(what, " "); where {
	case "unseeded", "release":
		if where == "unseeded" {
			p.Seed = nil
		}
		p.Method = average{Steps: 8, stop: func(k int) {
			if k == 5 {
				hit()
			}
		}}.suggested
	case "write":
		p.Picture = func(w io.Writer, _ *data.Images) error {
			_, _ = io.WriteString(w, "half a pict")
			hit()
			_, err := io.WriteString(w, "ure")
			return err
		}
	}
	must.Get(publish(t, p))
}

// child starts TestChild, which kills or stops itself.
func child(what, out string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], "-test.run=^TestChild$")
	cmd.Env = append(os.Environ(), childEnv+"="+what, childOut+"="+out)
	must.Do(cmd.Start())
	return cmd
}

// killed runs TestChild to its end.
func killed(t *testing.T, where, out string) {
	t.Helper()
	if err := child("kill "+where, out).Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Fatalf("the child was not killed: %v", err)
	}
}

// A run that was killed, at a release or while it wrote, leaves no Out, keeps its ledger against
// other runs, and goes on to the same data set as one that was never killed.
func TestKilled(t *testing.T) {
	whole := fresh(t)
	must.Get(publish(t, of(whole, 1)))
	pixels, statement := look(t, whole)
	for _, where := range []string{"release", "write"} {
		out := fresh(t)
		killed(t, where, out)
		if _, err := os.Stat(out); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: there is an %s", where, out)
		}
		before := names(t, filepath.Dir(out))
		other := of(out, 1)
		other.Method = average{Steps: 3}.suggested
		for name, p := range map[string]synth.Publication{"another ε": of(out, .1), "another method": other} {
			if _, err := publish(t, p); !errors.Is(err, release.ErrLedger) {
				t.Errorf("%s, %s: %v", where, name, err)
			}
		}
		_, err := of(out, 1).Run(t.Context(), nntest.CPU(t), halves(399), nil)
		if !errors.Is(err, release.ErrLedger) {
			t.Errorf("%s, other images: %v", where, err)
		}
		if after := names(t, filepath.Dir(out)); !slices.Equal(after, before) {
			t.Errorf("%s: refused runs changed %v to %v", where, before, after)
		}
		if _, err := publish(t, of(out, 1)); err != nil {
			t.Fatalf("%s: %v", where, err)
		}
		if p, s := look(t, out); !slices.Equal(p, pixels) || s != statement {
			t.Errorf("%s: killed and resumed, it is another data set", where)
		}
		if left := names(t, filepath.Dir(out)); slices.Contains(left, "out.state") ||
			slices.ContainsFunc(left, func(n string) bool { return strings.HasSuffix(n, ".tmp") }) {
			t.Errorf("%s: left behind: %v", where, left)
		}
	}
}

// The key is in OUT.state, which only its owner can read, also where the folder was open before;
// half a key is not taken for one.
func TestKeyIsKept(t *testing.T) {
	out := fresh(t)
	must.Do(os.Mkdir(out+".state", 0o777))
	killed(t, "unseeded", out)
	key := state(out, "key")
	one, err := os.ReadFile(key)
	if err != nil || len(one) != 32 || stat(key) != 0o600 || stat(filepath.Dir(key)) != 0o700 {
		t.Fatalf("%d bytes, modes %v and %v, %v", len(one), stat(key), stat(filepath.Dir(key)), err)
	}
	if _, err := publish(t, of(out, 1)); !errors.Is(err, release.ErrLedger) {
		t.Errorf("a seed in the place of the key: %v", err)
	}
	p := unseeded(out)
	must.Do(os.WriteFile(key, one[:9], 0o600))
	if _, err := publish(t, p); err == nil || !strings.Contains(err.Error(), "9 bytes") {
		t.Errorf("half a key: %v", err)
	}
	must.Do(os.WriteFile(key, one, 0o600))
	ledger, err := os.ReadFile(state(out, "ledger"))
	if err != nil || strings.Count(string(ledger), "\nstep ") != 5 {
		t.Errorf("ledger %q, %v", ledger, err)
	}
	if _, err := publish(t, p); err != nil {
		t.Errorf("with its key: %v", err)
	}
}

// A run whose ledger is lost does not go on, and no other begins in its folder; a key by itself,
// with which nothing was released, is not used.
func TestLostLedger(t *testing.T) {
	for _, left := range []string{"checkpoint", "data", "key"} {
		out := fresh(t)
		must.Do(os.Mkdir(out+".state", 0o777))
		killed(t, "unseeded", out)
		key := state(out, "key")
		before, err := os.ReadFile(key)
		must.Do(errors.Join(err, os.Remove(state(out, "ledger")),
			os.RemoveAll(state(out, "checkpoint"))))
		p := unseeded(out)
		if left == "key" {
			p.Count = 0 // refused before the folder is opened
			if _, err := publish(t, p); !errors.Is(err, synth.ErrParameter) {
				t.Error(err)
			}
			p.Count, p.Method = 10, func(p synth.Public) synth.Method {
				return lookAtKey{average{Steps: 8}.suggested(p), func(k release.Key) {
					if bytes.Equal(k[:], before) {
						t.Error("a key whose ledger is gone is used again")
					}
				}}
			}
			if _, err := publish(t, p); err != nil {
				t.Error(err)
			}
			continue
		}
		must.Do(os.Mkdir(state(out, left), 0o777))
		if _, err := publish(t, p); !errors.Is(err, release.ErrLedger) {
			t.Errorf("%s without a ledger: %v", left, err)
		}
		if after, err := os.ReadFile(key); err != nil || !bytes.Equal(after, before) {
			t.Errorf("the key was touched: %v", err)
		}
	}
}

// lookAtKey shows the key of a training.
type lookAtKey struct {
	synth.Method
	look func(release.Key)
}

func (m lookAtKey) WithNoise(sigma float64) synth.Method {
	return lookAtKey{m.Method.WithNoise(sigma), m.look}
}

func (m lookAtKey) Train(ctx context.Context, dev *device.Device, images *data.Images,
	r synth.Run) (synth.Sampler, error) {
	m.look(r.Key)
	return m.Method.Train(ctx, dev, images, r)
}

// While a process is stopped in the middle of writing, no other one publishes in its place, at its
// ε or another; when it goes on, its statement stands over its own images.
func TestStopped(t *testing.T) {
	out := fresh(t)
	cmd := child("stop write", out)
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(cmd.Process.Pid, &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
		t.Fatalf("the child is not stopped: %v, %v", status, err)
	}
	for _, eps := range []float64{10, 1} {
		if _, err := publish(t, of(out, eps)); !errors.Is(err, release.ErrBusy) {
			t.Errorf("ε = %g beside a stopped process: %v", eps, err)
		}
	}
	must.Do(errors.Join(cmd.Process.Signal(syscall.SIGCONT), cmd.Wait()))
	alone := fresh(t)
	must.Get(publish(t, of(alone, 1)))
	a, sa := look(t, out)
	b, sb := look(t, alone)
	if !slices.Equal(a, b) || sa != sb {
		t.Error("a statement over images of another run")
	}
	if b, err := os.ReadFile(filepath.Join(out, "grid.png")); err != nil || string(b) != "half a picture" {
		t.Errorf("picture %q, %v", b, err)
	}
	if _, err := publish(t, of(out, 10)); !errors.Is(err, synth.ErrOccupied) {
		t.Errorf("another run in the folder of a data set: %v", err)
	}
}

// A run that was killed between its last three steps, writing the file published, renaming and
// removing its files, leaves no key and no half of a data set behind once the folder is asked for
// again.
func TestKilledAtTheEnd(t *testing.T) {
	out := fresh(t)
	killed(t, "write", out)
	put(state(out, "published"), "") // and not yet renamed
	if _, err := publish(t, of(out, .1)); !errors.Is(err, release.ErrLedger) {
		t.Errorf("another ε: %v", err)
	}
	must.Get(publish(t, of(out, 1)))
	a, _ := look(t, out)
	// renamed, and not yet removed
	for _, file := range []string{"key", "ledger", "checkpoint", "published", "coupling-private.lock"} {
		put(state(out, file), "x")
	}
	if _, err := publish(t, of(out, .1)); !errors.Is(err, synth.ErrOccupied) {
		t.Errorf("over a data set: %v", err)
	}
	if b, _ := look(t, out); !slices.Equal(a, b) {
		t.Error("the data set was changed")
	}
	if _, err := os.Stat(out + ".state"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the key is still there: %v", err)
	}
}

// A folder OUT.state with the file published, from which the unfinished data set was taken to be
// written again, has published nothing as long as there is no data set in Out: its ledger is kept.
// And the file is gone before the data set is.
func TestKilledAfterTheMarker(t *testing.T) {
	out := fresh(t)
	killed(t, "write", out)
	marker := state(out, "published")
	put(marker, "")
	killed(t, "write", out) // resumed, and killed again while it wrote
	if _, err := os.Stat(marker); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("while the data set is written again it counts as published: %v", err)
	}
	put(marker, "")
	must.Do(os.RemoveAll(state(out, "data")))
	before := names(t, filepath.Dir(out))
	if _, err := publish(t, of(out, .1)); !errors.Is(err, release.ErrLedger) {
		t.Errorf("another ε: %v", err)
	}
	if after := names(t, filepath.Dir(out)); !slices.Equal(after, before) {
		t.Errorf("before %v, after %v", before, after)
	}
	if _, err := publish(t, of(out, 1)); err != nil {
		t.Error(err)
	}
}
