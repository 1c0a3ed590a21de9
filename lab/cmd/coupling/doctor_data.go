package main

import (
	"path/filepath"
	"strings"

	"coupling/data"
)

// checkData looks for each data set where its loader would.
func checkData() []check {
	var out []check
	for _, p := range data.Status(data.From{}) {
		c := check{"data: " + p.Name, absent, "missing: " + strings.Join(p.Missing, ", "), p.Fix}
		switch {
		case p.Complete():
			c.State, c.Found = good, filepath.Dir(p.Found[0])
		case p.Subset:
			c.Found += "; figures use the subset in " + filepath.Dir(p.Found[0])
		case p.Name != "celeba":
			c.Found += "; figures use the sample inside the program unless it can be downloaded"
		}
		out = append(out, c)
	}
	return out
}
