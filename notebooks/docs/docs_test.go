// Package docs_test compiles and runs what the pages of this folder show.
package docs_test

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"coupling/data/synth"
	"coupling/dp"
	"coupling/dp/release"
	"coupling/dp/sgd"
	"coupling/lab"
	"coupling/lab/device"
	"coupling/lab/must"
	"coupling/lab/nn"
	"coupling/lab/nn/train"
	"coupling/lab/store"
	"coupling/notebooks/internal/packages"
	"coupling/ot"

	"gonum.org/v1/gonum/mat"
)

var ctx = context.Background()

func fromPOT(m *mat.Dense, a, b []float64) (float64, error) {
	plan, err := ot.Solve(ctx, ot.Problem{Geometry: ot.Dense(m), A: a, B: b}, 0.5)
	if err != nil {
		return 0, err
	}
	loss := plan.Sharp() // plan.Matrix() is G
	return loss, nil
}

func fromOTT(x, y *mat.Dense) (float64, *ot.Gradient, error) {
	plan, err := ot.Solve(ctx, ot.Problem{Geometry: ot.Points(x, y, ot.SqEuclidean)}, 0.1)
	if err != nil {
		return 0, nil, err
	}
	value := plan.RegKL()
	gradient, err := plan.Grad(ot.RegKL) // gradient.X() is n×d
	return value, gradient, err
}

func fromGeomLoss(x, y *mat.Dense, s float64) (float64, error) {
	loss := ot.Divergence{Of: ot.Objective{Solver: ot.LBFGS{Eps: 2 * s * s}, Loss: ot.RegKL}}
	d, err := loss.Eval(ctx, x, y, nil, nil, ot.SqEuclidean, ot.ByX) // d.Value and d.X are twice GeomLoss's
	return d.Value, err
}

func fromOpacus(x *mat.Dense, labels []int, dev *device.Device) (dp.Guarantee, error) {
	t := sgd.Training{
		Net:       nn.Seq(&nn.Dense{In: 2, Out: 8}, nn.Tanh(), &nn.Dense{In: 8, Out: 2}),
		Objective: sgd.Classification{X: sgd.Rows(x), Labels: labels},
		Clip:      1, Rate: .1, Batch: 200, Steps: 200, Optimiser: train.Adam{Rate: .02},
	}
	t, g, err := t.Calibrate(ctx, dp.Budget{Epsilon: 2, Delta: 1e-5})
	if err != nil {
		return g, err
	}
	key := release.NewKey() // from the operating system; it is as secret as the data
	err = t.Run(ctx, dev, key)
	return g, err
}

func fromDPAccounting() (dp.Guarantee, error) {
	g, err := dp.Epsilon(ctx, dp.SGD(1.1, 0.01, 10_000), dp.Relation{}, 1e-5) // or any dp.Event
	return g, err
}

type params struct {
	N   int
	Eps float64
}

type out struct{ Sharp float64 }

var bias = lab.Experiment[params, out]{Name: "docs/bias", Version: 1, Run: biasOf}

func biasOf(ctx context.Context, c *lab.Cell, p params) (out, error) {
	x, err := synth.Normal(c.Rand("x"), p.N, 2) // from the cell's seed
	if err != nil {
		return out{}, err
	}
	plan, err := ot.Solve(ctx, ot.Problem{Geometry: ot.Points(x, x, ot.SqEuclidean)}, p.Eps)
	if err != nil {
		return out{}, err
	}
	return out{plan.Sharp()}, nil
}

func fromHydra(store *store.Store) error {
	grid := lab.Grid(params{N: 50}, lab.Vary(func(p *params, v float64) { p.Eps = v }, .01, .1, 1))
	for _, seed := range []uint64{1, 2, 3} {
		for r, err := range lab.Sweep(ctx, store, bias, 0, seed, grid) {
			if err != nil {
				return err
			}
			fmt.Println(r.Params.Eps, seed, r.Value.Sharp)
		}
	}
	return nil
}

// The Go of coming-from.md stands in the functions above, line by line.
func TestPageIsCompiled(t *testing.T) {
	page := must.Get(os.ReadFile("coming-from.md"))
	code := must.Get(os.ReadFile("docs_test.go"))
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllSubmatch(page, -1)
	if len(blocks) != 6 {
		t.Errorf("%d blocks of Go", len(blocks))
	}
	for _, b := range blocks {
		rest := "\n" + strings.ReplaceAll(string(code), "\t", "")
		for line := range strings.Lines(string(b[1])) {
			line = strings.TrimSpace(line)
			_, after, found := strings.Cut(rest, "\n"+line+"\n")
			if line != "" && !found {
				t.Errorf("not compiled: %s", line)
			}
			if found {
				rest = "\n" + after
			}
		}
	}
}

