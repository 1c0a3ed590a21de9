package lab

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"coupling/lab/store"
)

// A Preset is the size at which a figure is made.
type Preset string

// The presets.
const (
	Smoke Preset = "smoke" // a minute for all figures: shows that the code runs
	Quick Preset = "quick" // a minute a figure: shows each paper's message
	Full  Preset = "full"  // an hour or two on two cores for all figures
	Paper Preset = "paper" // the paper's sizes
)

// Presets lists them, the smallest first.
var Presets = []Preset{Smoke, Quick, Full, Paper}

// ParsePreset returns the preset called name.
func ParsePreset(name string) (Preset, error) {
	if p := Preset(name); slices.Contains(Presets, p) {
		return p, nil
	}
	return "", fmt.Errorf("lab: preset %q: want smoke, quick, full or paper", name)
}

// Pick returns the value that belongs to preset p.
func Pick[T any](p Preset, smoke, quick, full, paper T) T {
	switch p {
	case Smoke:
		return smoke
	case Full:
		return full
	case Paper:
		return paper
	}
	return quick
}

// A Setting is the preset, the seed and the device of a figure.
type Setting struct {
	Preset Preset
	Seed   uint64
	Device string // the kind, "cpu" or "cuda"; figures put its kind into their parameters where it matters
}

// A Figure is a [Study] whose types are erased: cells to compute, a drawing made
// from them, and claims checked against them.
type Figure struct {
	// Name, Title, Shows, Sizes and Seconds are as in [Study].
	Name, Title, Shows string
	Sizes              map[Preset]string
	Seconds            map[Preset]float64
	// Decoders are the experiments behind the figure.
	Decoders []*store.Decoder
	// Jobs lists the cells. It panics if their keys cannot be formed; see [Experiment.Jobs].
	Jobs func(Setting) []store.Job
	// Draw makes the figure from finished cells.
	Draw func(*store.Store, Setting) (Exhibit, error)
	// Claims compares the cells' results with the expected ones.
	Claims func(*store.Store, Setting) ([]Claim, error)
	// Sabotaged compares as Claims does, after spoilers have changed what was recalled, in their
	// order, and with the claims of the preset asked for.
	Sabotaged func(store *store.Store, set Setting, asked Preset, by ...Spoiler) ([]Claim, error)
	// AsIf draws the figure, and returns its claims, as if its cells had been computed with other
	// parameters, for a test of texts: change is called with a pointer to those of each cell.
	AsIf func(store *store.Store, set Setting, change func(params any)) (Exhibit, []Claim, error)
	// Grid returns the parameters of the study's own cells: a []P.
	Grid func(Setting) any
	// Edited reports whether a program has changed the cells of the study; see [StudyOf].
	Edited func(Setting) bool
	// Constructor is the full name of the function that makes the study,
	// "coupling/figures/scones.Rate"; empty if it is not known.
	Constructor string
	// File is where that function is, below the folder of figures, "scones/rate.go"; or empty.
	File string
}

// Paper returns the part of the name before the slash.
func (f Figure) Paper() string {
	paper, _, _ := strings.Cut(f.Name, "/")
	return paper
}

// A Drawing can write itself as "png", "svg" or "pdf".
type Drawing interface {
	Save(w io.Writer, format string) error
}

// An Exhibit is what a figure shows.
type Exhibit struct {
	Pictures []Picture
	Tables   []Table
	Notes    []string // paragraphs of explanation
}

// A Picture is one drawing of an exhibit.
type Picture struct {
	Name    string // distinguishes the pictures of one exhibit; may be empty if there is one
	Caption string
	Drawing Drawing
}

// A Table is numbers for people: the cells are text.
type Table struct {
	Name    string
	Caption string
	Header  []string
	Rows    [][]string
}
