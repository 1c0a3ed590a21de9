package lab

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"coupling/lab/durable"
)

// WarmStart copies an artifact of one finished cell into the [Cell.Scratch] of another cell that
// has not started, under name: a checkpoint from which a longer run of the same configuration
// continues. It does nothing if that cell is finished or already has scratch. The error is
// [ErrMissing] if from has no such artifact.
//
// Scratch is not in the key, so the experiment must give the same result with and without it.
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
