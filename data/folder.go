package data

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"image"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// Folder is a user's own pictures: PNG, JPEG, GIF, WebP, BMP and TIFF files, in the order of their names.
//
//	DIR/CLASS/1.png     folders named as the classes; with Split: DIR/SPLIT/CLASS/1.png
//	DIR/labels.csv      a line "file,class" for each picture; pictures are in DIR or in folders of it
//	DIR/1.png           neither: pictures without classes
//
// A picture is turned as its EXIF orientation has it. What is transparent lies on black. Of several pictures in a
// file the first is read.
type Folder struct {
	Dir   string
	Split string // folder of Dir to read; "": Dir itself
	Size  int    // side to resize the central square of a picture to; 0: pictures as they are, of one size
	Grey  bool   // one channel, else red, green and blue
	// Empty makes classes also of folders without pictures: if the classes are public, they must
	// not depend on a single picture. A line ",class" of labels.csv does the same.
	Empty bool

	Note     func(line string)  // called with what was left out, and what became black; may be nil
	Progress func(done, of int) // called with the number of pictures read; may be nil
}

const folderMaxSide = 1 << 12 // of the images returned

// Load reads all pictures, in [0, 1]. The error wraps ErrMissing where there is no folder or no picture in it,
// ErrCorrupt where pictures are damaged, too large, or of another size than the first while Size is 0; it names all
// of them.
func (f Folder) Load(ctx context.Context) (*Images, error) {
	if f.Size < 0 || f.Size > folderMaxSide {
		return nil, fmt.Errorf("data: folder: Size = %d: must be in [0, %d]", f.Size, folderMaxSide)
	}
	p, err := f.list()
	if err != nil {
		return nil, err
	}
	p.c, p.h, p.w = 3, cmp.Or(f.Size, 1), cmp.Or(f.Size, 1)
	for k := 0; f.Size == 0 && k < len(p.Files); k++ { // the first that can be read
		if first, err := readPicture(p.Files[k]); err == nil {
			p.w, p.h = first.size()
			break
		}
	}
	if f.Grey {
		p.c = 1
	}
	clear := make([]bool, len(p.Files))
	p.progress = f.Progress
	p.read = func(k int) (m *Images, err error) {
		m, clear[k], err = f.prepare(p.Files[k], p.h, p.w)
		return m, err
	}
	m, err := p.Load(ctx)
	if some := slices.Index(clear, true); some >= 0 {
		f.note("%d pictures are transparent in places, which become black, %s first", count(clear), p.Files[some])
	}
	return m, err
}

func count(all []bool) (n int) {
	for _, is := range all {
		if is {
			n++
		}
	}
	return n
}

func (f Folder) note(line string, args ...any) {
	if f.Note != nil {
		f.Note(fmt.Sprintf(line, args...))
	}
}

// list returns the pictures and their classes.
func (f Folder) list() (*Pictures, error) {
	t, err := walk(filepath.Join(f.Dir, f.Split))
	if err != nil {
		return nil, err
	}
	for _, kind := range slices.Sorted(maps.Keys(t.others)) {
		f.note("left out: %d %s, %s first", len(t.others[kind]), kind, t.others[kind][0])
	}
	if t.table {
		return f.labelled(t)
	}
	p := &Pictures{Name: t.dir}
	var deep []string
	inside := map[string][]string{}
	for _, file := range t.pictures {
		switch at := strings.Split(file, string(filepath.Separator)); len(at) {
		case 1:
			p.Files = append(p.Files, filepath.Join(t.dir, file))
		case 2:
			inside[at[0]] = append(inside[at[0]], filepath.Join(t.dir, file))
		default:
			deep = append(deep, file)
		}
	}
	var splits []string // without a picture directly in them: no classes
	for _, file := range deep {
		top, _, _ := strings.Cut(file, string(filepath.Separator))
		if len(inside[top]) == 0 && !slices.Contains(splits, top) {
			splits = append(splits, top)
		}
	}
	switch {
	case len(t.pictures) == 0:
		return nil, missing(t.dir, "no PNG, JPEG, GIF, WebP, BMP or TIFF pictures in it")
	case len(splits) > 0:
		return nil, missing(t.dir,
			"pictures lie two levels down in %d folders (%s), as %s: Split = %s takes those of it",
			len(splits), strings.Join(splits[:min(5, len(splits))], ", "), deep[0], splits[0])
	case len(deep) > 0:
		f.note("left out: %d pictures in folders of classes' folders, %s first", len(deep), deep[0])
	}
	for _, name := range t.folders {
		if len(inside[name]) > 0 || f.Empty {
			p.Files = append(p.Files, inside[name]...)
			p.Labels = append(p.Labels, slices.Repeat([]int{len(p.Classes)}, len(inside[name]))...)
			p.Classes = append(p.Classes, name)
		}
	}
	if len(p.Labels) != len(p.Files) && p.Classes != nil {
		return nil, fmt.Errorf("data: folder %q: pictures both in it and in folders of it, %q first: want either",
			t.dir, p.Classes[0])
	}
	return p, nil
}

