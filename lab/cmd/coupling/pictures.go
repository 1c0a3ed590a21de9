package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"coupling/data"
	"coupling/data/sample"
	"coupling/lab"
	"coupling/lab/store"
)

// pictures are the flags that name images: a user's own, or a known data set.
type pictures struct {
	Images string `placeholder:"DIR" xor:"source"`
	Split  string `placeholder:"NAME"`
	Data   string `placeholder:"NAME" xor:"source"`
	Size   int
	Grey   bool
	Keep   float64 `min:"0" max:"0.9"`
}

// pictureWords are names of data.Folder's fields, and flags.
var pictureWords = strings.NewReplacer("Size = ", "--size ", "Split = ", "--split ", "data: ", "")

// parts returns the images to learn from and those to test on: those kept aside, or a known set's.
func (p pictures) parts(ctx context.Context, a *app) (learn, test *data.Images, err error) {
	defer lab.End(&err)
	if p.Images == "" {
		learn, test, err = named(ctx, p.Data)
		lab.Check(err)
		learn, test = lab.Must(p.shaped(learn)), lab.Must(p.shaped(test))
	} else {
		learn = lab.Must(p.load(ctx, a))
	}
	if p.Keep > 0 {
		learn, test = learn.Apart(p.Keep)
	}
	return learn, test, nil
}

// load returns a user's own images, in [0, 1], with class names. Whether all are grey is public; that some are is
// worth a warning.
func (p pictures) load(ctx context.Context, a *app) (_ *data.Images, err error) {
	defer lab.End(&err)
	status, notes := a.status(10*time.Second), []string(nil)
	m, err := data.Folder{
		Dir: p.Images, Split: p.Split, Size: p.Size, Grey: p.Grey, Empty: true,
		Note:     func(line string) { notes = append(notes, line) },
		Progress: func(done, of int) { status.say(fmt.Sprintf("reading: %d of %s", done, plural(of, "picture"))) },
	}.Load(ctx)
	status.clear()
	if err == nil && len(m.Classes) == 0 {
		err = fmt.Errorf("folder %q: images have no classes: want a subfolder for each, even for one, as CLASS/1.png, "+
			"or labels.csv with lines file,class", p.Images)
	}
	if err != nil {
		return nil, worded{err, "--images: " + pictureWords.Replace(err.Error())}
	}
	switch grey := greys(m); {
	case grey == m.Len():
		m, err = m.Grey()
		lab.Check(err)
	case grey > 0:
		notes = append(notes, fmt.Sprintf("%d of %d images are grey, and the others make all of them RGB, "+
			"which is no secret: give --grey, unless colour matters", grey, m.Len()))
	}
	for _, line := range notes {
		a.note("coupling: %s: %s\n", p.Images, line)
	}
	return m, nil
}

func greys(m *data.Images) (n int) {
	_, channels, h, w := m.Shape()
	for i := range m.Len() {
		if v := m.Row(i); channels == 3 && slices.Equal(v[:2*h*w], v[h*w:]) {
			n++
		}
	}
	return n
}

func (p pictures) shaped(m *data.Images) (_ *data.Images, err error) {
	defer lab.End(&err)
	if _, channels, _, _ := m.Shape(); p.Grey && channels == 3 {
		m = lab.Must(m.Grey())
	}
	if p.Size != 0 {
		m = lab.Must(m.Resize(p.Size, p.Size, data.Bilinear))
	}
	if m.Lo == 0 && m.Hi == 1 {
		return m, nil
	}
	return m.Scale(0, 1)
}

// named is a known data set: the images to learn from, and those to test on.
func named(ctx context.Context, name string) (learn, test *data.Images, err error) {
	set, small := strings.CutSuffix(name, "-sample")
	set, fit := strings.CutSuffix(set, "-fit")
	if name == "" {
		return nil, nil, errors.New("--images DIR, or --data NAME: must be given")
	}
	if known := data.Names(); !slices.Contains(known, set) {
		return nil, nil, fmt.Errorf("--data %q: there is none%s", name, store.DidYouMean(set, known))
	}
	origin := data.Official
	if small {
		origin = data.Sample
	}
	if learn, err = data.LoadNamed(ctx, sample.From(origin), set, data.Train); err != nil {
		return nil, nil, err
	}
	if fit {
		n := learn.Len() * 5 / 6
		return learn.Slice(0, n), learn.Slice(n, learn.Len()), nil
	}
	test, err = data.LoadNamed(ctx, sample.From(origin), set, data.Test)
	return learn, test, err
}
