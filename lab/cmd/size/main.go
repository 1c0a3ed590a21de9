// Command size counts what a reader of the repository reads: tokens (go/scanner, comments apart) of
// code, tests, test kits and generators, by folder. Generated files do not count. Kernels and the
// emulator in C++ and CUDA stand in a column of their own, in words and signs.
//
//	git ls-files | go run ./lab/cmd/size > .ci/size    (make size)
package main

import (
	"bufio"
	"bytes"
	"fmt"
	"go/scanner"
	"go/token"
	"io"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
)

var (
	kits = regexp.MustCompile(
		`^(ot/ottest|dp/dptest|lab/nn/nntest|lab/device/devicetest|figures/figtest|.*/peers)/`)
	generators = regexp.MustCompile(`(/internal/gen|/internal/generate|/internal/mutate)/|/generate\.go$`)
	cells      = regexp.MustCompile(`^figures/scripts/[^i]`)
	sign       = regexp.MustCompile(`\w+|[^\w\s]`)
)

// count is what one folder holds, by column.
type count [5]int

const (
	code = iota
	tests
	kitCode
	generated
	kernels
)

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "size:", err)
		os.Exit(1)
	}
}

func run(names io.Reader, out io.Writer) error {
	folders, all := map[string]*count{}, count{}
	for in := bufio.NewScanner(names); in.Scan(); {
		column, n, err := countFile(in.Text())
		if err != nil {
			return err
		}
		name := folder(in.Text())
		if n > 0 && folders[name] == nil {
			folders[name] = &count{}
		}
		if n > 0 {
			folders[name][column] += n
			all[column] += n
		}
	}
	fmt.Fprintf(out, "%-14s %8s %8s %8s %10s %8s\n", "", "code", "tests", "kits", "generators", "kernels")
	for _, name := range slices.Sorted(maps.Keys(folders)) {
		row(out, name, *folders[name])
	}
	row(out, "all", all)
	return nil
}

func row(out io.Writer, name string, c count) {
	fmt.Fprintf(out, "%-14s %8d %8d %8d %10d %8d\n", name, c[code], c[tests], c[kitCode], c[generated], c[kernels])
}

// folder is the first part of a file's path, or its first two in the largest folders.
func folder(name string) string {
	parts := strings.Split(path.Dir(name), "/")
	if len(parts) > 1 && slices.Contains([]string{"dp", "figures", "lab", "ot", "score"}, parts[0]) {
		return path.Join(parts[0], parts[1])
	}
	return parts[0]
}

func countFile(name string) (column, n int, err error) {
	kernel := slices.Contains([]string{".cu", ".cuh", ".cpp", ".h"}, path.Ext(name))
	if path.Ext(name) != ".go" && !kernel || cells.MatchString(name) {
		return code, 0, nil
	}
	src, err := os.ReadFile(name)
	switch {
	case err != nil || bytes.Contains(src[:min(len(src), 400)], []byte("DO NOT EDIT")):
		return code, 0, err
	case kernel:
		return kernels, len(sign.FindAll(src, -1)), nil
	case strings.HasSuffix(name, "_test.go"):
		column = tests
	case kits.MatchString(name):
		column = kitCode
	case generators.MatchString(name):
		column = generated
	}
	return column, tokens(src), nil
}

// tokens is the number of Go tokens of src, without comments and without the semicolons that ends of lines stand for.
func tokens(src []byte) (n int) {
	var s scanner.Scanner
	s.Init(token.NewFileSet().AddFile("", -1, len(src)), src, nil, 0)
	for {
		switch _, t, lit := s.Scan(); {
		case t == token.EOF:
			return n
		case t != token.SEMICOLON || lit != "\n":
			n++
		}
	}
}
