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
func (g *gpu) Convert(dst, src tensor) error {
	return g.do(func() error {
		switch n := dst.Len(); {
		case n == 0:
			return nil
		case dst.Type == src.Type:
			return g.copy(dst, src)
		case dst.Type == backend.Float32:
			return g.each("elementwise", "narrow", n, array(dst), array(src), i64(n))
		default:
			return g.each("elementwise", "widen", n, array(dst), array(src), i64(n))
		}
	})
}

// copy copies between tensors of one type and size.
func (g *gpu) copy(dst, src tensor) error {
	to, from := array(dst), array(src)
	if to.bits == from.bits || dst.Len() == 0 {
		return nil
	}
	g.touch(to.mem)
	g.touch(from.mem)
	g.ran(to.all+from.all, 0)
	return g.call(cuMemcpyDtoDAsync, uintptr(to.bits), uintptr(from.bits), bytesOf(dst), g.stream)
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
func (g *gpu) Permute(dst, src tensor, perm []int) error {
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
	return g.do(func() error {
		if a.Len == 0 {
			return nil
		}
		if a.Rank == 1 && a.Step[0][0] == 1 {
			return g.copy(dst, src)
		}
		if batch, rows, cols, ok := a.transposes(); ok && per == 1 {
			tiles := batch * ((rows + 31) / 32)
			if tiles <= math.MaxInt32 {
				size := grid{x: (cols + 31) / 32, y: min(tiles, g.limits.rows)}
				return g.launch("layout", "transpose"+name, size, array(dst), array(src), i64(batch), i64(rows),
					i64(cols))
			}
		}
		return g.each("layout", "permute"+name, int(a.Len), array(dst), array(src), record(&a))
	})
}

// Reverse turns the last axis round: Permute's kernel, going backwards from the last element of a row.
func (g *gpu) Reverse(dst, src tensor) error {
	n := src.Shape[len(src.Shape)-1]
	if src.Len() == 0 {
		return nil
	}
	a := newAxes([]int{src.Len() / n, n}, []int{n, -1})
	return g.do(func() error {
		return g.each("layout", "permute"+plain(dst.Type), int(a.Len), array(dst), array(shift(src, n-1)), record(&a))
	})
}

// Paste copies src into dst from index at of an axis on.
func (g *gpu) Paste(dst, src tensor, axis, at int) error {
	return g.part(dst, src, dst, src, axis, at)
}

// Cut copies the part of src from index at of an axis on.
func (g *gpu) Cut(dst, src tensor, axis, at int) error {
	return g.part(dst, src, src, dst, axis, at)
}

// part copies between the small tensor and its place in the big one.
func (g *gpu) part(dst, src, big, small tensor, axis, at int) error {
	inner, count := 1, 1
	for i, s := range small.Shape {
		switch {
		case i < axis:
			count *= s
		case i > axis:
			inner *= s
		}
	}
	run, step := inner*small.Shape[axis], inner*big.Shape[axis]
	sto, sfrom := run, run
	if n := count * run; n == 0 {
		return nil
	}
	to, from := dst, src
	if &big.Shape[0] == &dst.Shape[0] {
		to.Offset += at * inner
		sto = step
	} else {
		from.Offset += at * inner
		sfrom = step
	}
	return g.do(func() error {
		if count == 1 {
			to.Shape, from.Shape = []int{run}, []int{run}
			return g.copy(to, from)
		}
		name, per := runs(to, from, run, sto, sfrom)
		return g.each("layout", "paste"+name, count*run/per, array(to), array(from), i64(count), i64(run/per),
			i64(sto/per), i64(sfrom/per))
	})
}

// Gather copies rows of a table, as runs of 16 bytes where they begin at multiples of it.
func (g *gpu) Gather(dst, table, index tensor) error {
	n, d := index.Len(), dst.Shape[1]
	return g.do(func() error {
		if n*d == 0 {
			return nil
		}
		g.mayFault = true
		name, per := runs(dst, table, d)
		each := d / per
		step := max(1, g.limits.flat/each)
		for at := 0; at < n; at += step {
			count := min(step, n-at) * each
			if err := g.each("layout", "gather"+name, count, array(rowsOf(dst, at, n)), array(table),
				array(rowsOf(index, at, n)), block(g.faults), i64(count), record(new(divBy(each))), i64(table.Shape[0]),
				i64(at)); err != nil {
				return err
			}
		}
		return nil
	})
}

// Scatter adds rows to a table, in their order.
func (g *gpu) Scatter(table, src, index tensor) error {
	n := index.Len()
	return g.do(func() error {
		if n == 0 {
			return nil
		}
		g.mayFault = true
		return g.launchOf("layout", "scatter", table, grid{x: min(n, g.limits.blocks)}, array(table),
			array(src), array(index), block(g.faults), i64(n), i64(src.Shape[1]), i64(table.Shape[0]))
	})
}
