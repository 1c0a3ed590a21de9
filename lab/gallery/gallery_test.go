package gallery

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"coupling/lab"
	"coupling/lab/must"
	"coupling/lab/store"

	"github.com/google/go-cmp/cmp"
)

type drawing string

func (d drawing) Save(w io.Writer, format string) error {
	_, err := fmt.Fprintf(w, "%s as %s", d, format)
	return err
}

type square struct {
	X     float64 `json:"x"`
	Judge struct {
		Inception string `json:"inception,omitempty"`
	} `json:"judge,omitzero"`
}

var squares = lab.Experiment[square, square]{Name: "test/square", Version: 2,
	Run: func(_ context.Context, _ *lab.Cell, p square) (square, error) {
		return square{X: p.X * p.X}, nil
	}}

// figure draws one picture, one table, and claims that 3² is 9, and 8.
func figure() lab.Figure {
	return lab.Figure{
		Name:        "tour/square",
		Title:       "A <square>",
		Shows:       "What a square is.",
		Constructor: "coupling/figures/tour.Square",
		Sizes:       map[lab.Preset]string{lab.Smoke: "x = 3"},
		Decoders:    []*store.Decoder{squares.Decoder()},
		Jobs:        func(set lab.Setting) []store.Job { return squares.Jobs(set.Seed, square{X: 3}) },
		Draw: func(s *store.Store, set lab.Setting) (lab.Exhibit, error) {
			r, err := lab.Recall(s, squares, set.Seed, square{X: 3})
			return lab.Exhibit{
				Pictures: []lab.Picture{{Name: "a", Caption: "The square", Drawing: drawing(fmt.Sprint(r.Value.X))}},
				Tables: []lab.Table{{Caption: "Values", Header: []string{"x", "x²"},
					Rows: [][]string{{"3", fmt.Sprint(r.Value.X)}}}},
				Notes: []string{"A note."},
			}, err
		},
		Claims: func(s *store.Store, set lab.Setting) ([]lab.Claim, error) {
			r, err := lab.Recall(s, squares, set.Seed, square{X: 3})
			return []lab.Claim{
				{What: "3²", Source: "arithmetic", Got: r.Value.X, Want: 9, Why: "exact"},
				{What: "3² again", Source: "a misprint", Got: r.Value.X, Want: 8},
				{
					What:       "3² at infinity",
					Source:     "a limit",
					Got:        r.Value.X,
					Want:       math.Inf(1),
					SkipReason: "x is too small",
				},
			}, err
		},
	}
}

func TestPageAndIndex(t *testing.T) {
	s := must.Get(lab.OpenStore(t.TempDir()))
	dir, set := t.TempDir(), lab.Setting{Preset: lab.Smoke, Seed: 7}
	formats := []string{"png", "svg"}
	if _, err := Write(s, figure(), set, dir, formats); !errors.Is(err, store.ErrMissing) {
		t.Fatalf("drew from nothing: %v", err)
	}
	must.Get(lab.Do(t.Context(), s, squares, 7, square{X: 3}))
	page := must.Get(Write(s, figure(), set, dir, formats))
	var verdicts []lab.Verdict
	for _, c := range page.Claims {
		verdicts = append(verdicts, c.Verdict)
	}
	if d := cmp.Diff([]lab.Verdict{lab.Holds, lab.Differs, lab.Skipped}, verdicts); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"test/square@2"}, page.Cells.Versions); d != "" || page.Cells.Count != 1 {
		t.Errorf("%d cells\n%s", page.Cells.Count, d)
	}
	for file, want := range map[string]string{"tour/square-a.png": "9 as png", "tour/square-a.svg": "9 as svg",
		"tour/square.csv": "x,x²\n3,9\n"} {
		if b, err := os.ReadFile(filepath.Join(dir, file)); err != nil || string(b) != want {
			t.Errorf("%s: %q %v", file, b, err)
		}
	}
	must.Do(os.Mkdir(filepath.Join(dir, "tour", ".new-other.json"), 0o755)) // of another process
	bad := figure()
	bad.Name = "tour/bad" // leaves no page
	bad.Claims = func(*store.Store, lab.Setting) ([]lab.Claim, error) { panic("lost") }
	if _, err := Write(s, bad, set, dir, formats); err == nil || !strings.Contains(err.Error(), "gallery_test.go") ||
		!strings.HasPrefix(err.Error(), "tour/bad: panic: lost") {
		t.Errorf("error %v", err)
	}
	back, err := ReadPages(dir)
	if err != nil || len(back) != 1 {
		t.Fatalf("%d pages read back, %v", len(back), err)
	}
	if d := cmp.Diff(page, back[0]); d != "" {
		t.Errorf("page.json:\n%s", d)
	}
	failed := Describe(figure(), set)
	failed.Name, failed.Error = "else/where", "it <broke>"
	own := figure()
	own.Constructor = "mine/bias.Study" // of another module, whose program this then is
	if got := Describe(own, set).Command; got != "go run ./lab/gallery.test -preset smoke -seed 7" {
		t.Errorf("a figure of a program is made by %q", got)
	}
	// Other code computed distances, in the features of weights that a user brought.
	distance, e, cell := figure(), squares, square{X: 3}
	cell.Judge.Inception = "Inception-1a2b"
	must.Get(lab.Do(t.Context(), s, e, 7, cell))
	e.Inputs = "another file"
	distance.Jobs = func(set lab.Setting) []store.Job { return e.Jobs(set.Seed, cell) }
	other := must.Get(Write(s, distance, set, dir, formats))
	if weights := " --inception FILE"; page.Cells.Other != 0 || other.Cells.Other != 1 ||
		other.Command != page.Command+weights || strings.Contains(page.Command, weights) {
		t.Errorf("%d cells of other code made by %q, %d of this by %q", other.Cells.Other, other.Command,
			page.Cells.Other, page.Command)
	}
	must.Get(WriteIndex(dir, []Chapter{{"tour", "Tour", []Page{page, other}},
		{"other", "Other figures", []Page{failed}}}))
	html := string(must.Get(os.ReadFile(filepath.Join(dir, "index.html"))))
	if n := strings.Count(html, "computed by other code"); n != 1 {
		t.Errorf("index.html names other code %d times", n)
	}
	for _, want := range []string{`src="tour/square-a.png"`, `href="tour/square-a.svg"`, "A &lt;square&gt;",
		"it &lt;broke&gt;", "a misprint", `<td class="differs"`, `<td class="not-asked"`, "x is too small",
		"coupling fig tour/square --preset smoke --seed 7", "test/square@2", "Other figures"} {
		if !strings.Contains(html, want) {
			t.Errorf("index.html lacks %q", want)
		}
	}
	for _, not := range []string{"<script", "http"} {
		if strings.Contains(html, not) {
			t.Errorf("index.html has %q", not)
		}
	}
}
