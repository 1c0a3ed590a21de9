package main

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"coupling/data"
	"coupling/data/format"
	"coupling/lab"
	"coupling/lab/durable"
	"coupling/ot"

	"gonum.org/v1/gonum/mat"
)

// results are what a solve writes whatever else; a nil plan is not written.
type results struct {
	plan              *mat.Dense
	alpha, beta, f, g []float64
}

// resultFiles are all that any solve writes.
var resultFiles = []string{"plan", "alpha", "beta", "f", "g", "grad_sharp_M", "grad_sharp_x", "grad_sharp_y"}

// file is the path of a result.
func (c solveCmd) file(name string) string { return filepath.Join(c.Out, name+".npy") }

// files are the paths of all that any solve writes.
func (c solveCmd) files() []string {
	out := []string{filepath.Join(c.Out, summaryFile)}
	for _, name := range resultFiles {
		out = append(out, c.file(name))
	}
	return out
}

const summaryFile = "summary.json"

// writeSummary writes the summary with the digests of the inputs.
func (c solveCmd) writeSummary(s *summary) error {
	s.Inputs = map[string]string{}
	for flag, path := range map[string]string{"x": c.X, "y": c.Y, "cost-matrix": c.CostMatrix, "a": c.A, "b": c.B} {
		if path != "" {
			archive, _, _ := splitMember(path)
			digest, _, err := durable.Digest(archive)
			lab.Check(err)
			s.Inputs[flag] = digest
		}
	}
	return writeSummary(c.Out, s)
}

// writeSummary writes summary.json into a folder of results.
func writeSummary(dir string, s any) error {
	return durable.WriteFile(filepath.Join(dir, summaryFile), 0o666, func(w io.Writer) error { return encodeJSON(w, s) })
}

// largePlan is the size of plan.npy from which the command says how large it is before it begins: 1 GiB.
const largePlan = 1 << 30

// warn says what will take gigabytes.
func (c solveCmd) warn(a *app, p ot.Problem) {
	n, m := p.Geometry.Dims()
	if size := 8 * float64(n) * float64(m); !c.NoPlan && size >= largePlan {
		fmt.Fprintf(a.err, "solve: plan.npy will be %.1f GB, in memory and in %s; --no-plan leaves it out\n", size/1e9, c.Out)
	}
}

// splitMember splits archive.npz:name.
func splitMember(path string) (archive, member string, ok bool) {
	at := strings.LastIndex(strings.ToLower(path), ".npz:")
	if at < 0 {
		return path, "", false
	}
	return path[:at+4], path[at+5:], true
}

// maxMember is the largest member of an archive that is read.
const maxMember = 1 << 36

// readInput reads a matrix from a file that data.ReadPoints reads, or from a member of an NPZ archive.
func readInput(path string) (m *mat.Dense, err error) {
	defer lab.End(&err)
	archive, member, ok := splitMember(path)
	if !ok {
		return data.ReadPoints(path)
	}
	z, err := zip.OpenReader(archive)
	lab.Check(prefix(archive, err))
	defer func() { _ = z.Close() }()
	var names []string
	for _, f := range z.File {
		name := strings.TrimSuffix(f.Name, ".npy")
		if names = append(names, name); name != member {
			continue
		}
		r, err := f.Open()
		lab.Check(prefix(path, err))
		rows, cols, v, err := format.ReadNPYMatrix(r, maxMember)
		lab.Check(prefix(path, errors.Join(err, r.Close())))
		return mat.NewDense(rows, cols, v), nil
	}
	return nil, fmt.Errorf("%s has no member %q: it has %s", archive, member, strings.Join(names, ", "))
}

// removeFile removes a file, if there is one.
func removeFile(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// write writes results in place of those of any earlier solve, all of which it removes first: what is in the folder
// belongs together.
func (c solveCmd) write(r results) {
	for _, path := range c.files() {
		lab.Check(removeFile(path))
	}
	if r.plan != nil {
		lab.Check(writeMatrix(c.file("plan"), r.plan))
	}
	for name, v := range map[string][]float64{"alpha": r.alpha, "beta": r.beta, "f": r.f, "g": r.g} {
		lab.Check(writeNPY(c.file(name), []int{len(v)}, v))
	}
}

func (c solveCmd) writeGradient(g *ot.Gradient) {
	m := (*mat.Dense)(nil)
	switch c.Grad {
	case "M":
		m = g.Cost()
	case "x":
		m = lab.Must(g.X())
	case "y":
		m = lab.Must(g.Y())
	}
	lab.Check(writeMatrix(c.file("grad_sharp_"+c.Grad), m))
}
