package data

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"coupling/data/internal/fetch"
)

// From lists the places where data sets are looked for. The zero value looks, in this
// order, in
//
//  1. the folder that the environment variable COUPLING_DATA names,
//  2. the cache, coupling in the user's cache folder ([os.UserCacheDir]),
//  3. ../shared/data, seen from the working directory or the nearest folder
//     above it that has it,
//
// and downloads files that are in none of them, to COUPLING_DATA where that is set and
// to the cache otherwise. Each data set has its own folder there, e.g. mnist/.
// COUPLING_DATA=sample names no folder, see [Choose].
type From struct {
	// Dir, when set, is the only place to look at: a folder of data sets, or that
	// of the one data set. Nothing is downloaded then.
	Dir string
	// Offline forbids downloads.
	Offline bool
	// Origin selects the images: the official files, or fewer only if asked for.
	Origin Origin
	// Samples reads the images of Origin Sample. Set it by sample.From of package data/sample,
	// which embeds the files.
	Samples func(set string, split Split) (*Images, error)
	// Mirrors are base URLs to try before the official servers; each holds
	// mnist/train-images-idx3-ubyte.gz and so on.
	Mirrors []string
	// Progress is called during downloads with the file's name, the bytes received and their final
	// number, -1 if unknown.
	Progress func(name string, done, total int64)
}

// Split names a part of a data set.
type Split int

// The splits.
const (
	Train Split = iota // the training images
	Test               // the test images
	Valid              // the validation images, which only CelebA has
)

// String returns "train", "test" or "valid".
func (s Split) String() string {
	if s < Train || s > Valid {
		return fmt.Sprintf("Split(%d)", int(s))
	}
	return [...]string{"train", "test", "valid"}[s]
}

// roots returns the folders that may hold data sets, the first choice first.
func (f From) roots() []string {
	if f.Dir != "" {
		return []string{f.Dir}
	}
	var roots []string
	if dir := userFolder(); dir != "" {
		roots = append(roots, dir)
	}
	if dir, err := cache(); err == nil {
		roots = append(roots, dir)
	}
	if dir := shared(); dir != "" {
		roots = append(roots, dir)
	}
	return roots
}

// userFolder is the folder that COUPLING_DATA names, empty where there is none.
func userFolder() string {
	dir := os.Getenv("COUPLING_DATA")
	if dir == string(Sample) {
		return ""
	}
	return dir
}

// shared returns the nearest ../shared/data, going up from the working
// directory, so that the tests of every package find it.
func shared() string {
	dir, err := os.Getwd()
	for err == nil {
		up := filepath.Dir(dir)
		if up == dir {
			break
		}
		if there := filepath.Join(up, "shared", "data"); isDir(there) {
			return there
		}
		dir = up
	}
	return ""
}

func cache() (string, error) {
	dir, err := os.UserCacheDir()
	return filepath.Join(dir, "coupling"), err
}

// target returns the folder that downloads go to.
func (f From) target() (string, error) {
	if dir := userFolder(); dir != "" {
		return dir, nil
	}
	dir, err := cache()
	if err != nil {
		return "", fmt.Errorf("data: no folder for downloads: %w; set COUPLING_DATA", err)
	}
	return dir, nil
}

