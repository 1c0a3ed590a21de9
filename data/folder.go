package data

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Folder is a user's own pictures: PNG and JPEG files in a folder, or in folders of it whose names are then the classes.
// Other files and hidden ones are skipped. Pictures are in the order of their names.
type Folder struct {
	Dir  string
	Size int  // side of the images returned: the central square of a picture, resized; 0: pictures as they are, of one size
	Grey bool // one channel, else red, green and blue
	// Empty makes classes also of folders without pictures: if the classes are public, they must
	// not depend on a single picture.
	Empty bool
}

const folderMaxSide = 1 << 12 // of the images returned

// Load reads all pictures, in [0, 1]. The error wraps ErrMissing where there is no folder or no picture in it, ErrCorrupt
// where a picture is damaged, too large, or of another size than the first while Size is 0.
func (f Folder) Load(ctx context.Context) (*Images, error) {
	if f.Size < 0 || f.Size > folderMaxSide {
		return nil, fmt.Errorf("data: folder: Size = %d: must be in [0, %d]", f.Size, folderMaxSide)
	}
	p, err := f.list()
	if err != nil {
		return nil, err
	}
	first, err := readPicture(p.Files[0])
	if err != nil {
		return nil, err
	}
	p.c, p.h, p.w = 3, f.Size, f.Size
	if f.Size == 0 {
		p.h, p.w = first.Bounds().Dy(), first.Bounds().Dx()
	}
	if f.Grey {
		p.c = 1
	}
	p.read = func(row []float32, path string) error { return f.prepare(row, path, p.h, p.w) }
	return p.Load(ctx)
}

// list returns the pictures and their classes.
func (f Folder) list() (*Pictures, error) {
	here, folders, err := entries(f.Dir)
	if err != nil {
		return nil, err
	}
	p := &Pictures{Name: f.Dir}
	for _, name := range here {
		p.Files = append(p.Files, filepath.Join(f.Dir, name))
	}
	for _, name := range folders {
		inside, _, err := entries(filepath.Join(f.Dir, name))
		if err != nil {
			return nil, err
		}
		if len(inside) == 0 && !f.Empty {
			continue
		}
		for _, file := range inside {
			p.Files, p.Labels = append(p.Files, filepath.Join(f.Dir, name, file)), append(p.Labels, len(p.Classes))
		}
		p.Classes = append(p.Classes, name)
	}
	if len(p.Files) == 0 {
		return nil, fmt.Errorf("data: folder %q: %w: no PNG or JPEG pictures in it", f.Dir, ErrMissing)
	}
	if len(here) > 0 && p.Classes != nil {
		return nil, fmt.Errorf("data: folder %q: pictures both in it and in folders of it, %q first: want one or the other", f.Dir, p.Classes[0])
	}
	return p, nil
}

// entries returns the pictures and the folders in a folder, sorted.
func entries(dir string) (pictures, folders []string, err error) {
	all, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("data: folder: %w: %w", ErrMissing, err)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("data: folder: %w", err)
	}
	for _, e := range all {
		kind := strings.ToLower(filepath.Ext(e.Name()))
		switch {
		case strings.HasPrefix(e.Name(), "."):
		case e.IsDir():
			folders = append(folders, e.Name())
		case slices.Contains([]string{".png", ".jpg", ".jpeg"}, kind):
			pictures = append(pictures, e.Name())
		}
	}
	return pictures, folders, nil
}

// prepare reads a picture into row, h×w.
func (f Folder) prepare(row []float32, path string, h, w int) error {
	p, err := readPicture(path)
	if err != nil {
		return err
	}
	b := p.Bounds()
	if f.Size > 0 {
		b = centre(b, min(b.Dx(), b.Dy()))
	} else if b.Dy() != h || b.Dx() != w {
		return corrupt(path, "it has %d×%d pixels, the first picture %d×%d: want one size, or set Size", b.Dx(), b.Dy(), w, h)
	}
	m := fromPicture(p, b)
	if f.Grey {
		if m, err = m.Grey(); err != nil {
			return err
		}
	}
	if m, err = m.Resize(h, w, Bilinear); err != nil {
		return err
	}
	copy(row, m.pixels)
	return nil
}
