package sweepfile

import (
	"testing"

	"coupling/lab/must"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

// Numbers as people write them are numbers, and text in quotes stays text.
func TestNumbersOfYAML(t *testing.T) {
	var n yaml.Node
	must.Do(yaml.Unmarshal([]byte("[1e-3, 1E3, -1.5e+2, .5e1, 2.e-1, 0.25, 3, '1e-3', e3, 1e]"), &n))
	got := plain(n.Content[0])
	want := []any{1e-3, 1e3, -150., 5., .2, .25, 3, "1e-3", "e3", "1e"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}
