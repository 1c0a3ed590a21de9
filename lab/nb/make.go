package nb

import (
	"context"
	"errors"
	"fmt"
	"html/template"
	"slices"
	"strings"

	"coupling/lab"
	"coupling/lab/gallery"
	"coupling/lab/store"
)

// Make computes the missing cells of a figure at this notebook's [Setting], under a bar, and shows
// it with its claims. If names are given, only the pictures and tables called so are shown. A
// second call recalls everything.
func Make(fig lab.Figure, names ...string) {
	s, set := Store(), Setting()
	Check(compute(Context(), s, fig, set))
	e := Must(fig.Draw(s, set))
	Show(HTML(fill("heading", gallery.Describe(fig, set))))
	Show(only(e, names))
	claims := Must(fig.Claims(s, set))
	Show(HTML(fill("claims", map[string]any{"Verdicts": verdicts(claims), "Table": template.HTML(claimTable(claims))})))
}

// verdicts sums claims up in a line, with the names of those that fail.
func verdicts(claims []lab.Claim) string {
	score, differ := gallery.Count(gallery.Claims(claims))
	if len(differ) == 0 {
		return score.String()
	}
	return score.String() + ": " + strings.Join(differ, "; ")
}

func compute(ctx context.Context, s *store.Store, fig lab.Figure, set lab.Setting) error {
	if _, ok := fig.Sizes[set.Preset]; !ok {
		return fmt.Errorf("%s has no preset %q", fig.Name, set.Preset)
	}
	var todo []store.Job
	n := s.Survey(slices.Values(fig.Jobs(set)), func(j store.Job) { todo = append(todo, j) })
	defer sayOtherCode(n.OtherCode)
	ctx, done := Progress(ctx, fig.Name, len(todo))
	defer done()
	var errs []error
	for _, err := range (store.Local{}).Run(ctx, s, todo) {
		if err != nil && ctx.Err() == nil {
			errs = append(errs, err)
		}
	}
	if ctx.Err() != nil {
		return fmt.Errorf("%s: interrupted; running the cell again goes on from here", fig.Name)
	}
	return errors.Join(errs...)
}

// only keeps the pictures and tables that are asked for by name.
func only(e lab.Exhibit, names []string) lab.Exhibit {
	if len(names) == 0 {
		return e
	}
	e.Pictures = slices.DeleteFunc(slices.Clone(e.Pictures),
		func(p lab.Picture) bool { return !slices.Contains(names, p.Name) })
	e.Tables = slices.DeleteFunc(slices.Clone(e.Tables),
		func(t lab.Table) bool { return !slices.Contains(names, t.Name) })
	e.Notes = nil
	return e
}
