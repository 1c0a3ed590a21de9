package cuda

import (
	"math/bits"
	"slices"

	"coupling/lab/device/internal/backend"
)

// job is the struct Job of reduce.cu.
type job struct {
	Out, Over      axes
	Chunk          int64
	Lanes, Columns int32
}

// reductions are the kernels, by backend.Reduction.
var reductions = [backend.NumReduction]string{"sum", "mean", "squares", "norm", "largest", "logsumexp"}

// partSize is the size of the struct Part of reduce.cu.
const partSize = 24

// newJob cuts a reduction of x to the shape of dst into lanes and splits, by the shapes alone: a few hundred blocks
// where there is work for them, each thread a few elements at least, and 16 where threads are many.
func newJob(dst, x tensor) (j job, splits int) {
	steps := contiguous(x.Shape)
	var outShape, outSteps, overShape, overSteps []int
	inner := 1 // the step of the innermost axis that is reduced
	for k, size := range x.Shape {
		if dst.Shape[k] == size {
			outShape, outSteps = append(outShape, size), append(outSteps, steps[k])
		} else {
			overShape, overSteps = append(overShape, size), append(overSteps, steps[k])
			inner = steps[k]
		}
	}
	j.Out, j.Over = newAxes(outShape, outSteps), newAxes(overShape, overSteps)
	outs, over := int(j.Out.Len), int(j.Over.Len)
	const width, enough, busy = 256, 1024, 1 << 16
	lanes, full := 1, 1
	if over > 1 {
		lanes = min(1<<bits.Len(uint((over-1)/2)), width)
		full = lanes
		for lanes > 32 && lanes*16 > over && lanes/2*outs >= busy {
			lanes /= 2
		}
	}
	if inner > 1 && outs > 1 {
		j.Columns = 1
		lanes = min(lanes, width/min(32, 1<<bits.Len(uint(outs-1)))) // neighbouring outputs are read together
		full = lanes
	}
	blocks := (outs + width/lanes - 1) / (width / lanes)
	splits = max(1, min(enough/max(blocks, 1), over/(full*8)))
	chunk := (over + splits - 1) / max(splits, 1)
	j.Chunk, j.Lanes = int64(max(chunk, 1)), int32(lanes)
	if over > 0 {
		splits = (over + chunk - 1) / chunk
	}
	return j, splits
}

// Reduce reduces the axes where dst has size 1.
func (g *gpu) Reduce(dst, x tensor, f backend.Reduction) {
	j, splits := newJob(dst, x)
	g.reduce("reduce", reductions[f], reductions[f], x, &j, splits, []any{dst}, []any{x}, []any{int(j.Over.Len)})
}

// ReduceDot is Σ x·y over the axes where dst has size 1.
func (g *gpu) ReduceDot(dst, x, y tensor) {
	j, splits := newJob(dst, x)
	g.reduce("reduce", "dot", "sum", x, &j, splits, []any{dst}, []any{x, y}, []any{int(j.Over.Len)})
}

// reduce launches a kernel with outputs, parts, inputs and the job, and where there are splits the
// one that joins them, with outputs, parts, the numbers of outputs and splits, and what finishing
// has.
func (g *gpu) reduce(module, name, finish string, x tensor, j *job, splits int, outputs, inputs, finishing []any) {
	outs, bytes := int(j.Out.Len), 0
	if outs == 0 {
		return
	}
	if splits > 1 {
		bytes = splits * outs * partSize
	}
	parts, per := g.borrow(bytes), 256/int(j.Lanes)
	g.launchOf(module, name, x, grid{x: (outs + per - 1) / per, y: splits},
		slices.Concat(outputs, []any{parts}, inputs, []any{record(j)})...)
	if splits > 1 {
		g.eachOf(module, finish+"_finish", x, outs, slices.Concat(outputs, []any{parts, outs, splits}, finishing)...)
	}
}
