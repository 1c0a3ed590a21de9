package membership

import (
	"context"
	"fmt"
	"math"

	"coupling/data"
	"coupling/lab/device/cpu"
	"coupling/score/eval/neighbour"
)

// Run attacks the generated images: can members be told from others, examples of the same distribution that the
// generator never saw? All images have one shape and range. Labels play no part. Cost: as many distances as there are
// pairs of an example with a generated image.
func Run(ctx context.Context, generated, members, others *data.Images) (*Result, error) {
	in, err := scores(ctx, generated, members)
	if err != nil {
		return nil, err
	}
	out, err := scores(ctx, generated, others)
	if err != nil {
		return nil, err
	}
	return Measure(in, out)
}

// scores are how much each of the images looks like a member: minus its distance to the nearest generated image.
func scores(ctx context.Context, generated, images *data.Images) ([]float64, error) {
	_, c, h, w := generated.Shape()
	_, c1, h1, w1 := images.Shape()
	if generated.Len() == 0 || c != c1 || h != h1 || w != w1 || generated.Lo != images.Lo || generated.Hi != images.Hi {
		return nil, fmt.Errorf(
			"membership: %d generated images of %d×%d×%d in [%v, %v], examples of %d×%d×%d in [%v, %v]: must be "+
				"equal, and some: %w",
			generated.Len(), c, h, w, generated.Lo, generated.Hi, c1, h1, w1, images.Lo, images.Hi, ErrArgument)
	}
	found, err := neighbour.Search[float32]{}.Find(ctx, rows(images), rows(generated))
	if err != nil {
		return nil, fmt.Errorf("membership: %w", err)
	}
	out := make([]float64, len(found.Square))
	for i, s := range found.Square {
		out[i] = -math.Sqrt(float64(s))
	}
	return out, nil
}

// Copies returns the share of generated images that are nearer to a member than to any of the others: about ½ where
// there are as many others as members and nothing was copied, 1 where members are handed out.
func Copies(ctx context.Context, generated, members, others *data.Images) (share float64, err error) {
	to, err := scores(ctx, members, generated)
	if err != nil {
		return 0, err
	}
	from, err := scores(ctx, others, generated)
	for i, s := range from {
		if s < to[i] {
			share += 1 / float64(len(from))
		}
	}
	return share, err
}

func rows(images *data.Images) cpu.Matrix[float32] {
	return cpu.Dense(images.Pixels(), images.Len(), images.Dim())
}