func TestPageRuns(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	x := must.Get(synth.Moons(rng, 60, .1))
	y := must.Get(synth.Normal(rng, 60, 2))
	half := []float64{.5, .5}
	if v, err := fromPOT(mat.NewDense(2, 2, []float64{0, 1, 1, 0}), half, half); err != nil || !(v > 0 && v < .5) {
		t.Errorf("POT: %v, %v", v, err)
	}
	if v, g, err := fromOTT(x, y); err != nil || !(v > 0) || g == nil {
		t.Errorf("OTT: %v, %v", v, err)
	}
	if v, err := fromGeomLoss(x, y, .3); err != nil || !(v > 0) {
		t.Errorf("GeomLoss: %v, %v", v, err)
	}
	dev := must.Get(device.CPU{}.Open())
	defer dev.Close()
	if g, err := fromOpacus(x, make([]int, 60), dev); err != nil || g.Epsilon > 2 {
		t.Errorf("Opacus: %v, %v", g, err)
	}
	if g, err := fromDPAccounting(); err != nil || g.Kind != dp.Exact {
		t.Errorf("dp_accounting: %v, %v", g, err)
	}
	store, err := lab.OpenStore(t.TempDir())
	if err == nil {
		err = fromHydra(store)
	}
	if err != nil {
		t.Errorf("Hydra: %v", err)
	}
}

// The page of packages is the one that go generate ./notebooks writes, and its pictures exist.
func TestPackagesInStep(t *testing.T) {
	list, errList := os.ReadFile("packages.txt")
	want, errPage := packages.Page(filepath.Join("..", ".."), string(list))
	page, err := os.ReadFile("packages.md")
	must.Do(errors.Join(errList, errPage, err))
	if string(page) != want {
		t.Error("packages.md is stale; fix: go generate ./notebooks")
	}
	for _, m := range regexp.MustCompile(`(?:src="|\]\()([^"#:)]+)`).FindAllStringSubmatch(want, -1) {
		if _, err := os.Stat(m[1]); err != nil {
			t.Error(err)
		}
	}
}

// What the glossary and the notebooks name is there. Notebooks leave out the folders of a package.
func TestNames(t *testing.T) {
	folders := map[string][]string{} // of packages, by their last words
	lab.Check(filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && len(lab.Must(filepath.Glob(filepath.Join(path, "*.go")))) > 0 {
			path = strings.TrimPrefix(filepath.ToSlash(path), "../../")
			for last := path; ; {
				folders[last] = append(folders[last], path)
				_, rest, below := strings.Cut(last, "/")
				if !below {
					break
				}
				last = rest
			}
		}
		return err
	}))
	packages, checked := map[string]map[string]bool{}, 0
	for _, page := range append(lab.Must(filepath.Glob("../*.md")), "glossary.md") {
		text := string(lab.Must(os.ReadFile(page)))
		for _, n := range namesIn.FindAllStringSubmatch(text, -1) {
			name, found := strings.TrimSuffix(n[2]+"."+n[3], "."), len(folders[n[1]]) == 0 && page != "glossary.md"
			for _, dir := range folders[n[1]] {
				if packages[dir] == nil {
					packages[dir] = exported(t, dir)
				}
				found = found || packages[dir][name]
				checked++
			}
			if !found {
				t.Errorf("%s: %s: there is none", page, n[0])
			}
		}
	}
	if checked < 80 {
		t.Errorf("%d names", checked)
	}
}

var namesIn = regexp.MustCompile("`([a-z/]+)\\.([A-Z]\\w*)(?:\\.([A-Z]\\w*))?`")

// exported are a package's functions, types, fields and methods.
func exported(t *testing.T, pkg string) map[string]bool {
	dir, names := filepath.Join("..", "..", filepath.FromSlash(pkg)), map[string]bool{}
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("%s: %v", dir, err)
	}
	var files []*ast.File
	set := token.NewFileSet()
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		f := must.Get(parser.ParseFile(set, path, nil, 0))
		files = append(files, f)
	}
	d := must.Get(doc.NewFromFiles(set, files, pkg, doc.AllDecls))
	for _, f := range d.Funcs {
		names[f.Name] = true
	}
	values := slices.Concat(d.Consts, d.Vars)
	for _, typ := range d.Types {
		names[typ.Name] = true
		values = append(values, slices.Concat(typ.Consts, typ.Vars)...)
		for _, f := range append(typ.Methods, typ.Funcs...) {
			names[f.Name], names[typ.Name+"."+f.Name] = true, true
		}
		ast.Inspect(typ.Decl, func(n ast.Node) bool {
			if f, ok := n.(*ast.Field); ok {
				for _, name := range f.Names {
					names[typ.Name+"."+name.Name] = true
				}
			}
			return true
		})
	}
	for _, v := range values {
		for _, name := range v.Names {
			names[name] = true
		}
	}
	return names
}
