package distance

import (
	"context"

	"gonum.org/v1/gonum/mat"

	"coupling/data"
)

// Features maps images to vectors: eval.Model, what the last layer of a classifier sees, and inception.Network.
type Features interface {
	// Name identifies features: equal names are equal maps.
	Name() (string, error)
	// Of returns the vectors of images, a row each.
	Of(ctx context.Context, images *data.Images) (*mat.Dense, error)
}

// Report compares generated images with real ones in some features.
type Report struct {
	Features string // their name; the distance is called FD-Features
	Frechet  float64
	KID      Discrepancy
	Coverage Coverage // with third neighbours
}

// Between compares generated with real images. KID and coverage are of equal numbers, the first of
// the larger set. Memory: the features of both, in float64.
func Between(ctx context.Context, f Features, generated, real *data.Images) (*Report, error) {
	name, err := f.Name()
	if err != nil {
		return nil, err
	}
	x, err := f.Of(ctx, real)
	if err != nil {
		return nil, err
	}
	y, err := f.Of(ctx, generated)
	if err != nil {
		return nil, err
	}
	r := &Report{Features: name}
	if r.Frechet, err = Frechet(x, y); err != nil {
		return nil, err
	}
	n := min(real.Len(), generated.Len())
	_, d := x.Dims()
	x, y = x.Slice(0, n, 0, d).(*mat.Dense), y.Slice(0, n, 0, d).(*mat.Dense)
	if r.KID, err = KID(ctx, x, y); err != nil {
		return nil, err
	}
	r.Coverage, err = Neighbours{}.Coverage(ctx, x, y)
	return r, err
}
