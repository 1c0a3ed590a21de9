package cuda

import (
	"math"
	"runtime"
	"slices"
	"unsafe"

	"coupling/lab/device/internal/backend"
)

func bytesOf(t tensor) uintptr { return uintptr(t.Len()) * uintptr(t.Type.Size()) }

// stage is page-locked memory that small uploads are copied to first, one after the other, so that
// the host need not wait for the GPU to fetch them. Its contents are fetched when the stream was
// waited for.
type stage struct {
	memory []byte
	used   int
}

const (
	stageSize = 4 << 20
	mostStage = stageSize / 4 // larger uploads wait
)

// Upload copies from a slice, which the caller has back when it returns.
func (g *gpu) Upload(t tensor, src unsafe.Pointer) error {
	if t.Len() == 0 {
		return nil
	}
	return g.do(func() error {
		n := int(bytesOf(t))
		staged := n <= mostStage
		p := src
		if staged {
			var err error
			if p, err = g.staged(p, n); err != nil {
				return err
			}
		}
		g.traffic.Uploads++
		err := g.call(cuMemcpyHtoDAsync, uintptr(array(t).bits), uintptr(p), uintptr(n), g.stream)
		if err != nil || staged {
			return err
		}
		err = g.wait()
		runtime.KeepAlive(src) // until the copy is done
		return err
	})
}

// staged copies n bytes to the stage and returns where they are.
func (g *gpu) staged(from unsafe.Pointer, n int) (unsafe.Pointer, error) {
	if g.stage.memory == nil {
		var at unsafe.Pointer
		if err := g.call(cuMemAllocHost, uintptr(unsafe.Pointer(&at)), stageSize); err != nil {
			return nil, err
		}
		g.stage.memory = unsafe.Slice((*byte)(at), stageSize)
	}
	if g.stage.used+n > stageSize {
		if err := g.drain(); err != nil {
			return nil, err
		}
	}
	to := g.stage.memory[g.stage.used:][:n]
	copy(to, unsafe.Slice((*byte)(from), n))
	g.stage.used += (n + 15) / 16 * 16
	return unsafe.Pointer(&to[0]), nil
}

// Download copies to a slice, waiting until the copy is done.
func (g *gpu) Download(dst unsafe.Pointer, t tensor) error {
	return g.do(func() error {
		if t.Len() == 0 {
			return g.wait()
		}
		g.traffic.Downloads++
		err := g.call(cuMemcpyDtoHAsync, uintptr(dst), uintptr(array(t).bits), bytesOf(t), g.stream)
		if err == nil {
			err = g.wait()
		}
		runtime.KeepAlive(dst)
		return err
	})
}

// Convert copies between types.
func (g *gpu) Convert(dst, src tensor) {
	switch n := dst.Len(); {
	case dst.Type == src.Type:
		g.copy(dst, src)
	case dst.Type == backend.Float32:
		g.each("elementwise", "narrow", n, dst, src, n)
	default:
		g.each("elementwise", "widen", n, dst, src, n)
	}
}

// copy copies between tensors of one type and size.
func (g *gpu) copy(dst, src tensor) {
	to, from := array(dst), array(src)
	if to.bits == from.bits || dst.Len() == 0 || g.err != nil {
		return
	}
	g.touch(to.mem)
	g.touch(from.mem)
	g.ran(to.all+from.all, 0)
	g.keep(g.call(cuMemcpyDtoDAsync, uintptr(to.bits), uintptr(from.bits), bytesOf(dst), g.stream))
}

// plain is the end of the names of kernels that only move elements.
func plain(t backend.DType) string {
	if t.Size() == 8 {
		return "_b64"
	}
	return "_b32"
}

// runs is plain, or _b128 where all sizes and steps, in elements, and both addresses are multiples of
// 16 bytes, and how many elements that is.
func runs(dst, src tensor, sizes ...int) (name string, per int) {
	size := dst.Type.Size()
	all := array(dst).bits | array(src).bits
	for _, s := range sizes {
		all |= uint64(s * size)
	}
	if all%16 == 0 {
		return "_b128", 16 / size
	}
	return plain(dst.Type), 1
}

