package lab

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// WarmStart puts an artifact of one finished cell into the [Cell.Scratch] of
// another that nobody has begun, under name: a checkpoint from which a longer run
// of the same configuration goes on. It does nothing if that cell is finished or has
// scratch of its own. The error is [ErrMissing] if from has no such artifact.
//
// A key does not know of its cell's scratch, so the experiment must give the same
// result with it and without.
func (s *Store) WarmStart(id Record, name string, from Record, artifact string) error {
	p := s.paths(id)
	if !filepath.IsLocal(filepath.FromSlash(name)) {
		return fmt.Errorf("lab: warm start: name %q: want a relative slash-separated path", name)
	}
	if !slices.ContainsFunc(from.Artifacts, func(a Artifact) bool { return a.Name == artifact }) {
		return fmt.Errorf("lab: artifact %q: %w", artifact, ErrMissing)
	}
	if err := s.create(p); err != nil {
		return err
	}
	begun, err := p.numbered(partSuffix)
	if _, stored := os.Stat(p.record); err != nil || stored == nil || len(begun) > 0 {
		return err
	}
	// Generation 0 is older than any attempt's, so the first adopts it.
	tmp := p.part(0) + ".new"
	defer func() { _ = os.RemoveAll(tmp) }()
	if err := s.copyArtifact(from, artifact, filepath.Join(tmp, "scratch", filepath.FromSlash(name))); err != nil {
		return err
	}
	if err := os.Rename(tmp, p.part(0)); err != nil && !errors.Is(err, fs.ErrExist) { // another was quicker
		return fmt.Errorf("lab: warm start: %w", err)
	}
	return nil
}

func (s *Store) copyArtifact(from Record, artifact, to string) error {
	f, err := s.OpenArtifact(from, artifact)
	if err != nil {
		return err
	}
	defer f.Close()
	return WriteFile(to, func(w io.Writer) error { _, err := io.Copy(w, f); return err })
}
