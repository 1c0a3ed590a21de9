package lab

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
)

// The files of a store. No other file of this package knows their names.
//
//	DIR/cells/EXPERIMENT/ab/                     a shard: the cells whose keys begin with ab
//	DIR/cells/EXPERIMENT/ab/abcdef….json         the record: present means finished
//	DIR/cells/EXPERIMENT/ab/abcdef….files.ID/    its artifacts
//	DIR/cells/EXPERIMENT/ab/abcdef….failed.json  why the last attempt failed
//	DIR/cells/EXPERIMENT/ab/abcdef….scratch/     work in progress, kept for a resume
//	DIR/cells/EXPERIMENT/ab/abcdef….lock         who is at work
//	DIR/cells/EXPERIMENT/ab/….tmp                a file that is being written
const (
	recordSuffix  = ".json"
	filesSuffix   = ".files."
	failureSuffix = ".failed.json"
	scratchSuffix = ".scratch"
	lockSuffix    = ".lock"
	tmpSuffix     = ".tmp"
)

// cellPaths names the files of one cell.
type cellPaths struct {
	dir     string // the shard
	base    string // dir/KEY, which every name below begins with
	record  string
	failure string
	scratch string
	lock    string
}

func (s *Store) cells() string { return filepath.Join(s.Dir, "cells") }

func (s *Store) paths(r Record) cellPaths {
	return shard{path: filepath.Join(s.cells(), filepath.FromSlash(r.Experiment), string(r.Key[:2]))}.paths(r.Key)
}

func (sh shard) paths(key Key) cellPaths {
	base := filepath.Join(sh.path, string(key))
	return cellPaths{sh.path, base, base + recordSuffix, base + failureSuffix, base + scratchSuffix, base + lockSuffix}
}

func (p cellPaths) files(attempt string) string { return p.base + filesSuffix + attempt }

// keyOf returns the cell that a file of a shard belongs to, and the rest of the name.
func keyOf(name string) (key Key, suffix string, ok bool) {
	if len(name) <= keyDigits || name[keyDigits] != '.' || !isHex(name[:keyDigits]) {
		return "", "", false
	}
	return Key(name[:keyDigits]), name[keyDigits:], true
}

func isHex(s string) bool { return strings.Trim(s, "0123456789abcdef") == "" }

// A shard is a folder of cells.
type shard struct {
	path       string
	experiment string
}

// shards yields those of the experiments whose names begin with prefix, ordered by path.
func (s *Store) shards(prefix string) iter.Seq2[shard, error] {
	return func(yield func(shard, error) bool) {
		root := s.cells()
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			switch {
			case errors.Is(err, fs.ErrNotExist): // removed meanwhile
				return nil
			case err != nil:
				return err
			case !d.IsDir() || path == root:
				return nil
			}
			name, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			name = filepath.ToSlash(name)
			if len(d.Name()) != 2 || !isHex(d.Name()) {
				if strings.HasPrefix(name, prefix) || strings.HasPrefix(prefix, name) {
					return nil
				}
				return fs.SkipDir
			}
			experiment := strings.TrimSuffix(name, "/"+d.Name())
			if strings.HasPrefix(experiment, prefix) && !yield(shard{path, experiment}, nil) {
				return fs.SkipAll
			}
			return fs.SkipDir
		})
		if err != nil {
			yield(shard{}, fmt.Errorf("lab: store: %w", err))
		}
	}
}

// list reads the folder; a missing one is empty.
func (sh shard) list() ([]fs.DirEntry, error) {
	entries, err := os.ReadDir(sh.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("lab: store: %w", err)
	}
	return entries, nil
}