// find returns the first of the named files or folders of a data set that
// exists, "" when none does. With Dir the data set's own folder may be left out.
func (f From) find(set string, names ...string) string {
	for _, root := range f.roots() {
		folders := []string{filepath.Join(root, set)}
		if f.Dir != "" {
			folders = append(folders, root)
		}
		for _, folder := range folders {
			for _, name := range names {
				if path := filepath.Join(folder, name); exists(path) {
					return path
				}
			}
		}
	}
	return ""
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// remote is a file that servers hold.
type remote struct {
	set      string   // folder of the data set
	name     string   // as it is served and stored, e.g. train-images-idx3-ubyte.gz
	unpacked string   // the file or folder that it unpacks to, which serves as well
	bases    []string // URLs of the folders that hold it
	sha256   string   // of the stored file; "" when any packing will do
	content  string   // SHA-256 of the unpacked content; "" when not used
	maxBytes int64    // of the stored file
	size     int64    // of the unpacked content
}

// packed describes a file that servers hold packed by gzip, by one packing or another.
func packed(set, name string, bases []string, content string, size int64) remote {
	const overhead = 1 << 16 // of gzip, for content that does not compress
	return remote{
		set:      set,
		name:     name + ".gz",
		unpacked: name,
		bases:    bases,
		content:  content,
		maxBytes: size + overhead,
		size:     size,
	}
}

func (r remote) names() []string { return []string{r.name, r.unpacked} }

// place returns the path of r, downloaded if it is in none of the folders.
func (f From) place(ctx context.Context, r remote) (string, error) {
	if err := f.Origin.check(r.set); err != nil {
		return "", err
	}
	if path := f.find(r.set, r.names()...); path != "" {
		return path, nil
	}
	return f.get(ctx, r)
}

// get downloads r to a place where find looks, and returns its path.
func (f From) get(ctx context.Context, r remote) (string, error) {
	if f.Dir != "" || f.Offline {
		return "", f.missing(r, nil)
	}
	if len(f.Mirrors) == 0 && !reachable()[r.set] {
		return "", f.missing(r, errors.New("no server answers"))
	}
	root, err := f.target()
	if err != nil {
		return "", err
	}
	var urls []string
	for _, mirror := range f.Mirrors {
		urls = append(urls, strings.TrimSuffix(mirror, "/")+"/"+r.set+"/"+r.name)
	}
	for _, base := range r.bases {
		urls = append(urls, base+r.name)
	}
	path := filepath.Join(root, r.set, r.name)
	client := fetch.Client{Progress: f.Progress}
	err = client.Get(ctx, fetch.File{
		Path: path, URLs: urls, MaxBytes: r.maxBytes, Check: func(path string) error { return r.check(ctx, path) },
	})
	if ctx.Err() != nil {
		return "", err
	}
	if err != nil {
		return "", f.missing(r, err)
	}
	return path, nil
}

// check reads the file at path and compares its checksums.
func (r remote) check(ctx context.Context, path string) error {
	_, err := parse(ctx, path, r, func(io.Reader) (struct{}, error) { return struct{}{}, nil })
	return err
}

// missing returns an error of one line: where r was looked for, why it was not downloaded, and what to do.
func (f From) missing(r remote, reason error) error {
	switch {
	case reason != nil:
	case f.Dir != "":
		reason = errors.New("From.Dir is the only place to look at")
	default:
		reason = errors.New("From.Offline forbids the download")
	}
	return fmt.Errorf("data: %s: %w: no %s in %s; %w; fix: %s, or set COUPLING_DATA to a folder that holds it",
		r.set, ErrMissing, filepath.Join(r.set, r.name), strings.Join(f.roots(), ", "), reason, curl(f, r))
}

// curl is the command line that puts files in their place.
func curl(f From, files ...remote) string {
	var s strings.Builder
	s.WriteString("curl -fL --create-dirs")
	for _, r := range files {
		fmt.Fprintf(&s, " -o %s %s%s", quoted(filepath.Join(f.home(), r.set, r.name)), r.bases[0], r.name)
	}
	return s.String()
}

// quoted is a path as a shell reads it back. The variable that stands for an
// unknown folder is left for the shell to replace.
func quoted(path string) string {
	if strings.HasPrefix(path, unknownHome) {
		return `"` + path + `"`
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}

const unknownHome = "$COUPLING_DATA"

// home is the folder named to a user as the place for data sets.
func (f From) home() string {
	if f.Dir != "" {
		return f.Dir
	}
	if root, err := f.target(); err == nil {
		return root
	}
	return unknownHome
}
