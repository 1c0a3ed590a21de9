package nb

import (
	"context"
	"errors"
	"fmt"
	"image"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"coupling/lab"
	_ "coupling/lab/draws"
	"coupling/lab/must"
	"coupling/lab/store"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/plot"
	"pgregory.net/rapid"
)

// One store for all tests, as a cell has.
func TestMain(m *testing.M) {
	dir := must.Get(os.MkdirTemp("", "nb"))
	os.Setenv("COUPLING_STORE", dir)
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// page is a notebook's page in a test.
type page struct {
	mu      sync.Mutex
	puts    []view
	ids     []string
	scripts []string
	heard   chan string // nil: no browser
}

func (p *page) put(id string, v view) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.puts, p.ids = append(p.puts, v), append(p.ids, id)
}

func (p *page) script(js string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.scripts = append(p.scripts, js)
}

func (p *page) connect(context.Context, string) (<-chan string, bool) {
	return p.heard, p.heard != nil
}
func (*page) sync() {}

// sees waits until a script has text in it.
func (p *page) sees(t *testing.T, text string) {
	t.Helper()
	for end := time.Now().Add(5 * time.Minute); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		p.mu.Lock()
		found := slices.ContainsFunc(p.scripts, func(s string) bool { return strings.Contains(s, text) })
		p.mu.Unlock()
		if found {
			return
		}
	}
	t.Fatalf("the page never shows %q", text)
}

func open(t *testing.T, heard chan string) *page {
	p, old := &page{heard: heard}, screen
	screen = p
	t.Cleanup(func() { screen = old })
	return p
}

type spot struct{ A, B float64 }

// spots is a Live over two numbers.
func spots(draw func(context.Context, spot) (any, error)) Live[spot] {
	l := Live[spot]{Draw: draw, Controls: []Control[spot]{
		Range("a", Steps(0, 4, 5), func(p *spot, v float64) { p.A = v }),
		Choice("b", []float64{10, 20}, func(p *spot, v float64) { p.B = v }),
	}}
	l.Controls[0].start = 0
	return l
}

func TestLiveFollowsAndRemembers(t *testing.T) {
	heard := make(chan string, 10)
	p := open(t, heard)
	var mu sync.Mutex
	count := map[spot]int{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		spots(func(_ context.Context, at spot) (any, error) {
			mu.Lock()
			defer mu.Unlock()
			count[at]++
			return fmt.Sprintf("at %g %g", at.A, at.B), nil
		}).Run()
	}()
	heard <- "hello"
	heard <- "1:0:3"
	p.sees(t, "at 3 10")
	heard <- "2:1:1"
	p.sees(t, "at 3 20")
	heard <- "1:1:0" // overtaken: obsolete
	heard <- "3:0:0"
	p.sees(t, "at 0 20")
	heard <- "4:0:3"
	heard <- "nonsense:0:0"
	heard <- "9:7:0"
	heard <- "9:0:99"
	heard <- "5:stop:stopped"
	select {
	case <-done:
	case <-time.After(5 * time.Minute):
		t.Fatal("Stop does not stop")
	}
	mu.Lock()
	defer mu.Unlock()
	for at, n := range count {
		if n != 1 {
			t.Errorf("%v was drawn %d times", at, n)
		}
	}
	last := p.puts[len(p.puts)-1]
	if !strings.Contains(last.text, "at 3 20") || !strings.Contains(p.puts[len(p.puts)-2].html,
		"a = 3, b = 20 (stopped)") {
		t.Errorf("left: %q after %q", last.text, p.puts[len(p.puts)-2].html)
	}
}

// A picture that takes long is given up when the reader moves on, and Stop does not wait for it.
func TestLiveGivesUp(t *testing.T) {
	heard := make(chan string, 10)
	p := open(t, heard)
	gaveUp := make(chan bool, 2)
	done := make(chan struct{})
	go func() {
		defer close(done)
		spots(func(ctx context.Context, at spot) (any, error) {
			if at.A == 1 || at.A == 4 {
				<-ctx.Done()
				gaveUp <- true
				return nil, ctx.Err()
			}
			return fmt.Sprintf("at %g", at.A), nil
		}).Run()
	}()
	heard <- "1:0:1"
	p.sees(t, "drawing…")
	heard <- "2:0:2"
	p.sees(t, "at 2")
	heard <- "3:0:4"
	time.Sleep(20 * time.Millisecond)
	heard <- "4:stop:stopped"
	<-done
	<-gaveUp
	<-gaveUp
}

