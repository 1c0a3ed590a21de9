package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"coupling/data"
)

// checkData looks for each data set where its loader would.
func checkData() []check {
	var out []check
	for _, p := range data.Status(data.From{}) {
		c := check{Part: "data: " + p.Name, State: good, Remedy: p.Fix}
		switch missing := strings.Join(p.Missing, ", "); {
		case p.Complete():
			c.Found = filepath.Dir(p.Found[0])
		case p.Subset:
			c.State, c.Found = absent, fmt.Sprintf("missing: %s; figures use the subset in %s", missing, filepath.Dir(p.Found[0]))
		case p.Name == "celeba":
			c.State, c.Found = absent, "missing: "+missing
		default:
			c.State, c.Found = absent, fmt.Sprintf("missing: %s; figures use the sample inside the program unless it can be downloaded", missing)
		}
		out = append(out, c)
	}
	return out
}
