package main

import (
	"context"
	"fmt"
	"image"
	_ "image/jpeg" // decoders of image folders
	_ "image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"coupling/data"
	"coupling/data/sample"
)

// load returns the private images, in [0, 1], with class names.
func (c privateCmd) load(ctx context.Context) (*data.Images, error) {
	m, err := c.source(ctx)
	if err != nil {
		return nil, err
	}
	if _, ch, _, _ := m.Shape(); c.Grey && ch == 3 {
		if m, err = m.Grey(); err != nil {
			return nil, err
		}
	}
	if c.Size != 0 {
		if m, err = m.Resize(c.Size, c.Size, data.Bilinear); err != nil {
			return nil, err
		}
	}
	return m.Scale(0, 1)
}

func (c privateCmd) source(ctx context.Context) (*data.Images, error) {
	if c.Images != "" {
		return imageFolder(c.Images, c.Size)
	}
	set, small := strings.CutSuffix(c.Data, "-sample")
	if !slices.Contains([]string{"mnist", "fashion-mnist", "usps", "cifar10"}, set) {
		return nil, fmt.Errorf("--images DIR, or --data mnist, fashion-mnist, usps or cifar10, or mnist-sample and so on: must be given (--data %q)", c.Data)
	}
	origin := data.Official
	if small {
		origin = data.Sample
	}
	m, err := data.LoadNamed(ctx, sample.From(origin), set, data.Train)
	if err == nil && m.Classes == nil {
		for l := range m.ByClass() {
			m.Classes = append(m.Classes, fmt.Sprint(l))
		}
	}
	return m, err
}

// imageFolder reads DIR/CLASS/*.png and *.jpg, classes and files in the order of their names. All images are grey, or all
// become RGB; all have one size, unless size says what they are resized to.
func imageFolder(dir string, size int) (*data.Images, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var pictures []image.Image
	var labels []int
	var classes []string
	grey := true
	for _, e := range entries {
		if !e.IsDir() || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		files, err := os.ReadDir(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			if !slices.Contains([]string{".png", ".jpg", ".jpeg"}, strings.ToLower(filepath.Ext(f.Name()))) {
				continue
			}
			p, err := readImage(filepath.Join(dir, e.Name(), f.Name()))
			if err != nil {
				return nil, err
			}
			switch p.(type) {
			case *image.Gray, *image.Gray16:
			default:
				grey = false
			}
			pictures, labels = append(pictures, p), append(labels, len(classes))
		}
		classes = append(classes, e.Name())
	}
	if len(pictures) == 0 {
		return nil, fmt.Errorf("--images %s: no PNG or JPEG file in any subfolder", dir)
	}
	return joinImages(pictures, labels, classes, grey, size)
}

func readImage(path string) (image.Image, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	p, _, err := image.Decode(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return p, nil
}

func joinImages(pictures []image.Image, labels []int, classes []string, grey bool, size int) (*data.Images, error) {
	sets := make([]*data.Images, 0, len(pictures))
	for i, p := range pictures {
		m, err := fromImage(p, grey)
		if err != nil {
			return nil, err
		}
		if size != 0 {
			if m, err = m.Resize(size, size, data.Bilinear); err != nil {
				return nil, err
			}
		} else if a, b := p.Bounds().Size(), pictures[0].Bounds().Size(); a != b {
			return nil, fmt.Errorf("image %d is %v and the first %v: must be equal, or give --size", i+1, a, b)
		}
		sets = append(sets, m)
	}
	m, err := data.Concat(sets...)
	if err != nil {
		return nil, err
	}
	m.Name, m.Labels, m.Classes = "images", labels, classes
	return m, nil
}

// fromImage is one picture as an image in [0, 1].
func fromImage(p image.Image, grey bool) (*data.Images, error) {
	b, channels := p.Bounds(), 3
	if grey {
		channels = 1
	}
	m, err := data.New(1, channels, b.Dy(), b.Dx())
	if err != nil {
		return nil, err
	}
	plane := b.Dx() * b.Dy()
	for y := range b.Dy() {
		for x := range b.Dx() {
			r, g, u, _ := p.At(b.Min.X+x, b.Min.Y+y).RGBA()
			for k, v := range [3]uint32{r, g, u} {
				if k < channels {
					m.Row(0)[k*plane+y*b.Dx()+x] = float32(v) / 0xffff
				}
			}
		}
	}
	return m, nil
}
