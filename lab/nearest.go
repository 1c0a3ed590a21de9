package lab

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
)

// Nearest returns the n names of known that are nearest to name by edit distance, nearest first. A
// path may be matched by its last word: "rate" is near "scones/rate".
func Nearest(name string, known []string, n int) []string {
	name = strings.ToLower(name)
	distance := func(k string) int {
		k = strings.ToLower(k)
		return min(levenshtein.ComputeDistance(name, k), 1+levenshtein.ComputeDistance(name, path.Base(k)))
	}
	out := slices.Clone(known)
	slices.SortFunc(out, func(a, b string) int {
		return cmp.Or(cmp.Compare(distance(a), distance(b)), cmp.Compare(a, b))
	})
	return out[:min(n, len(out))]
}

// DidYouMean returns "did you mean a, b or c?" with the three names of known that are nearest to
// name. It is empty if known is.
func DidYouMean(name string, known []string) string {
	near := Nearest(name, known, 3)
	if len(near) == 0 {
		return ""
	}
	return "did you mean " + orList(near) + "?"
}

// orList is "a, b or c".
func orList(words []string) string {
	last := len(words) - 1
	if last == 0 {
		return words[0]
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