func TestLiveEnds(t *testing.T) {
	t.Run("idle", func(t *testing.T) {
		before := idle
		t.Cleanup(func() { idle = before })
		idle = 30 * time.Millisecond
		p := open(t, make(chan string))
		spots(func(_ context.Context, at spot) (any, error) { return at, nil }).Run()
		if got := p.puts[len(p.puts)-2].html; !strings.Contains(got, "30ms without a move") {
			t.Error(got)
		}
	})
	t.Run("interrupt", func(t *testing.T) {
		open(t, make(chan string))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		l := spots(func(context.Context, spot) (any, error) { return 1, nil })
		s := &session[spot]{live: l, at: []int{0, 0}, seqs: []int{0, 0}, cache: map[string]view{}}
		if why := s.listen(ctx, make(chan string), view{}); why != "interrupted" {
			t.Error(why)
		}
	})
	t.Run("error", func(t *testing.T) {
		heard := make(chan string, 3)
		p := open(t, heard)
		done := make(chan struct{})
		go func() {
			defer close(done)
			spots(func(_ context.Context, at spot) (any, error) {
				if at.A == 2 {
					lab.Check(errors.New("no <such> place")) // as an experiment ends, on the goroutine that draws
				}
				return at.A, nil
			}).Run()
		}()
		heard <- "1:0:2"
		p.sees(t, `no \u0026lt;such\u0026gt; place`)
		heard <- "2:0:0"
		heard <- "3:stop:stopped"
		<-done
	})
}

func TestLiveRefuses(t *testing.T) {
	draw := func(context.Context, spot) (any, error) { return 1, nil }
	for want, l := range map[string]Live[spot]{
		"Draw":         {Controls: spots(nil).Controls},
		"Controls":     {Draw: draw},
		"no positions": {Draw: draw, Controls: []Control[spot]{Range("x", nil, func(*spot, float64) {})}},
	} {
		if err := l.check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: want %q", err, want)
		}
	}
}

func TestWithoutABrowserThereIsAFilm(t *testing.T) {
	p := open(t, nil)
	drawn := 0
	Slider("ε", LogSteps(1e-3, 1, 31), func(v float64) any { drawn++; return fmt.Sprintf("frame %.3g", v) })
	if drawn != 5 || len(p.puts) != 1 {
		t.Fatalf("%d frames, %d outputs", drawn, len(p.puts))
	}
	for _, want := range []string{"frame 0.001", "frame 1<", `type="range"`, `max="4"`} {
		if !strings.Contains(p.puts[0].html, want) {
			t.Errorf("no %q", want)
		}
	}
	Live[spot]{Draw: func(_ context.Context, at spot) (any, error) { return at.B, nil },
		Controls: spots(nil).Controls[1:]}.Run()
	if !strings.Contains(p.puts[1].html, `max="1"`) {
		t.Error(p.puts[1].html)
	}
	Film("n", []int{1, 2, 3}, func(n int) any { return n * n })
	if !strings.Contains(p.puts[3].html, "<pre>9</pre>") { // after the place of its button
		t.Error(p.puts[3].html)
	}
}

func TestFilmStops(t *testing.T) {
	heard := make(chan string, 1)
	p := open(t, heard)
	Film("n", make([]int, 10_000), func(int) any {
		select {
		case heard <- "stop":
		default:
		}
		time.Sleep(time.Millisecond)
		return "frame"
	})
	at := slices.IndexFunc(p.puts, func(v view) bool { return strings.Contains(v.html, "nb-film") })
	if at < 0 {
		t.Fatal("after Stop there is no film")
	}
	if n := strings.Count(p.puts[at].html, "<pre>frame</pre>"); n < 1 || n > 9000 {
		t.Errorf("%d of 10,000 frames after Stop at the first", n)
	}
	if last := len(p.puts) - 1; p.puts[last].html != "" {
		t.Errorf("the button stays: %q", p.puts[last].html)
	}
}

type printed struct{ format string }

func (d *printed) Save(w io.Writer, format string) error {
	d.format = format
	_, err := w.Write(dot())
	return err
}

func dot() []byte {
	v, _ := viewOf(image.NewRGBA(image.Rect(0, 0, 200, 100)))
	return v.png
}

