package data

import (
	"context"
	"fmt"
	"strings"

	"coupling/data/format"
)

// idxFile is a file of MNIST's layout, served packed by gzip.
type idxFile struct {
	name    string // unpacked
	content string // SHA-256 of the unpacked file
	dims    []int
}

// idxSet is a data set in MNIST's layout.
type idxSet struct {
	name    string
	bases   []string
	classes []string
	images  map[Split]idxFile
	labels  map[Split]idxFile
}

func mnist() idxSet {
	return idxSet{
		name: "mnist",
		bases: []string{
			"https://storage.googleapis.com/cvdf-datasets/mnist/",
			"https://ossci-datasets.s3.amazonaws.com/mnist/",
		},
		classes: digits(),
		images: map[Split]idxFile{
			Train: {"train-images-idx3-ubyte", "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db", []int{60000, 28, 28}},
			Test:  {"t10k-images-idx3-ubyte", "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7", []int{10000, 28, 28}},
		},
		labels: map[Split]idxFile{
			Train: {"train-labels-idx1-ubyte", "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5", []int{60000}},
			Test:  {"t10k-labels-idx1-ubyte", "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2", []int{10000}},
		},
	}
}

func fashionMNIST() idxSet {
	return idxSet{
		name: "fashion-mnist",
		bases: []string{
			"http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
			"https://github.com/zalandoresearch/fashion-mnist/raw/master/data/fashion/",
		},
		classes: []string{"T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"},
		images: map[Split]idxFile{
			Train: {"train-images-idx3-ubyte", "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888", []int{60000, 28, 28}},
			Test:  {"t10k-images-idx3-ubyte", "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b", []int{10000, 28, 28}},
		},
		labels: map[Split]idxFile{
			Train: {"train-labels-idx1-ubyte", "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9", []int{60000}},
			Test:  {"t10k-labels-idx1-ubyte", "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34", []int{10000}},
		},
	}
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
	images, ok := s.images[split]
	if !ok {
		return nil, fmt.Errorf("data: %s: split = %v: must be train or test", s.name, split)
	}
	if from.Origin == Sample {
		return from.sample(s.name, split, s.classes)
	}
	labels, err := s.read(ctx, from, s.labels[split])
	if err != nil {
		return nil, err
	}
	pixels, err := s.read(ctx, from, images)
	if err != nil {
		return nil, err
	}
	return fromBytes(s.name+"/"+split.String(), s.classes, labels, pixels, images.dims[0], 1, 28, 28)
}

// read returns the bytes of one file, downloaded when it is nowhere.
func (s idxSet) read(ctx context.Context, from From, f idxFile) ([]byte, error) {
	path, err := from.place(ctx, s.remote(f))
	if err != nil {
		return nil, err
	}
	file, err := open(ctx, path, f.size())
	if err != nil {
		return nil, err
	}
	defer file.close()
	array, err := format.ReadIDX(file, f.size())
	if err != nil {
		return nil, inFile(path, err)
	}
	if err := file.done("", f.content); err != nil {
		return nil, err
	}
	return array.Data, nil
}

// size is that of the unpacked file.
func (f idxFile) size() int64 {
	n := int64(1)
	for _, d := range f.dims {
		n *= int64(d)
	}
	return n + 4 + 4*int64(len(f.dims))
}

func (s idxSet) remote(f idxFile) remote {
	return packed(s.name, f.name, s.bases, f.content, f.size())
}

// remotes are the files of both splits.
func (s idxSet) remotes() (out []remote) {
	for _, split := range []Split{Train, Test} {
		out = append(out, s.remote(s.images[split]), s.remote(s.labels[split]))
	}
	return out
}

// fromBytes makes images in [0, 1] of bytes whose checksum was right.
func fromBytes(name string, classes []string, labels, pixels []byte, n, c, h, w int) (*Images, error) {
	if len(labels) != n || len(pixels) != n*c*h*w {
		return nil, fmt.Errorf("data: %s: %w: %d labels and %d pixels for %d images", name, ErrCorrupt, len(labels), len(pixels), n)
	}
	m, err := New(n, c, h, w)
	if err != nil {
		return nil, err
	}
	m.Name, m.Classes, m.Labels = name, classes, make([]int, n)
	for i, label := range labels {
		if int(label) >= len(classes) {
			return nil, fmt.Errorf("data: %s: %w: label %d of image %d", name, ErrCorrupt, label, i)
		}
		m.Labels[i] = int(label)
	}
	m.fromBytes(m.pixels, pixels)
	return m, nil
}
