// Package figures lists every figure and table of the project. Each is in one file in the folder of
// its paper: figures/PAPER/FIGURE.go. Each is a [lab.Figure]: cells to compute, a drawing made from
// them, and the claims of the paper checked against them.
//
//	coupling fig list
//	coupling fig tour/digits --preset quick
package figures

import (
	"fmt"
	"path"
	"slices"

	"coupling/figures/admm"
	"coupling/figures/amplification"
	"coupling/figures/analytic"
	"coupling/figures/dpsinkhorn"
	"coupling/figures/scones"
	"coupling/figures/tour"
	"coupling/lab"
	"coupling/lab/store"
)

// A Paper is a source of figures.
type Paper struct {
	Name  string // the first part of its figures' names
	Title string
}

// Papers lists the papers in the order of the gallery.
func Papers() []Paper {
	return []Paper{
		{"tour", "Tour"},
		{"analytic", "Efficient, stable, and analytic differentiation of the Sinkhorn loss"},
		{"scones", "SCONES: score-based generative neural networks for large-scale optimal transport"},
		{"dpsinkhorn", "Don't generate me: training differentially private generative models with Sinkhorn divergence"},
		{"admm", "Differentially private ADMM-based distributed discrete optimal transport for resource allocation"},
		{"amplification", "Unified mechanism-specific amplification by subsampling and group privacy amplification"},
	}
}

// All lists the figures in the order of the papers.
func All() []lab.Figure {
	return slices.Concat([]lab.Figure{lab.FigureOf(tour.Digits)}, analytic.Figures(), scones.Figures(),
		dpsinkhorn.Figures(), admm.Figures(), amplification.Figures())
}

// Of lists the figures of a paper.
func Of(paper string) []lab.Figure {
	return slices.DeleteFunc(All(), func(f lab.Figure) bool { return f.Paper() != paper })
}

// Select returns the figures that match any of patterns: a figure's name, a paper's
// name, a pattern as in [path.Match], or all. The error names the first that matches
// nothing, and the nearest names.
func Select(patterns ...string) ([]lab.Figure, error) {
	all := All()
	var out []lab.Figure
	seen := map[string]bool{}
	for _, name := range patterns {
		found := false
		for _, f := range all {
			ok, err := path.Match(name, f.Name)
			if err != nil {
				return nil, fmt.Errorf("figure %q: %w", name, err)
			}
			if !ok && f.Paper() != name && name != "all" {
				continue
			}
			if found = true; !seen[f.Name] {
				seen[f.Name] = true
				out = append(out, f)
			}
		}
		if !found {
			var known []string
			for _, f := range all {
				known = append(known, f.Name)
			}
			for _, p := range Papers() {
				known = append(known, p.Name)
			}
			return nil, fmt.Errorf("figure %q: there is none%s (coupling fig list shows all)",
				name, store.DidYouMean(name, known))
		}
	}
	return out, nil
}

// Decoders returns the decoders of every experiment behind any figure, each
// experiment once.
func Decoders() []*store.Decoder {
	var out []*store.Decoder
	seen := map[string]bool{}
	for _, f := range All() {
		for _, d := range f.Decoders {
			if !seen[d.Experiment] {
				seen[d.Experiment] = true
				out = append(out, d)
			}
		}
	}
	return out
}
