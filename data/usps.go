package data

import (
	"context"
	"io"

	"coupling/data/format"
)

// uspsFile is one of the two files of USPS, of n images.
type uspsFile struct {
	remote
	n int
}

func usps() map[Split]uspsFile {
	file := func(name, content string, size int64, n int) uspsFile {
		return uspsFile{packed("usps", name, []string{
			"https://hastie.su.domains/ElemStatLearn/datasets/",
			"https://web.stanford.edu/~hastie/ElemStatLearn/datasets/",
		}, content, size), n}
	}
	return map[Split]uspsFile{
		Train: file("zip.train", "abc9f5c75b997cabe66b5d01727d5a681c69298e1641a8d37b55433a52129dc0", 14512253, 7291),
		Test:  file("zip.test", "6bde17b4f1cd68e0630cd2751d6495b5795d9165ab2dc4a0be8b7002b732f4cc", 2029542, 2007),
	}
}

// USPS returns the 7,291 training or 2,007 test images of handwritten zip-code
// digits (LeCun et al. 1989, as in Hastie, Tibshirani, Friedman), 1×16×16 in
// [-1, 1] with white strokes on black; Scale(0, 1) puts them beside MNIST. There
// is no Valid split. Errors are those of [MNIST].
func USPS(ctx context.Context, from From, split Split) (*Images, error) {
	if m, err := from.sample("usps", split, digits()); m != nil || err != nil {
		return m, err
	}
	return usps()[split].load(ctx, from, "usps/"+split.String())
}

func (f uspsFile) load(ctx context.Context, from From, name string) (*Images, error) {
	path, err := from.place(ctx, f.remote)
	if err != nil {
		return nil, err
	}
	content, err := parse(ctx, path, f.remote,
		func(r io.Reader) (*format.USPS, error) { return format.ReadUSPS(r, f.n) })
	if err != nil {
		return nil, err
	}
	m := &Images{Name: name, Classes: digits(), Lo: -1, Hi: 1}
	m.pixels, m.n, m.c, m.h, m.w = content.Pixels, len(content.Labels), 1, 16, 16
	m.Labels = make([]int, m.n)
	for i, label := range content.Labels {
		m.Labels[i] = int(label)
	}
	return m, nil
}
