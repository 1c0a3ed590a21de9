package durable

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// ErrForeign marks a file that a [Folder] would replace although no earlier one wrote it.
var ErrForeign = errors.New("it is not replaced, since nothing here says that this program wrote it; " +
	"fix: move it away, or choose another folder")

// A Folder replaces files of a folder together: new ones wait in a subfolder until all are on the disk,
// and only then get their places. It neither replaces nor removes a file unless an earlier Folder wrote
// it, as the JSON object of its manifest lists under "files".
type Folder struct {
	// Keep has Commit keep what earlier Folders wrote and this does not, but for Drop.
	Keep bool

	dir, manifest string
	lock          *Lock
	made          bool              // dir did not exist
	own           map[string]string // what earlier Folders wrote, with the SHA-256 as far as it is known
	names         []string          // what waits
	dropped       []string
	sums          map[string]string
}

// OpenFolder makes dir if it is missing and locks it against other Folders of the same manifest ("":
// none), or returns an error that wraps [ErrLocked]. It removes what a killed process left.
func OpenFolder(dir, manifest string) (*Folder, error) {
	f := &Folder{dir: dir, manifest: manifest, own: map[string]string{}, sums: map[string]string{}}
	_, missing := os.Lstat(dir)
	f.made = errors.Is(missing, fs.ErrNotExist)
	if err := os.MkdirAll(f.Staging(""), 0o777); err != nil {
		return nil, err
	}
	lock, err := TryLock(f.Staging("lock"))
	if err != nil {
		return nil, err
	}
	f.lock = lock
	if manifest != "" { // of the last run that ended, and of one that was killed while it moved its files
		f.readManifest(f.path(manifest))
		f.readManifest(f.Staging(manifest))
	}
	entries, err := os.ReadDir(f.Staging(""))
	for _, e := range entries {
		if e.Name() != "lock" {
			err = errors.Join(err, os.RemoveAll(f.Staging(e.Name())))
		}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// readManifest adds the files of a manifest to those of earlier Folders, if there is one.
func (f *Folder) readManifest(path string) {
	var earlier struct {
		Files map[string]string `json:"files"`
	}
	if b, err := os.ReadFile(path); err != nil || json.Unmarshal(b, &earlier) != nil || earlier.Files == nil {
		return
	}
	f.Own(f.manifest)
	for name, sum := range earlier.Files {
		f.Own(name)
		f.own[name] = sum
	}
}

// Staging returns where the file or folder of a name waits for [Folder.Commit].
func (f *Folder) Staging(name string) string {
	return filepath.Join(f.dir, ".new-"+f.manifest, filepath.FromSlash(name))
}

func (f *Folder) path(name string) string { return filepath.Join(f.dir, filepath.FromSlash(name)) }

// Own marks files as written by an earlier Folder.
func (f *Folder) Own(names ...string) {
	for _, name := range names {
		f.own[name] = ""
	}
}

// Drop has Commit remove files of earlier Folders although Keep is set, unless they are written again.
func (f *Folder) Drop(names ...string) { f.dropped = append(f.dropped, names...) }

func (f *Folder) stays(name string) bool { return f.Keep && !slices.Contains(f.dropped, name) }

// Protect returns an error if one of the paths, which are inputs, is a file that the Folder would replace
// or remove. Paths that do not exist are passed over.
func (f *Folder) Protect(inputs ...string) error {
	for _, path := range inputs {
		in, err := os.Stat(path)
		if err != nil {
			continue
		}
		for name := range f.own {
			if at, err := os.Stat(f.path(name)); err == nil && os.SameFile(in, at) {
				return fmt.Errorf("%s is an input, and would be replaced; fix: choose another folder", path)
			}
		}
	}
	return nil
}

// Claim returns an error that wraps [ErrForeign] if one of the names is there and not the Folder's to
// replace. Names are relative, with slashes.
func (f *Folder) Claim(names ...string) error {
	for _, name := range names {
		_, own := f.own[name]
		if _, err := os.Lstat(f.path(name)); !own && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s is there: %w", f.path(name), ErrForeign)
		}
	}
	return nil
}

// WriteFile writes the output of fill to a file that waits.
func (f *Folder) WriteFile(name string, fill func(w io.Writer) error) (err error) {
	defer func() { err = notWritten(f.path(name), err) }()
	if err := os.MkdirAll(filepath.Dir(f.Staging(name)), 0o777); err != nil {
		return err
	}
	file, err := os.Create(f.Staging(name))
	if err != nil {
		return err
	}
	h := sha256.New()
	if err := fillFile(file, true, func(w io.Writer) error { return fill(io.MultiWriter(w, h)) }); err != nil {
		return err
	}
	f.Add(name)
	f.sums[name] = hex.EncodeToString(h.Sum(nil))
	return nil
}

func fillFile(file *os.File, sync bool, fill func(io.Writer) error) error {
	w := bufio.NewWriterSize(file, 1<<16)
	err := fill(w)
	if err == nil {
		err = w.Flush()
	}
	if err == nil && sync {
		err = file.Sync()
	}
	if closed := file.Close(); err == nil {
		err = closed
	}
	return err
}

// Add takes a file or a folder that the caller made in [Folder.Staging].
func (f *Folder) Add(name string) { f.names, f.sums[name] = append(f.names, name), "" }

// Files returns the SHA-256 of each file that waits or is kept, which belongs under "files" in the
// manifest; "" where it is not known.
func (f *Folder) Files() map[string]string {
	out := maps.Clone(f.sums)
	for name, sum := range f.own {
		if _, written := out[name]; f.stays(name) && !written && name != f.manifest {
			out[name] = sum
		}
	}
	return out
}

// EncodeJSON writes v for programs and people.
func EncodeJSON(w io.Writer, v any) error {
	err := json.MarshalWrite(w, v, jsontext.WithIndent("  "), json.Deterministic(true))
	_, newline := fmt.Fprintln(w)
	return errors.Join(err, newline)
}

// Commit writes the manifest as JSON, moves what waits into its place, removes the files of earlier Folders that
// were not written again, and moves the manifest, in this order. An error before the first move leaves the
// folder as it was. A process that is killed between two moves leaves files that the next Folder recognises.
func (f *Folder) Commit(manifest any) error {
	names := f.names
	if f.manifest != "" {
		if err := f.WriteFile(f.manifest, func(w io.Writer) error { return EncodeJSON(w, manifest) }); err != nil {
			return err
		}
	}
	if err := f.Claim(f.names...); err != nil { // what came in the meantime is foreign, too
		return err
	}
	for _, name := range names {
		if err := f.move(name); err != nil {
			return err
		}
	}
	for name := range f.own {
		if !f.stays(name) && !slices.Contains(f.names, name) && filepath.IsLocal(filepath.FromSlash(name)) {
			if err := os.Remove(f.path(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	if f.manifest == "" {
		return nil
	}
	return f.move(f.manifest)
}

func (f *Folder) move(name string) error {
	to := f.path(name)
	if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
		return err
	}
	if err := os.Rename(f.Staging(name), to); err != nil {
		return err
	}
	SyncFolder(filepath.Dir(to))
	return nil
}

// Close unlocks the folder. It removes what still waits, and a folder that is new and empty.
func (f *Folder) Close() {
	if f.lock == nil {
		return
	}
	_ = os.RemoveAll(f.Staging("")) // at worst the next Folder does
	if f.made {
		_ = os.Remove(f.dir) // only if it is empty
	}
	_ = f.lock.Close()
	f.lock = nil
}
