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
)

// COUPLING_UPDATE_COUNTS=1 writes the table of GPU.md anew.
var updateCounts = os.Getenv("COUPLING_UPDATE_COUNTS") == "1"

// An H200, by NVIDIA's data sheet: what its multiprocessors do in a second at 1.98 GHz.
const (
	clocks     = 132 * 1.98e9
	issueRate  = clocks * 128 // instructions of a lane; those of float64 at half the rate
	sfuRate    = clocks * 16  // special functions
	sharedRate = clocks       // wavefronts of shared memory
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

// limit is what an element costs multiprocessors at least, in seconds, and by what.
func (w work) limit() (seconds float64, by string) {
	for what, s := range map[string]float64{
		"instructions":      (w.total() + w["f64"][1]) / issueRate,
		"special functions": w["sfu"][1] / sfuRate,
		"shared memory":     (w["lds"][3] + w["sts"][3]) / sharedRate,
	} {
		if s > seconds {
			seconds, by = s, what
		}
	}
	return seconds, by
}

// counted is an operation and over how many elements its work is divided.
type counted struct {
	name string
	per  int
	do   func() error
}

// counteds are half-steps, masses and gradients between points, whose elements are pairs, and
// operations that are bound by memory or should be.
func counteds(r *rig) (all []counted) {
	const n, m = 512, 2048 // one split: many tiles of points a block, as in large problems
	f, square := backend.Float32, backend.Cost{Square: 1}
	zeros := func(shape ...int) backend.Tensor {
		t := r.new(f, shape...)
		r.ok(r.g.Fill(t, 0))
		return t
	}
	u, h, v, mass := zeros(n), zeros(m), zeros(m, 1), zeros(n, 1)
	for _, d := range dims {
		x, y := zeros(n, d), zeros(m, d)
		name := fmt.Sprintf("d = %d, ", d)
		all = append(all,
			counted{name + "log-sum-exp", n * m, func() error { return r.g.PointLSE(u, x, y, h, square, 1) }},
			counted{name + "mass", n * m, func() error { return r.g.PointApply(mass, x, y, u, h, v, square, 1) }},
			counted{name + "gradient", n * m, func() error {
				return r.g.PointGrad(zeros(n, d), x, y, u, h, u, h, square, 1, false)
			}})
	}
	const size = 1 << 16
	x, y, state := zeros(size), zeros(size), r.ints([]int32{1, 0, 0, 0}, 4)
	for i, f := range []backend.Unary{backend.ReLU, backend.Exp, backend.Tanh, backend.SiLU} {
		name := []string{"ReLU", "Exp", "Tanh", "SiLU"}[i]
		all = append(all, counted{"map " + name, size, func() error { return r.g.Map(y, x, f, 0) }})
	}
	of := func(t backend.Tensor, shape ...int) backend.Tensor { t.Shape = shape; return t }
	rows, image, big, columns := zeros(1024, 64), zeros(16, 8, 16, 16), zeros(16, 8, 32, 32), zeros(16, 8*16, 8*8)
	long, sums := of(x, 64, 1024), zeros(64, 1)
	index := r.new(backend.Int32, 1024)
	r.ok(r.g.Fill(index, 3))
	window := backend.Window{Kernel: [2]int{4, 4}, Stride: [2]int{2, 2}, Pad: [2]int{1, 1}, Dilation: [2]int{1, 1}}
	cost, ones := zeros(64, 50, 50), zeros(size)
	r.ok(r.g.Fill(ones, 1))
	return append(all,
		counted{"normal", size, func() error { return r.g.Normal(x, state, 0, 1) }},
		counted{"uniform", size, func() error { return r.g.Uniform(x, state, 0, 1) }},
		counted{"gather, rows of 64", size, func() error { return r.g.Gather(of(y, 1024, 64), rows, index) }},
		counted{"bilinear, twice the size", big.Len(), func() error { return r.g.Bilinear(big, image, false) }},
		counted{"im2col, 4×4 by 2", columns.Len(), func() error { return r.g.im2col(columns, image, window) }},
		counted{"moments, rows of 1024", size, func() error {
			return r.g.Moments(sums, zeros(64, 1), zeros(64, 1), long, 1, 0)
		}},
		counted{"sum, rows of 1024", size, func() error { return r.g.Reduce(sums, long, backend.Sum) }},
		counted{"log-sum-exp of held rows of 1024", size, func() error {
			return r.g.LSERows(of(u, 64), long, of(h, 1024), 1)
		}},
		counted{"join of 64 splits", 64 * 512, func() error {
			return r.g.do(func() error {
				return r.g.each("dense", "lse_join_f32", 32*512, array(u), array(x), array(ones), i64(512), i64(64))
			})
		}},
		counted{"anneal, an update of a pair", 6 * 64 * 50 * 50, func() error {
			f, g, lastF, lastG := zeros(64, 50), zeros(64, 50), zeros(64, 50), zeros(64, 50)
			return r.g.Anneal(f, g, lastF, lastG, cost, []float64{4, 2, 1, .5})
		}},
		counted{"product 512×512×256, a multiply-add", 512 * 512 * 256, func() error {
			return r.g.Gemm(zeros(512, 512), 1, zeros(512, 256), false, zeros(256, 512), false, 0)
		}})
}

// TestCounts holds the table of GPU.md to what the committed kernels execute.
func TestCounts(t *testing.T) {
	trace := filepath.Join(t.TempDir(), "trace")
	for name, v := range map[string]string{"SCHEDULE": "lowest", "UNSET": "0", "CONTRACT": "0", "TRACE": trace} {
		t.Setenv("PTXSIM_"+name, v)
	}
	r := newRig(t, Config{})
	r.g.limits.split, r.g.limits.fill = 1, 1
	var table strings.Builder
	table.WriteString("| operation, float32 | instructions | of float64 | special functions | shared wavefronts " +
		"| sectors | at most, 10⁹/s | by |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n")
	for _, c := range counteds(r) {
		r.ok(errors.Join(r.g.Sync(), os.Truncate(trace, 0)))
		r.ok(errors.Join(c.do(), r.g.Sync()))
		w := r.executed(trace, c.per)
		seconds, by := w.limit()
		fmt.Fprintf(&table, "| %s | %.4g | %.3g | %.3g | %.3g | %.3g | %.3g | %s |\n", c.name, w.total(), w["f64"][1],
			w["sfu"][1], w["lds"][3]+w["sts"][3], w["ldg"][3]+w["stg"][3], 1e-9/seconds, by)
	}
	const page, begin, end = "../../GPU.md", "<!-- counts -->\n", "<!-- end of counts -->\n"
	text, err := os.ReadFile(page)
	r.ok(err)
	before, rest, _ := strings.Cut(string(text), begin)
	had, after, ok := strings.Cut(rest, end)
	if !ok {
		t.Fatalf("%s has no table between %q and %q", page, begin, end)
	}
	if updateCounts {
		r.ok(os.WriteFile(page, []byte(before+begin+table.String()+end+after), 0o644))
	} else if had != table.String() {
		t.Errorf("GPU.md's table is not of these kernels, COUPLING_UPDATE_COUNTS=1 writes it anew:\n%s", table.String())
	}
}

// executed reads a trace: what an element took, fills of memory left out.
func (r *rig) executed(trace string, per int) work {
	f, err := os.Open(trace)
	r.ok(err)
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
