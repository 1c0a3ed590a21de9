package figures

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"coupling/figures/admm"
	"coupling/figures/figtest"
	"coupling/lab"
	"coupling/lab/gallery"
	"coupling/lab/must"
	"coupling/lab/store"
)

// The figures of the packages that have no other tests: a program of tests less for each.
func TestSmoke(t *testing.T) {
	figtest.Smoke(t, append(Of("tour"), admm.Figures()...))
}

func TestEveryFigureIsWellFormed(t *testing.T) {
	var papers []string
	for _, p := range Papers() {
		papers = append(papers, p.Name)
	}
	known, decoders := map[string]bool{}, Decoders()
	for _, d := range decoders {
		known[d.Experiment] = true
	}
	seen := map[string]bool{}
	for _, f := range All() {
		if !slices.Contains(papers, f.Paper()) || seen[f.Name] {
			t.Errorf("%s: unknown paper, or the name is taken", f.Name)
		}
		seen[f.Name] = true
		if f.Title == "" || f.Shows == "" || f.Jobs == nil || f.Draw == nil || f.Claims == nil {
			t.Errorf("%s is incomplete", f.Name)
		}
		for _, p := range lab.Presets {
			if f.Sizes[p] == "" {
				t.Errorf("%s does not say what preset %s computes", f.Name, p)
				continue
			}
			jobs := f.Jobs(lab.Setting{Preset: p, Seed: 1, Device: "cpu"})
			if len(jobs) == 0 {
				t.Errorf("%s at %s: no jobs", f.Name, p)
			}
			for i, j := range jobs {
				if testing.Short() && i > 0 && i < len(jobs)-1 {
					continue // they differ in numbers
				}
				line := must.Get(store.EncodeJob(j))
				if _, err := store.DecodeJob(line, decoders); err != nil || !known[j.Record().Experiment] {
					t.Errorf("%s at %s: a job does not travel: %v", f.Name, p, err)
				}
			}
		}
	}
}

// coupling experiments NAME says of each parameter what it means, and of each number which values
// make sense.
func TestEveryParameterIsDescribed(t *testing.T) {
	for _, d := range Decoders() {
		for _, p := range store.Params(d.Params) {
			number := regexp.MustCompile(`^(\[\d*\])?(int|float64)$`).MatchString(p.Type)
			if p.Doc == "" || number && p.Range() == "" {
				t.Errorf("%s: parameter %s (%s): meaning %q, range %q", d.Experiment, p.Name, p.Type, p.Doc, p.Range())
			}
		}
	}
}

// stale are entries of README.md that were drawn before their study changed, and which take long:
// drawing one again removes it here.
var stale = map[string]string{}

// The gallery in README.md shows every figure as it is, in the order of the list: its title, its
// message, the size of the preset that is shown, and the source of its study. It is no larger than
// a code host likes.
func TestGalleryIsInStep(t *testing.T) {
	text := must.Get(os.ReadFile("README.md"))
	entries := strings.Split(string(text), "\n### `")[1:]
	for i, f := range All() {
		preset := "full"
		if i < len(entries) {
			if _, rest, found := strings.Cut(entries[i], "bin/coupling fig "+f.Name+" --preset "); found {
				preset, _, _ = strings.Cut(rest, " ")
			}
		}
		fix := "coupling fig " + f.Name + " --preset " + preset + " --readme figures"
		if i >= len(entries) || !strings.HasPrefix(entries[i], f.Name+"`") {
			t.Fatalf("README.md does not show %s in its place: %s", f.Name, fix)
		}
		if _, known := stale[f.Name]; shows(entries[i], f) == known {
			t.Errorf("entry of %s in README.md: stale: %v, listed as stale: %v; fix: %s", f.Name, !known, known, fix)
		}
	}
	if n := len(All()); len(entries) != n {
		t.Errorf("README.md shows %d figures of %d", len(entries), n)
	}
	files := must.Get(os.ReadDir("thumbs"))
	size := int64(0)
	for _, f := range files {
		info := must.Get(f.Info())
		if size += info.Size(); info.Size() > 60_000 {
			t.Errorf("%s has %d bytes", f.Name(), info.Size())
		}
	}
	if size > 5_000_000 {
		t.Errorf("the thumbnails have %d bytes", size)
	}
}

// shows reports whether an entry of README.md is of a figure as it is.
func shows(entry string, f lab.Figure) bool {
	digest := must.Get(sourceDigest(filepath.FromSlash(f.File)))
	for _, p := range lab.Presets {
		_, rest, found := strings.Cut(entry, fmt.Sprintf("\n%s: %s", p, gallery.Plain(f.Sizes[p])))
		if found && strings.ContainsAny(rest[:1], ".;") && strings.Contains(entry, "**"+gallery.Plain(f.Title)+".**") {
			return strings.Contains(entry, "<!-- source "+digest+" -->")
		}
	}
	return false
}

func TestSelect(t *testing.T) {
	for _, names := range [][]string{{"tour/digits"}, {"tour"}, {"tour/*", "tour"}, {"*/digits"}} {
		figs, err := Select(names...)
		if err != nil || len(figs) == 0 || figs[0].Name != "tour/digits" {
			t.Errorf("%q: %d figures, %v", names, len(figs), err)
		}
		count := map[string]int{}
		for _, f := range figs {
			if count[f.Name]++; count[f.Name] > 1 {
				t.Errorf("%q gives %s twice", names, f.Name)
			}
		}
	}
	for _, name := range []string{"tour/nothing", "[", ""} {
		if _, err := Select(name); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%q: %v", name, err)
		}
	}
}
