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
		c := check{Part: "data: " + p.Name, State: good, Remedy: strings.TrimPrefix(p.Mend, "to mend it: ")}
		switch {
		case p.Complete() && p.Subset:
			c.Found = "a subset in " + filepath.Dir(p.Found[0])
		case p.Complete():
			c.Found = filepath.Dir(p.Found[0])
		default:
			c.State, c.Found = absent, fmt.Sprintf("lacks %s", strings.Join(p.Lacks, ", "))
		}
		out = append(out, c)
	}
	return out
}
