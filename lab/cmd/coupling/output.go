package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"coupling/data"
	"coupling/data/format"
	"coupling/lab"
	"coupling/lab/durable"

	"gonum.org/v1/gonum/mat"
)

// summaryFile is the manifest of a folder of results.
const summaryFile = "summary.json"

type inputs struct {
	say   io.Writer
	read  map[string]data.Points // by flag
	paths []string               // of files and folders
}

// inputs returns a reader of files that prints what each holds.
func (a *app) inputs() *inputs {
	in := &inputs{say: a.err, read: map[string]data.Points{}}
	if a.quiet {
		in.say = io.Discard
	}
	return in
}

// points reads the file of a flag, and prints how many points of which dimension it has: a column
// of row numbers, or a first point taken for a header, is seen there.
func (in *inputs) points(flag, path string) *mat.Dense {
	return in.load(flag, path, func(n, d int) string {
		return fmt.Sprintf("%s in %s", plural(n, "point"), plural(d, "dimension"))
	})
}

func (in *inputs) matrix(flag, path string) *mat.Dense {
	return in.load(flag, path, func(n, d int) string { return fmt.Sprintf("%d × %d", n, d) })
}

func (in *inputs) load(flag, path string, size func(n, d int) string) *mat.Dense {
	if path == "-" && slices.Contains(in.paths, "-") {
		lab.Check(usagef("--%s -: standard input is read by another flag already", flag))
	}
	p, err := data.LoadPoints(path)
	if err != nil {
		lab.Check(usage(worded{err, "--" + flag + ": " + strings.TrimPrefix(err.Error(), "data: ")}))
	}
	in.read[flag], in.paths = p, append(in.paths, path)
	header := ""
	if p.Header != nil {
		header = fmt.Sprintf(" (header: %s)", clip(strings.Join(p.Header, ", "), 80))
	}
	fmt.Fprintf(in.say, "%s: %s%s\n", flag, size(p.X.Dims()), header)
	return p.X
}

// weights reads a row or a column of numbers; nil where no file is given.
func (in *inputs) weights(flag, path string) []float64 {
	if path == "" {
		return nil
	}
	m := in.load(flag, path, func(n, d int) string { return plural(n*d, "weight") })
	if r, c := m.Dims(); r != 1 && c != 1 {
		lab.Check(usagef("--%s %s: %d×%d: want one row or one column", flag, path, r, c))
	}
	return m.RawMatrix().Data
}

// digests returns the SHA-256 of each file, of the bytes that were parsed.
func (in *inputs) digests() map[string]string {
	out := map[string]string{}
	for flag, p := range in.read {
		out[flag] = p.SHA256
	}
	return out
}

// openOut opens the folder of results that --out names, before the work rather than after it. It
// must not lie in a folder that was read, nor have an input among the files that it would replace.
func openOut(dir string, in *inputs) *durable.Folder {
	lab.Check(usage(isOutside(dir, in.paths...)))
	f, err := durable.OpenFolder(dir, summaryFile)
	if err == nil {
		if err = errors.Join(f.Protect(in.paths...), f.Claim(summaryFile)); err != nil {
			f.Close()
		}
	}
	lab.Check(usage(prefix("--out "+dir, err)))
	return f
}

// isOutside returns an error if a new folder would lie in one of the folders that are read.
func isOutside(dir string, read ...string) error {
	if dir == "" {
		return errors.New("--out: must name a folder")
	}
	at, err := filepath.Abs(dir)
	for _, path := range read {
		in, statErr := os.Stat(path)
		if err != nil || statErr != nil || !in.IsDir() {
			continue
		}
		if _, lies := durable.Nearest(at, func(above string) bool {
			info, err := os.Stat(above)
			return err == nil && os.SameFile(in, info)
		}); lies {
			return fmt.Errorf("--out %s: it lies in %s, which is read: choose another folder", dir, path)
		}
	}
	return err
}

// commit ends a folder of results with its summary, which has the folder's files.
func commit(f *durable.Folder, summary any) error {
	return blame(f.Commit(summary))
}

// claim ends the command if one of the results would replace a file that no run of this command wrote.
func claim(f *durable.Folder, names ...string) {
	lab.Check(blame(f.Claim(names...)))
}

func writeNPY(f *durable.Folder, name string, shape []int, x []float64) {
	lab.Check(f.WriteFile(name, func(w io.Writer) error { return format.WriteNPY(w, shape, x) }))
}

func writeMatrix(f *durable.Folder, name string, m *mat.Dense) {
	r, c := m.Dims()
	writeNPY(f, name, []int{r, c}, m.RawMatrix().Data)
}

// isOwnInput returns an error if a file that a flag names for writing is one that is read.
func isOwnInput(flag, path string, read ...string) error {
	at, err := os.Stat(path)
	for _, r := range read {
		if in, bad := os.Stat(r); err == nil && bad == nil && os.SameFile(at, in) {
			return fmt.Errorf("--%s %s: it is the file %s, which is read: choose another", flag, path, r)
		}
	}
	return nil
}
