package cuda

import "testing"

// CutEarly makes GPUs that are opened in a test give small problems the loops of large ones: grids
// of a few blocks, which stride, chunks of points of several tiles, and large tiles of products and
// pairs.
func CutEarly(t *testing.T) {
	old := standard
	standard = limits{flat: 60000, chunk: 1, blocks: 3, rows: 2, split: 1, few: 1, fill: 1}
	t.Cleanup(func() { standard = old })
}
