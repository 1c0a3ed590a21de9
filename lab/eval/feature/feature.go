package feature

import (
	"context"
	"errors"
	"fmt"

	"gonum.org/v1/gonum/mat"

	"coupling/data"
	"coupling/lab/eval"
)

// ErrArgument is wrapped by every error about an argument.
var ErrArgument = errors.New("bad argument")

// Features maps images to vectors.
type Features interface {
	// Name tells features apart: equal names are equal maps.
	Name() (string, error)
	// Of returns the vectors of images, a row each.
	Of(ctx context.Context, images *data.Images) (*mat.Dense, error)
}

// Pixels are the C·H·W values of an image, black 0 and white 1.
type Pixels struct{}

// Name is "pixels".
func (Pixels) Name() (string, error) { return "pixels", nil }

// Of returns the values.
func (Pixels) Of(_ context.Context, images *data.Images) (*mat.Dense, error) {
	if images.Len() == 0 || !(images.Lo < images.Hi) {
		return nil, fmt.Errorf("feature: images %q: N = %d, Lo = %v, Hi = %v: must be N > 0 and Lo < Hi: %w",
			images.Name, images.Len(), images.Lo, images.Hi, ErrArgument)
	}
	x := images.Mat()
	lo, scale := float64(images.Lo), 1/(float64(images.Hi)-float64(images.Lo))
	x.Apply(func(_, _ int, v float64) float64 { return (v - lo) * scale }, x)
	return x, nil
}

// Trained is what the last layer of a classifier sees: 84 numbers for LeNet.
type Trained struct {
	Model *eval.Model
}

// Name is the kind and a digest of the weights, "LeNet-1a2b3c4d".
func (t Trained) Name() (string, error) {
	d, err := t.Model.Digest()
	return fmt.Sprintf("%v-%s", t.Model.Classifier.Kind, d), err
}

// Of returns the features.
func (t Trained) Of(ctx context.Context, images *data.Images) (*mat.Dense, error) {
	return t.Model.Features(ctx, images)
}
