package store

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
)

// DidYouMean returns "; did you mean a, b or c?", to end a message with: at most three names of
// known, nearest first, that differ from name in at most a third of its letters, rounded up. A path
// may be matched by its last word, at the price of one letter: "rate" is near "scones/rate". If no
// name is so near, up to six known ones are listed instead, "; want a, b or c"; more give "".
func DidYouMean(name string, known []string) string {
	name = strings.ToLower(name)
	distance := func(k string) int {
		k = strings.ToLower(k)
		return min(levenshtein.ComputeDistance(name, k), 1+levenshtein.ComputeDistance(name, path.Base(k)))
	}
	near := slices.DeleteFunc(slices.Clone(known), func(k string) bool { return distance(k) > (len([]rune(name))+2)/3 })
	slices.SortFunc(near, func(a, b string) int { return cmp.Or(distance(a)-distance(b), cmp.Compare(a, b)) })
	switch {
	case len(near) > 0:
		return "; did you mean " + orList(near[:min(3, len(near))]) + "?"
	case len(known) == 0 || len(known) > 6:
		return ""
	}
	return "; want " + orList(known)
}

// orList is "a, b or c".
func orList(words []string) string {
	last := len(words) - 1
	if last == 0 {
		return words[0]
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