// missing returns an ErrMissing that names the folder.
func missing(dir, text string, args ...any) error {
	return fmt.Errorf("data: folder %q: %w: "+text, append([]any{dir, ErrMissing}, args...)...)
}

// tree is what lies in a folder. Names are paths within it.
type tree struct {
	dir      string
	pictures []string
	folders  []string            // directly in it
	others   map[string][]string // other files by their kind
	table    bool                // there is a labels.csv
}

const labelsFile = "labels.csv"

// walk lists a folder down to three levels, without hidden files. It follows links to files, not those to folders.
func walk(dir string) (tree, error) {
	t := tree{dir: dir, others: map[string][]string{}}
	real, err := filepath.EvalSymlinks(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return t, fmt.Errorf("data: folder: %w: %w", ErrMissing, err)
	}
	if err != nil {
		return t, fmt.Errorf("data: folder: %w", err)
	}
	err = filepath.WalkDir(real, func(path string, e fs.DirEntry, err error) error {
		name, _ := filepath.Rel(real, path)
		level := strings.Count(name, string(filepath.Separator))
		switch hidden := strings.HasPrefix(e.Name(), ".") && name != "."; {
		case err != nil:
			return err
		case e.IsDir() && (hidden || level == 3):
			return fs.SkipDir
		case hidden || name == ".":
		case e.IsDir() && level == 0:
			t.folders = append(t.folders, name)
		case e.IsDir():
		case name == labelsFile:
			t.table = true
		case isPictureName(name) && !isDir(path):
			t.pictures = append(t.pictures, name)
		default:
			kind := cmp.Or(strings.ToLower(filepath.Ext(name)), "nameless") + " files"
			if isDir(path) {
				kind = "links to folders"
			}
			t.others[kind] = append(t.others[kind], name)
		}
		return nil
	})
	if err == nil && !isDir(real) {
		err = errors.New("it is a file")
	}
	if err != nil {
		return t, fmt.Errorf("data: folder %s: %w", dir, err)
	}
	return t, nil
}

// prepare reads a picture, h×w, and reports whether it is transparent in places.
func (f Folder) prepare(path string, h, w int) (m *Images, transparent bool, err error) {
	p, err := readPicture(path)
	if err != nil {
		return nil, false, err
	}
	b := p.Bounds()
	if f.Size > 0 {
		b = centre(b, min(b.Dx(), b.Dy()))
	} else if wide, high := p.size(); high != h || wide != w {
		return nil, false, fmt.Errorf("data: %s: %w", path, sizeError{image.Pt(wide, high), image.Pt(w, h)})
	}
	m = fromPicture(p, b)
	if f.Grey {
		if m, err = m.Grey(); err != nil {
			return nil, false, err
		}
	}
	if p.turn > 4 { // before it is turned
		h, w = w, h
	}
	if m.h != h || m.w != w {
		if m, err = m.Resize(h, w, Bilinear); err != nil {
			return nil, false, err
		}
	}
	return m.turned(p.turn), p.transparent(), nil
}
