package device

import "testing"

// What trains on GPU 1 is asked for as such, and only what changes numbers is in a key.
func TestNames(t *testing.T) {
	for text, want := range map[string]struct {
		n   name
		key string
	}{
		"cpu":         {name{kind: "cpu"}, "cpu"},
		"cuda":        {name{kind: "cuda"}, "cuda"},
		"cuda:1":      {name{kind: "cuda", ordinal: 1}, "cuda"},
		"cuda:3,tf32": {name{kind: "cuda", ordinal: 3, tf32: true}, "cuda,tf32"},
		"cuda,tf32":   {name{kind: "cuda", tf32: true}, "cuda,tf32"},
	} {
		n, err := parseName(text)
		key, err2 := KeyOf(text)
		if n != want.n || key != want.key || err != nil || err2 != nil {
			t.Errorf("%q: %+v %q %v", text, n, key, err)
		}
	}
	for chosen, want := range map[string]int{"cuda:1": 1, "cuda:2,tf32": 2, "cuda": 0, "cpu": 0, "auto": 0, "": 0} {
		if got := ordinalFor("cuda", chosen); got != want {
			t.Errorf("COUPLING_DEVICE=%s chooses GPU %d, want %d", chosen, got, want)
		}
	}
}
