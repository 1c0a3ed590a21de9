package store

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// The files of a store. No other file of this package knows their names.
//
//	DIR/cells/EXPERIMENT/ab/                   a shard: the cells whose keys begin with ab
//	DIR/cells/EXPERIMENT/ab/NAME.json          the record: present means finished
//	DIR/cells/EXPERIMENT/ab/NAME.files.ID/     its artifacts
//	DIR/cells/EXPERIMENT/ab/NAME.failed.json   why the last attempt failed
//	DIR/cells/EXPERIMENT/ab/NAME.scratch/      work in progress, kept for a resume
//	DIR/cells/EXPERIMENT/ab/NAME.lock          who is at work
//	DIR/cells/EXPERIMENT/ab/….tmp              a file that is being written
//
// NAME is KEY.CODE: results of different code stand side by side. Older versions wrote KEY alone.
const (
	recordSuffix  = ".json"
	filesSuffix   = ".files."
	failureSuffix = ".failed.json"
	scratchSuffix = ".scratch"
	lockSuffix    = ".lock"
	tmpSuffix     = ".tmp"
)

type cellPaths struct {
	dir     string // the shard
	base    string // dir/NAME, which every name below begins with
	record  string
	failure string
	scratch string
	lock    string
}

func (s *Store) cells() string { return filepath.Join(s.Dir, "cells") }

func (s *Store) paths(r Record) cellPaths {
	return s.shard(r).paths(r.Name())
}

func (s *Store) shard(r Record) shard {
	return shard{filepath.Join(s.cells(), filepath.FromSlash(r.Experiment), string(r.Key[:2])), r.Experiment}
}

func (sh shard) paths(name string) cellPaths {
	base := filepath.Join(sh.dir, name)
	return cellPaths{sh.dir, base, base + recordSuffix, base + failureSuffix, base + scratchSuffix, base + lockSuffix}
}

func (p cellPaths) files(attempt string) string { return p.base + filesSuffix + attempt }

// Name returns KEY.CODE, or KEY alone in older stores: what the names of the record's files begin with.
func (r Record) Name() string {
	if r.Code == "" || r.keyOnly {
		return string(r.Key)
	}
	return string(r.Key) + "." + r.Code
}

// cut splits the name of a file of a shard after KEY or KEY.CODE.
func cut(file string) (name, suffix string, ok bool) {
	if len(file) <= keyDigits || file[keyDigits] != '.' || !isHex(file[:keyDigits]) {
		return "", "", false
	}
	n := keyDigits
	if code, _, _ := strings.Cut(file[n+1:], "."); isCode(code) {
		n += 1 + len(code)
	}
	return file[:n], file[n:], true
}

func isHex(s string) bool { return strings.Trim(s, "0123456789abcdef") == "" }

// A shard is a folder of cells.
type shard struct {
	dir        string
	experiment string
}

// shards yields those of the experiments whose names begin with prefix, ordered by path. It follows
// links to folders, as looking for a single cell does.
func (s *Store) shards(prefix string) iter.Seq2[shard, error] {
	return func(yield func(shard, error) bool) { s.below("", prefix, yield) }
}

// below yields the shards in a folder of cells, which is called name.
func (s *Store) below(name, prefix string, yield func(shard, error) bool) bool {
	dir := filepath.Join(s.cells(), filepath.FromSlash(name))
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // else removed meanwhile
		return yield(shard{}, fmt.Errorf("lab: store: %w", err))
	}
	for _, e := range entries {
		to := filepath.Join(dir, e.Name())
		if fi, err := os.Stat(to); !e.IsDir() && (e.Type()&fs.ModeSymlink == 0 || err != nil || !fi.IsDir()) {
			continue
		}
		sub := path.Join(name, e.Name())
		switch isShard := len(e.Name()) == 2 && isHex(e.Name()) && name != ""; {
		case isShard && strings.HasPrefix(name, prefix):
			if !yield(shard{to, name}, nil) {
				return false
			}
		case isShard || !strings.HasPrefix(sub, prefix) && !strings.HasPrefix(prefix, sub):
		case strings.Count(sub, "/") > mostWords:
			return yield(shard{},
				fmt.Errorf("lab: store: %s: a name of more than %d words, or a link to a folder above it",
					to, mostWords))
		case !s.below(sub, prefix, yield):
			return false
		}
	}
	return true
}

// mostWords is the number of words, between slashes, of the longest name that lists follow.
const mostWords = 16

// OnlyOf reports whether the store holds cells of no other experiments than the keys of known.
func (s *Store) OnlyOf(known map[string]string) bool {
	for sh, err := range s.shards("") {
		if _, ok := known[sh.experiment]; !ok || err != nil {
			return false
		}
	}
	return true
}

// A file is one of a cell, in its shard.
type file struct {
	name, suffix string // KEY.CODE, or KEY, and what follows
	entry        fs.DirEntry
}

func (f file) key() Key { return Key(f.name[:keyDigits]) }

func (sh shard) path(f file) string { return filepath.Join(sh.dir, f.name+f.suffix) }

// list reads the folder; a missing one is empty.
func (sh shard) list() (files []file, err error) {
	entries, err := os.ReadDir(sh.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("lab: store: %w", err)
	}
	for _, e := range entries {
		if name, suffix, ok := cut(e.Name()); ok {
			files = append(files, file{name, suffix, e})
		}
	}
	return files, nil
}