func TestShow(t *testing.T) {
	p := open(t, nil)
	d := &printed{}
	g := plot.New()
	g.Title.Text = "x"
	Show(d, g, image.NewGray(image.Rect(0, 0, 3, 3)), mat.NewDense(9, 2, nil),
		lab.Table{Header: []string{"a<b"}, Rows: make([][]string, 30)}, HTML("<i>"), 7, "a < b",
		[]lab.Claim{{What: "one", Got: 1, Want: 1}},
		lab.Exhibit{Pictures: []lab.Picture{{Drawing: d, Caption: "c"}}, Tables: []lab.Table{{Caption: "t"}},
			Notes: []string{"n"}})
	if len(p.puts) != 13 {
		t.Fatalf("%d outputs", len(p.puts))
	}
	if d.format != "png" || p.puts[0].width != 120 || p.puts[2].width != 3 || p.puts[1].png == nil {
		t.Errorf("pictures: %q %d", d.format, p.puts[0].width)
	}
	for i, want := range map[int]string{3: "Dims(9, 2)", 4: "a&lt;b", 5: "<i>", 6: "7", 7: "a &lt; b", 8: "holds",
		10: ">c<", 12: ">n<"} {
		if !strings.Contains(p.puts[i].html, want) {
			t.Errorf("output %d: %q has no %q", i, p.puts[i].html, want)
		}
	}
	if !strings.Contains(p.puts[4].html, "… 6 more") {
		t.Error("a long table is not cut")
	}
	for _, bad := range []any{nil, errors.New("e"), failing{}} {
		if _, err := viewOf(bad); err == nil {
			t.Errorf("%v is shown", bad)
		}
	}
}

type failing struct{}

func (failing) Save(io.Writer, string) error { return errors.New("cannot") }

func TestProgress(t *testing.T) {
	p := open(t, nil)
	b := &bar{id: "b", total: 4, meter: store.NewMeter("w <", 4)}
	b.event(store.Event{Kind: store.Started, Key: "k"})
	b.quiet = time.Time{}
	b.event(store.Event{Kind: store.Stored, Key: "j"})
	b.quiet = time.Time{}
	b.event(store.Event{Kind: store.Advanced, Key: "k", Done: 1, Total: 2})
	b.event(store.Event{Kind: store.Failed, Key: "k"}) // too soon to be shown
	b.remove()
	if len(p.puts) != 4 {
		t.Fatalf("%d outputs", len(p.puts))
	}
	if got := p.puts[2].html; !strings.Contains(got, `value="1.50"`) ||
		!strings.Contains(got, "w &lt;: 1 of 4 cells, about 0s left") {
		t.Error(got)
	}
	if p.puts[3].html != "" {
		t.Error("the bar stays")
	}
	b.event(store.Event{Kind: store.Stored})
	if len(p.puts) != 4 {
		t.Error("the bar comes back")
	}
	ctx, done := Progress(t.Context(), "x", 1)
	done()
	if ctx == nil {
		t.Error("no context")
	}
}

func TestSetting(t *testing.T) {
	t.Setenv("COUPLING_PRESET", "")
	t.Setenv("COUPLING_DEVICE", "")
	if s, err := setting(); err != nil || s != (lab.Setting{Preset: lab.Quick, Seed: 1, Device: "cpu"}) {
		t.Error(s, err)
	}
	t.Setenv("COUPLING_PRESET", "smoke")
	t.Setenv("COUPLING_DEVICE", "cuda:1,tf32")
	if s, err := setting(); err != nil || s != (lab.Setting{Preset: lab.Smoke, Seed: 1, Device: "cuda,tf32"}) {
		t.Error(s, err)
	}
	t.Setenv("COUPLING_PRESET", "tiny")
	if _, err := setting(); err == nil || !strings.Contains(err.Error(), "tiny") {
		t.Error(err)
	}
}

func TestSteps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lo := rapid.Float64Range(1e-6, 1).Draw(t, "lo")
		hi := lo * rapid.Float64Range(2, 1e6).Draw(t, "factor")
		n := rapid.IntRange(2, 40).Draw(t, "n")
		for _, steps := range [][]float64{Steps(lo, hi, n), LogSteps(lo, hi, n)} {
			if len(steps) != n || !slices.IsSorted(steps) {
				t.Fatalf("%v", steps)
			}
			// three digits are half a percent
			if d := steps[0]/lo - 1; d > .006 || d < -.006 {
				t.Fatalf("begins at %g", steps[0])
			}
			if d := steps[n-1]/hi - 1; d > .006 || d < -.006 {
				t.Fatalf("ends at %g", steps[n-1])
			}
		}
	})
	if got := Steps(3, 5, 1); !slices.Equal(got, []float64{3}) {
		t.Error(got)
	}
}

var squares = lab.Experiment[spot, float64]{Name: "test/squares", Version: 1,
	Run: func(ctx context.Context, _ *lab.Cell, p spot) (float64, error) {
		return p.A * p.A, ctx.Err()
	}}

