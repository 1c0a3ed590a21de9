package cuda

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"coupling/lab/device/internal/backend"
	"coupling/lab/must"
)

// COUPLING_UPDATE_COUNTS=1 writes the table of GPU.md anew.
var updateCounts = os.Getenv("COUPLING_UPDATE_COUNTS") == "1"

// An H200, by NVIDIA's data sheet: what its multiprocessors do in a second at 1.98 GHz. Six tenths of the tensor cores'
// 494.7 TFLOP/s and nine tenths of the memory's 4.8 TB/s are guesses.
const (
	clocks     = 132 * 1.98e9
	issueRate  = clocks * 128 // instructions of a lane; those of float64 at half the rate
	sfuRate    = clocks * 16  // special functions
	sharedRate = clocks       // wavefronts of shared memory
	tensorRate = .6 * 494.7e12 / (2 * 16 * 8 * 8)
	memoryRate = 4.3e12
)

// class is what a class of instructions did: executions by warps and lanes, bytes, sectors or
// wavefronts.
type class [4]float64

// work is what launches executed, by class.
type work map[string]class

func (w work) total() (n float64) {
	for _, name := range slices.Sorted(maps.Keys(w)) {
		n += w[name][1]
	}
	return n
}

// units is wavefronts or sectors.
func (w work) units(a, b string) float64 { return w[a][3] + w[b][3] }

// limit is what an element costs at least, in seconds, and by what. Its bytes are those of the arrays, each once.
func (w work) limit(bytes float64) (seconds float64, by string) {
	for _, c := range []struct {
		what string
		s    float64
	}{
		{"instructions", (w.total() + w["f64"][1]) / issueRate},
		{"special functions", w["sfu"][1] / sfuRate},
		{"shared memory", w.units("lds", "sts") / sharedRate},
		{"tensor cores", w["mma"][0] / tensorRate},
		{"memory", bytes / memoryRate},
	} {
		if c.s > seconds {
			seconds, by = c.s, c.what
		}
	}
	return seconds, by
}

// counted is an operation and over how many elements its work is divided.
type counted struct {
	name string
	per  int
	do   func()
}

// counteds are half-steps, masses and gradients between points, whose elements are pairs, and
// operations that are bound by memory or should be.
func counteds(r *rig) (all []counted) {
	const n, m = 512, 2048 // one split: many tiles of points a block, as in large problems
	f, square := backend.Float32, backend.Cost{Square: 1}
	zeros := func(shape ...int) tensor { return r.full(f, 0, shape...) }
	u, h, v, mass := zeros(n), zeros(m), zeros(m, 1), zeros(n, 1)
	for _, d := range dims {
		x, y, grad := zeros(n, d), zeros(m, d), zeros(n, d)
		name := fmt.Sprintf("d = %d, ", d)
		all = append(all,
			counted{name + "log-sum-exp", n * m, func() { r.g.PointLSE(u, x, y, h, square, 1) }},
			counted{name + "mass", n * m, func() { r.g.PointApply(mass, x, y, u, h, v, square, 1) }},
			counted{name + "gradient", n * m, func() {
				r.g.Fill(grad, 0)
				r.g.PointGrad(grad, x, y, u, h, u, h, square, 1, false)
			}})
	}
	const size = 1 << 16
	x, y, state := zeros(size), zeros(size), r.ints([]int32{1, 0, 0, 0}, 4)
	for i, f := range []backend.Unary{backend.ReLU, backend.Exp, backend.Tanh, backend.SiLU} {
		name := []string{"ReLU", "Exp", "Tanh", "SiLU"}[i]
		all = append(all, counted{"map " + name, size, func() { r.g.Map(y, x, f, 0) }})
	}
	of := func(t tensor, shape ...int) tensor { t.Shape = shape; return t }
	rows, image, big, columns := zeros(1024, 64), zeros(16, 8, 16, 16), zeros(16, 8, 32, 32), zeros(16, 8*16, 8*8)
	const many = 1 << 20 // enough rows to fill a GPU
	long, sums, variances := zeros(many/1024, 1024), zeros(many/1024, 1), zeros(many/1024, 1)
	deviations := zeros(many/1024, 1)
	held, potentials := of(x, 64, 1024), zeros(1024)
	index := r.full(backend.Int32, 3, 1024)
	window := backend.Window{Kernel: [2]int{4, 4}, Stride: [2]int{2, 2}, Pad: [2]int{1, 1}, Dilation: [2]int{1, 1}}
	cost, ones, turned := zeros(64, 50, 50), r.full(f, 1, size), zeros(8, 16, 16, 16)
	annealed := []tensor{zeros(64, 50), zeros(64, 50), zeros(64, 50), zeros(64, 50)}
	factors := []tensor{zeros(512, 512), zeros(512, 256), zeros(256, 512)}
	return append(all,
		counted{"normal", size, func() { r.g.Normal(x, state, 0, 1) }},
		counted{"uniform", size, func() { r.g.Uniform(x, state, 0, 1) }},
		counted{"gather, rows of 64", size, func() { r.g.Gather(of(y, 1024, 64), rows, index) }},
		counted{"bilinear, twice the size", big.Len(), func() { r.g.Bilinear(big, image, false) }},
		counted{"im2col, 4×4 by 2", columns.Len(), func() { r.g.im2col(columns, image, window) }},
		counted{"col2im, 4×4 by 2", image.Len(), func() { r.g.col2im(image, columns, window) }},
		counted{"permute, N×C×H×W to C×N×H×W", image.Len(), func() {
			r.g.Fill(turned, 0)
			r.g.Permute(turned, image, []int{1, 0, 2, 3})
		}},
		counted{"moments, rows of 1024", many, func() {
			r.g.Moments(sums, variances, deviations, long, 1, 0)
		}},
		counted{"sum, rows of 1024", many, func() { r.g.Reduce(sums, long, backend.Sum) }},
		counted{"log-sum-exp, rows of 1024", many, func() { r.g.Reduce(sums, long, backend.LogSumExp) }},
		counted{"half-step of held rows of 1024", size, func() {
			r.g.LSERows(of(u, 64), held, potentials, 1)
		}},
		counted{"half-step of held columns of 64", size, func() {
			r.g.LSECols(potentials, held, of(u, 64), 1)
		}},
		counted{"join of 64 splits", 64 * 512, func() {
			r.g.launch("dense", "lse_join_f32", grid{x: 16}, u, x, ones, 512, 64)
		}},
		counted{"anneal, an update of a pair", 6 * 64 * 50 * 50, func() {
			for _, p := range annealed {
				r.g.Fill(p, 0)
			}
			r.g.Anneal(annealed[0], annealed[1], annealed[2], annealed[3], cost, []float64{4, 2, 1, .5})
		}},
		counted{"product 512×512×256, a multiply-add", 512 * 512 * 256, func() {
			for _, p := range factors {
				r.g.Fill(p, 0)
			}
			r.g.Gemm(factors[0], 1, factors[1], false, factors[2], false, 0)
		}})
}

