package lab

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"coupling/lab/durable"
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
	for _, begun := range []string{p.record, p.scratch} {
		if _, err := os.Stat(begun); err == nil {
			return nil
		}
	}
	f, err := s.OpenArtifact(from, artifact)
	if err != nil {
		return err
	}
	defer f.Close()
	return durable.WriteFile(filepath.Join(p.scratch, filepath.FromSlash(name)), 0o666, func(w io.Writer) error { _, err := io.Copy(w, f); return err })
}
