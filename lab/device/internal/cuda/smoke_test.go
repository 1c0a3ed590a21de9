package cuda

import (
	"testing"

	"coupling/lab/device/internal/backend"
)

func TestCopies(t *testing.T) {
	r := newRig(t, Config{})
	x := r.set(backend.Float32, []float64{1, 2, 3, 4, 5}, 5)
	y := r.new(backend.Float32, 5)
	r.ok(r.g.Map(y, x, backend.Square, 0))
	r.near("square", r.get(y), []float64{1, 4, 9, 16, 25}, 0, 0)
}
