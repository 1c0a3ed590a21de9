package data

import (
	"context"
	"fmt"
	"io"
	"strings"

	"coupling/data/format"
)

// idxSet is a data set in MNIST's layout.
type idxSet struct {
	name    string
	classes []string
	parts   map[Split]idxPart
}

// idxPart is n images of 28×28 pixels and their labels.
type idxPart struct {
	n              int
	images, labels remote
}

// newIDX returns a data set of 60,000 training and 10,000 test images; sums are the SHA-256 of the
// unpacked files, images and labels for training, then for test.
func newIDX(name string, classes, bases []string, sums [4]string) idxSet {
	part := func(stem string, n int64, images, labels string) idxPart {
		return idxPart{
			int(n), packed(name, stem+"-images-idx3-ubyte", bases, images, 16+28*28*n),
			packed(name, stem+"-labels-idx1-ubyte", bases, labels, 8+n),
		}
	}
	return idxSet{name, classes, map[Split]idxPart{
		Train: part("train", 60_000, sums[0], sums[1]), Test: part("t10k", 10_000, sums[2], sums[3]),
	}}
}

func mnist() idxSet {
	return newIDX("mnist", digits(), []string{
		"https://storage.googleapis.com/cvdf-datasets/mnist/",
		"https://ossci-datasets.s3.amazonaws.com/mnist/",
	}, [4]string{
		"ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
		"65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
		"0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
		"ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
	})
}

func fashionMNIST() idxSet {
	classes := []string{"T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag",
		"Ankle boot"}
	return newIDX("fashion-mnist", classes, []string{
		"http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
		"https://github.com/zalandoresearch/fashion-mnist/raw/master/data/fashion/",
	}, [4]string{
		"c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
		"bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
		"5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
		"0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
	})
}

func digits() []string { return strings.Split("0123456789", "") }

// MNIST returns the 60,000 training or 10,000 test images of handwritten digits
// (LeCun, Cortes, Burges), 1×28×28 in [0, 1] with white strokes on black. There
// is no Valid split. The error wraps [ErrMissing] or [ErrCorrupt] when the
// files are nowhere, or not the official ones; see [From] for where it looks.
func MNIST(ctx context.Context, from From, split Split) (*Images, error) {
	return mnist().load(ctx, from, split)
}

// FashionMNIST returns the 60,000 training or 10,000 test images of clothing
// (Xiao, Rasul, Vollgraf 2017), 1×28×28 in [0, 1]; otherwise it is as [MNIST].
func FashionMNIST(ctx context.Context, from From, split Split) (*Images, error) {
	return fashionMNIST().load(ctx, from, split)
}

func (s idxSet) load(ctx context.Context, from From, split Split) (*Images, error) {
	if m, err := from.sample(s.name, split, s.classes); m != nil || err != nil {
		return m, err
	}
	part := s.parts[split]
	labels, err := readIDX(ctx, from, part.labels)
	if err != nil {
		return nil, err
	}
	pixels, err := readIDX(ctx, from, part.images)
	if err != nil {
		return nil, err
	}
	return fromBytes(s.name+"/"+split.String(), s.classes, labels.Data, pixels.Data, part.n, 1, 28, 28)
}

// readIDX returns the content of one file, downloaded when it is nowhere.
func readIDX(ctx context.Context, from From, f remote) (*format.IDX, error) {
	path, err := from.place(ctx, f)
	if err != nil {
		return nil, err
	}
	return parse(ctx, path, f, func(r io.Reader) (*format.IDX, error) { return format.ReadIDX(r, f.size) })
}

// remotes are the files of both splits.
func (s idxSet) remotes() (out []remote) {
	for _, split := range []Split{Train, Test} {
		out = append(out, s.parts[split].images, s.parts[split].labels)
	}
	return out
}

// fromBytes makes images in [0, 1] of bytes whose checksum was right.
func fromBytes(name string, classes []string, labels, pixels []byte, n, c, h, w int) (*Images, error) {
	if len(labels) != n || len(pixels) != n*c*h*w {
		return nil, fmt.Errorf("data: %s: %w: %d labels and %d pixels for %d images", name, ErrCorrupt, len(labels),
			len(pixels), n)
	}
	m := &Images{
		Name:    name,
		Classes: classes,
		Labels:  make([]int, n),
		Hi:      1,
		bytes:   pixels,
		n:       n,
		c:       c,
		h:       h,
		w:       w,
	}
	for i, label := range labels {
		if int(label) >= len(classes) {
			return nil, fmt.Errorf("data: %s: %w: label %d of image %d", name, ErrCorrupt, label, i)
		}
		m.Labels[i] = int(label)
	}
	return m, nil
}
