package figures

import (
	"slices"
	"strings"
	"testing"

	"coupling/figures/admm"
	"coupling/figures/amplification"
	"coupling/figures/analytic"
	"coupling/figures/figtest"
	"coupling/lab"
	"coupling/lab/gallery"
	"coupling/lab/must"
)

// edit returns the figure of a study with other parameters, as a copy of its script makes it.
func edit[P, R any](construct func() lab.Study[P, R], change func([]P) []P) lab.Figure {
	study := lab.StudyOf(construct)
	grid := study.Grid
	study.Grid = func(set lab.Setting) []P { return change(slices.Clone(grid(set))) }
	return study.Figure()
}

// A figure with edited parameters says so, gives them, and names nothing of the preset; laws alone
// are asked of it.
func TestEditedParameters(t *testing.T) {
	store := figtest.Store(t)
	for _, c := range []struct {
		figure  lab.Figure
		caption string
	}{
		{edit(amplification.Fig13, func(ps []amplification.ReplacementParams) []amplification.ReplacementParams {
			ps[0].Noise, ps[0].Batch = 2, 20
			return ps
		}), "(σ = 2) on 20 draws"},
		{edit(admm.Cost, func(ps []admm.CostParams) []admm.CostParams {
			for i := range ps {
				ps[i].Alpha = .5
			}
			return ps
		}), "α_p = 0.5 each"},
		{edit(analytic.GradientError, func(ps []analytic.FamilyParams) []analytic.FamilyParams { return ps[:2] }), ""},
	} {
		figtest.Compute(t, store, c.figure)
		page := must.Get(gallery.Write(store, c.figure, figtest.Setting, t.TempDir(), []string{"svg"}))
		if page.Preset != "edited parameters" || page.Size+page.Shows+page.Command != "" {
			t.Errorf("%s: %q, %q, %q, %q", page.Name, page.Preset, page.Size, page.Shows, page.Command)
		}
		if !strings.Contains(page.Pictures[0].Caption, c.caption) {
			t.Errorf("%s: caption %q, want %q", page.Name, page.Pictures[0].Caption, c.caption)
		}
		for _, claim := range page.Claims {
			if claim.Verdict == lab.Differs || claim.Verdict == lab.Skipped {
				t.Errorf("%s: %s: %s", page.Name, claim.Verdict, claim.What)
			}
		}
	}
}