func TestSweepStops(t *testing.T) {
	heard, stopped := make(chan string), make(chan struct{})
	open(t, heard)
	ps := lab.Grid(spot{}, lab.Vary(func(p *spot, v float64) { p.A = v }, Steps(0, 99, 100)...))
	slow := squares
	slow.Run = func(ctx context.Context, c *lab.Cell, p spot) (float64, error) {
		if p.A >= 30 { // on a busy machine too the sweep does not end before it is stopped
			<-stopped
			time.Sleep(100 * time.Millisecond)
		}
		return squares.Run(ctx, c, p)
	}
	landed, seed := 0, uint64(time.Now().UnixNano()) // not what an earlier run has stored
	for r, err := range Sweep(slow, seed, ps) {
		if err != nil || r.Value != r.Params.A*r.Params.A {
			t.Fatal(r, err)
		}
		if landed++; landed == 10 {
			heard <- "stop"
			close(stopped)
		}
	}
	if landed < 10 || landed > 60 {
		t.Errorf("%d cells landed after Stop at 10", landed)
	}
	again := 0
	for r, err := range Sweep(squares, seed, ps) {
		if err != nil {
			t.Fatal(err)
		}
		if r.Recalled {
			again++
		}
	}
	if again < landed {
		t.Errorf("%d recalled of %d that had landed", again, landed)
	}
	p := open(t, nil)
	Explore(squares, 1, spot{}, func(r lab.Result[spot, float64]) (any, error) { return r.Value, nil },
		Range("a", Steps(0, 4, 5), func(p *spot, v float64) { p.A = v }))
	if !strings.Contains(p.puts[0].html, "<pre>16</pre>") {
		t.Errorf("%v", p.puts)
	}
}

func TestMake(t *testing.T) {
	p := open(t, nil)
	t.Setenv("COUPLING_PRESET", "smoke")
	fig := lab.Figure{
		Name:  "test/fig",
		Title: "T",
		Sizes: map[lab.Preset]string{lab.Smoke: "3 cells"},
		Jobs:  func(set lab.Setting) []store.Job { return squares.Jobs(set.Seed, spot{A: 1}, spot{A: 2}) },
		Draw: func(s *store.Store, set lab.Setting) (lab.Exhibit, error) {
			r, err := lab.Recall(s, squares, set.Seed, spot{A: 2})
			return lab.Exhibit{Tables: []lab.Table{{Name: "one", Header: []string{fmt.Sprint(r.Value)}},
				{Name: "two"}}}, err
		},
		Claims: func(*store.Store, lab.Setting) ([]lab.Claim, error) {
			return []lab.Claim{{Got: 1, Want: 1}, {What: "a < b", Got: 1, Want: 2},
				{Got: 1, Want: 2, SkipReason: "small"}}, nil
		},
	}
	Make(fig, "one")
	shown := slices.DeleteFunc(slices.Clone(p.puts), func(v view) bool { return v.html == "" }) // the bar's place
	if len(shown) != 3 || !strings.Contains(shown[1].html, "<th>4</th>") ||
		!strings.Contains(shown[2].html, "1 of 2 claims hold, 1 differ; 1 not asked at this size: a &lt; b<") {
		t.Errorf("%d outputs: %+v", len(shown), shown)
	}
	if err := compute(t.Context(), Store(), fig, lab.Setting{Preset: lab.Paper}); err == nil {
		t.Error("a preset that is not offered is computed")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := compute(ctx, Store(), fig, lab.Setting{Preset: lab.Smoke}); err == nil ||
		!strings.Contains(err.Error(), "interrupted") {
		t.Error(err)
	}
}

type smiley struct{}

func (smiley) Picture() image.Image { return image.NewGray(image.Rect(0, 0, 3, 2)) }
func (smiley) String() string       { return "a smile" }

// What has a picture shows it with its text, and a sweep what differs in it.
func TestShowPicturesAndSweeps(t *testing.T) {
	p := open(t, nil)
	Show(smiley{})
	if len(p.puts) != 2 || p.puts[0].width != 3 || !strings.Contains(p.puts[1].html, "a smile") {
		t.Fatalf("%+v", p.puts)
	}
	p.puts = nil
	type params struct {
		N     int     `json:"n"`
		Eps   float64 `json:"eps"`
		Fixed string  `json:"fixed"`
	}
	var sweep []lab.Result[params, float64]
	for seed := range uint64(2) {
		for _, n := range []int{10, 20} {
			for _, eps := range []float64{.01, .1, 1} {
				sweep = append(sweep, lab.Result[params, float64]{Seed: seed, Params: params{n, eps, "x"},
					Value: eps * float64(seed)})
			}
		}
	}
	Show(sweep)
	if len(p.puts) != 1 || strings.Contains(p.puts[0].html, "fixed") ||
		!strings.Contains(p.puts[0].html, "<th>seed</th><th>eps</th><th>n</th><th>value</th>") {
		t.Errorf("%d views: %s", len(p.puts), p.puts[0].html)
	}
	p.puts = nil
	Show([]lab.Result[params, float64]{})
	if len(p.puts) != 1 {
		t.Errorf("an empty sweep: %+v", p.puts)
	}
}
