package membership

import (
	"context"
	"fmt"
	"math"

	"coupling/data"
	"coupling/lab/device/cpu"
	"coupling/lab/eval/neighbour"
)

// Attack says what scores are calibrated with. The zero value takes distances as they are.
type Attack struct {
	Reference *data.Images // further real examples, neither members nor others; nil: none
}

// Run attacks the generated images: can members be told from others, examples of the same distribution that the
// generator never saw? All images have one shape and range. Labels play no part. Cost: as many distances as there are
// pairs of an example with a generated or a reference image.
func (a Attack) Run(ctx context.Context, generated, members, others *data.Images) (*Result, error) {
	in, err := a.Scores(ctx, generated, members)
	if err != nil {
		return nil, err
	}
	out, err := a.Scores(ctx, generated, others)
	if err != nil {
		return nil, err
	}
	return Measure(in, out)
}

// Scores are how much each of the images looks like a member: minus its distance to the nearest generated image, plus
// that to the nearest reference image where there is a reference.
func (a Attack) Scores(ctx context.Context, generated, images *data.Images) ([]float64, error) {
	scores, err := nearest(ctx, "generated", generated, images)
	if err != nil {
		return nil, err
	}
	for i := range scores {
		scores[i] = -scores[i]
	}
	if a.Reference == nil {
		return scores, nil
	}
	far, err := nearest(ctx, "Reference", a.Reference, images)
	if err != nil {
		return nil, err
	}
	for i, d := range far {
		scores[i] += d
	}
	return scores, nil
}

// nearest is the distance of each image to the nearest one of a set.
func nearest(ctx context.Context, name string, set, images *data.Images) ([]float64, error) {
	_, c, h, w := set.Shape()
	_, c1, h1, w1 := images.Shape()
	if set.Len() == 0 || c != c1 || h != h1 || w != w1 || set.Lo != images.Lo || set.Hi != images.Hi {
		return nil, fmt.Errorf("membership: %s: %d images of %d×%d×%d in [%v, %v], examples of %d×%d×%d in [%v, %v]: must be equal, and some: %w",
			name, set.Len(), c, h, w, set.Lo, set.Hi, c1, h1, w1, images.Lo, images.Hi, ErrArgument)
	}
	found, err := neighbour.Search[float32]{}.Find(ctx, rows(images), rows(set))
	if err != nil {
		return nil, fmt.Errorf("membership: %s: %w", name, err)
	}
	out := make([]float64, len(found.Square))
	for i, s := range found.Square {
		out[i] = math.Sqrt(float64(s))
	}
	return out, nil
}

func rows(images *data.Images) cpu.Matrix[float32] {
	return cpu.Dense(images.Pixels(), images.Len(), images.Dim())
}