// Permute writes src with its axes permuted: axis i of dst is axis perm[i] of src.
func (g *gpu) Permute(dst, src tensor, perm []int) {
	to, from, name, per := slices.Clone(dst.Shape), slices.Clone(src.Shape), plain(dst.Type), 1
	if last := len(perm) - 1; perm[last] == last {
		name, per = runs(dst, src, from[last])
		to[last], from[last] = to[last]/per, from[last]/per
	}
	steps := make([]int, len(perm))
	own := contiguous(from)
	for i, p := range perm {
		steps[i] = own[p]
	}
	a := newAxes(to, steps)
	if a.Rank == 1 && a.Step[0][0] == 1 {
		g.copy(dst, src)
		return
	}
	if batch, rows, cols, ok := a.transposes(); ok && per == 1 {
		if tiles := batch * ((rows + 31) / 32); tiles <= math.MaxInt32 {
			size := grid{x: (cols + 31) / 32, y: min(tiles, g.limits.rows)}
			g.launch("layout", "transpose"+name, size, dst, src, batch, rows, cols)
			return
		}
	}
	g.each("layout", "permute"+name, int(a.Len), dst, src, record(&a))
}

// Reverse turns the last axis round: Permute's kernel, going backwards from the last element of a row.
func (g *gpu) Reverse(dst, src tensor) {
	n := src.Shape[len(src.Shape)-1]
	if src.Len() == 0 {
		return
	}
	a := newAxes([]int{src.Len() / n, n}, []int{n, -1})
	g.each("layout", "permute"+plain(dst.Type), int(a.Len), dst, shift(src, n-1), record(&a))
}

// Paste copies src into dst from index at of an axis on.
func (g *gpu) Paste(dst, src tensor, axis, at int) { g.part(dst, src, dst, src, axis, at) }

// Cut copies the part of src from index at of an axis on.
func (g *gpu) Cut(dst, src tensor, axis, at int) { g.part(dst, src, src, dst, axis, at) }

// part copies between the small tensor and its place in the big one.
func (g *gpu) part(dst, src, big, small tensor, axis, at int) {
	inner, count := backend.Product(small.Shape[axis+1:]), backend.Product(small.Shape[:axis])
	run, step := inner*small.Shape[axis], inner*big.Shape[axis]
	sto, sfrom := run, run
	if count*run == 0 {
		return
	}
	to, from := dst, src
	if &big.Shape[0] == &dst.Shape[0] {
		to.Offset += at * inner
		sto = step
	} else {
		from.Offset += at * inner
		sfrom = step
	}
	if count == 1 {
		g.copy(as(to, run), as(from, run))
		return
	}
	name, per := runs(to, from, run, sto, sfrom)
	g.each("layout", "paste"+name, count*run/per, to, from, count, run/per, sto/per, sfrom/per)
}

// Gather copies rows of a table, as runs of 16 bytes where they begin at multiples of it.
func (g *gpu) Gather(dst, table, index tensor) {
	n, d := index.Len(), dst.Shape[1]
	if n*d == 0 {
		return
	}
	g.mayFault = true
	name, per := runs(dst, table, d)
	each := d / per
	step := max(1, g.limits.flat/each)
	for at := 0; at < n; at += step {
		count := min(step, n-at) * each
		g.each("layout", "gather"+name, count, rowsOf(dst, at, n), table, rowsOf(index, at, n), block(g.faults),
			count, record(new(divBy(each))), table.Shape[0], at)
	}
}

// Scatter adds rows to a table, in their order.
func (g *gpu) Scatter(table, src, index tensor) {
	n := index.Len()
	g.mayFault = g.mayFault || n > 0
	g.launchOf("layout", "scatter", table, grid{x: min(n, g.limits.blocks)}, table, src, index,
		block(g.faults), n, src.Shape[1], table.Shape[0])
}
