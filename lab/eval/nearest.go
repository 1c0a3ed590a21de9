package eval

import (
	"context"
	"fmt"

	"coupling/data"
	"coupling/lab/device/cpu"
	"coupling/lab/eval/neighbour"
)

// Nearest gives each real image the label of its nearest training image, in Euclidean distance with
// both scaled to [−1, 1]; of equals the first. It is deterministic and has no parameters. Cost:
// n·m·pixels.
func Nearest(ctx context.Context, synthetic, real *data.Images) (*Score, error) {
	s, err := shapeOf(synthetic)
	if err != nil {
		return nil, err
	}
	if err := (&Model{Shape: s}).fits(real); err != nil {
		return nil, err
	}
	if len(real.Labels) != real.Len() {
		return nil, fmt.Errorf("eval: test images %q have no labels: %w", real.Name, ErrArgument)
	}
	found, err := neighbour.Search[float32]{}.Find(ctx, rows(real), rows(synthetic))
	if err != nil {
		return nil, err
	}
	predicted := make([]int, real.Len())
	for i, j := range found.Index {
		predicted[i] = synthetic.Labels[j]
	}
	return NewScore(real.Labels, predicted)
}

func rows(images *data.Images) cpu.Matrix[float32] {
	return cpu.Dense(scaled(nil, images), images.Len(), images.Dim())
}