// row is what an element of an operation took.
func row(w work, bytes float64) string {
	seconds, by := w.limit(bytes)
	return fmt.Sprintf("%.4g | %.3g | %.3g | %.3g | %.4g, %s", w.total(), w["sfu"][1], w.units("lds", "sts"),
		w.units("ldg", "stg"), 1e-9/seconds, by)
}

// TestCounts holds the table of GPU.md to what the committed kernels execute, beside what those of commit
// 6f9addd did, which this test wrote there by COUPLING_WRITE_COUNTS=FILE (testdata/COUNTS).
func TestCounts(t *testing.T) {
	trace := filepath.Join(t.TempDir(), "trace")
	for name, v := range map[string]string{"SCHEDULE": "lowest", "UNSET": "0", "CONTRACT": "0", "TRACE": trace} {
		t.Setenv("PTXSIM_"+name, v)
	}
	r := newRig(t, Config{})
	r.g.limits.split, r.g.limits.fill = 1, 1
	before := map[string]string{}
	had := must.Get(os.ReadFile("testdata/COUNTS"))
	for line := range strings.Lines(string(had)) {
		name, rest, _ := strings.Cut(line, " | ")
		before[name] = strings.TrimSpace(rest)
	}
	var table, alone strings.Builder
	table.WriteString("| operation, float32 | instructions | special functions | shared wavefronts | sectors " +
		"| at most, 10⁹/s, by | before: instructions | sectors | at most |\n" +
		"| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n")
	for _, c := range counteds(r) {
		r.ok(errors.Join(r.g.Sync(), os.Truncate(trace, 0)))
		bytes := r.g.traffic.Bytes
		r.do(c.do)
		r.ok(r.g.Sync())
		now := row(r.executed(trace, c.per), float64(r.g.traffic.Bytes-bytes)/float64(c.per))
		fmt.Fprintf(&alone, "%s | %s\n", c.name, now)
		was := strings.Split(before[c.name], " | ")
		if len(was) < 5 {
			t.Fatalf("testdata/COUNTS has no %q", c.name)
		}
		fmt.Fprintf(&table, "| %s | %s | %s | %s | %s |\n", c.name, now, was[0], was[3], was[4])
	}
	if out := os.Getenv("COUPLING_WRITE_COUNTS"); out != "" {
		r.ok(os.WriteFile(out, []byte(alone.String()), 0o644))
	}
	page(r, "counts", table.String())
	steps := must.Get(os.ReadFile("../../devicetest/LAUNCHES"))
	page(r, "steps", string(steps))
}

// page demands that GPU.md has a table between its marks.
func page(r *rig, name, table string) {
	const page = "../../GPU.md"
	begin, end := "<!-- "+name+" -->\n", "<!-- end of "+name+" -->\n"
	text := must.Get(os.ReadFile(page))
	before, rest, _ := strings.Cut(string(text), begin)
	had, after, ok := strings.Cut(rest, end)
	if !ok {
		r.Fatalf("%s has no table between %q and %q", page, begin, end)
	}
	if updateCounts {
		r.ok(os.WriteFile(page, []byte(before+begin+table+end+after), 0o644))
	} else if had != table {
		r.Errorf("GPU.md's table is not of this code, COUPLING_UPDATE_COUNTS=1 writes it anew:\n%s", table)
	}
}

// executed reads a trace: what an element took, fills of memory left out.
func (r *rig) executed(trace string, per int) work {
	f := must.Get(os.Open(trace))
	defer f.Close()
	w := work{}
	for lines := bufio.NewReader(f); ; {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return w
		}
		var launch map[string]json.RawMessage
		r.ok(json.Unmarshal(line, &launch))
		if strings.Contains(string(launch["kernel"]), "fill") {
			continue
		}
		for name, v := range launch {
			var had class
			if json.Unmarshal(v, &had) != nil || name == "grid" || name == "lines" {
				continue
			}
			sum := w[name]
			for i := range sum {
				sum[i] += had[i] / float64(per)
			}
			w[name] = sum
		}
	}
}
