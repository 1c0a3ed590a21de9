package figures

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"coupling/figures/admm"
	"coupling/figures/figtest"
	"coupling/figures/tour"
	"coupling/lab"
)

// The figures of the packages that have no other tests: a program of tests less for each.
func TestSmoke(t *testing.T) {
	figtest.Smoke(t, append(admm.Figures(), lab.FigureOf(tour.Digits)))
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
				line, err := lab.EncodeJob(j)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := lab.DecodeJob(line, decoders); err != nil || !known[j.Record().Experiment] {
					t.Errorf("%s at %s: a job does not travel: %v", f.Name, p, err)
				}
			}
		}
	}
}

// coupling experiments NAME says of each parameter what it means, and of each number which values make sense.
func TestEveryParameterIsDescribed(t *testing.T) {
	for _, d := range Decoders() {
		for _, p := range lab.Params(d.Params) {
			number := regexp.MustCompile(`^(\[\d*\])?(int|float64)$`).MatchString(p.Type)
			if p.Doc == "" || number && p.Range() == "" {
				t.Errorf("%s: parameter %s (%s): meaning %q, range %q", d.Experiment, p.Name, p.Type, p.Doc, p.Range())
			}
		}
	}
}

// The gallery in README.md shows every figure, in the order of the list, and is no larger than a code host likes.
func TestGalleryIsInStep(t *testing.T) {
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, m := range regexp.MustCompile("(?m)^### `([^`]+)`").FindAllStringSubmatch(string(text), -1) {
		names = append(names, m[1])
	}
	if want := namesOf(All()); !slices.Equal(names, want) {
		t.Errorf("README.md shows %q, the list is %q: coupling fig all --readme figures", names, want)
	}
	files, err := os.ReadDir("thumbs")
	if err != nil {
		t.Fatal(err)
	}
	size := int64(0)
	for _, f := range files {
		info, err := f.Info()
		if err != nil {
			t.Fatal(err)
		}
		if size += info.Size(); info.Size() > 60_000 {
			t.Errorf("%s has %d bytes", f.Name(), info.Size())
		}
	}
	if size > 5_000_000 {
		t.Errorf("the thumbnails have %d bytes", size)
	}
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
