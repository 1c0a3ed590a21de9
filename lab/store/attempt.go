package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
)

// An Attempt is what a running experiment gets, and what it leaves.
type Attempt struct {
	Key       Key
	Seed      uint64
	Scratch   string   // the folder of checkpoints, which survives a killed, cancelled or failed attempt
	Files     string   // the folder of artifacts, dropped if the cell fails
	Artifacts []string // names of files in Files that the experiment promises
	Device    string   // that it opened, for the manifest; empty: the CPU
	Progress  func(done, total int)
}

// collect syncs and describes the artifacts of a finished cell. An artifact whose path was given
// out but that does not exist is an error: the cell may have lost its directory.
func (a *Attempt) collect() ([]Artifact, error) {
	if len(a.Artifacts) == 0 {
		return nil, nil
	}
	root := a.Files
	var out []Artifact
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if !d.Type().IsRegular() {
			return fmt.Errorf("lab: artifact %s is not a regular file", file)
		}
		rel, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		described, err := describeFile(file, filepath.ToSlash(rel))
		out = append(out, described)
		return errors.Join(err, syncFile(file))
	})
	if err != nil {
		return nil, err
	}
	for _, name := range a.Artifacts {
		if !slices.ContainsFunc(out, func(a Artifact) bool { return a.Name == path.Clean(name) }) {
			return nil, fmt.Errorf("lab: artifact %s was asked for, but not written", name)
		}
	}
	return out, nil
}

func syncFile(name string) error {
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
