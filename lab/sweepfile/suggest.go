package sweepfile

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// suggestion names the key that was probably meant, or all that there are.
func suggestion[V any](name string, known map[string]V) string {
	names := slices.Sorted(maps.Keys(known))
	for _, k := range names {
		if distance(name, k) <= max(min(2, len(k)/2), len(k)/3) {
			return fmt.Sprintf("; %s was meant?", k)
		}
	}
	return "; there are " + strings.Join(names, ", ")
}

// distance is Levenshtein's.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}
