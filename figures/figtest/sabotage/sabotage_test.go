package sabotage_test

import (
	"os"
	"strings"
	"testing"

	"coupling/figures"
	"coupling/figures/figtest/sabotage"
	"coupling/lab"
)

const intro = `# Which claim sees which fault

Results of ` + "`quick`" +
	`, spoiled as figtest/sabotage/faults.txt says, and a claim of each preset that then fails. A test computes the
figures that take seconds and asks them again. After a change of claims, with the figures of quick in a store:
` + "`COUPLING_SABOTAGE=STORE go test ./figures/figtest/sabotage`" + `.
`

// Every fault that changes results of a figure breaks a claim of it that is asked, at every preset
// but smoke. A claim that is one-sided, or about another method, lets some fault through.
func TestEveryFaultIsSeen(t *testing.T) {
	if testing.Short() {
		t.Skip("computes figures at quick")
	}
	path := os.Getenv("COUPLING_SABOTAGE")
	all, set := path != "", lab.Setting{Preset: lab.Quick, Seed: 1, Device: "cpu"}
	if !all {
		path = t.TempDir()
	}
	store := lab.Must(lab.OpenStore(path))
	var rows []sabotage.Row
	for _, f := range figures.All() {
		if !all && f.Seconds[lab.Quick] > 3 {
			continue
		}
		for _, j := range f.Jobs(set) {
			if !all {
				_ = lab.Must(j.Try(t.Context(), store))
			}
		}
		got, err := sabotage.Rows(store, set, f)
		if err != nil {
			t.Error(err)
		}
		for _, r := range got {
			for k, p := range sabotage.Presets {
				if r.Spared == "" && r.Failed[k] == 0 {
					t.Errorf("%s at %s: %d claims, and none sees %q", f.Name, p, r.Asked[k], r.Fault)
				}
			}
		}
		rows = append(rows, got...)
	}
	if all && !t.Failed() {
		lab.Check(os.WriteFile("../../SABOTAGE.md", []byte(intro+sabotage.Markdown(rows)), 0o666))
	}
}

// The table has every figure.
func TestTableIsWhole(t *testing.T) {
	text := string(lab.Must(os.ReadFile("../../SABOTAGE.md")))
	for _, f := range figures.All() {
		if !strings.Contains(text, "`"+f.Name+"`") {
			t.Errorf("SABOTAGE.md has no row of %s", f.Name)
		}
	}
}
