package host

import (
	"fmt"
	"unsafe"

	"coupling/lab/device/internal/backend"
)

// Upload copies from the caller's memory.
func (d *Host) Upload(t tensor, src unsafe.Pointer) error {
	to := memory(t)
	copy(to, unsafe.Slice((*byte)(src), len(to)))
	return nil
}

// Download copies to the caller's memory.
func (d *Host) Download(dst unsafe.Pointer, t tensor) error {
	from := memory(t)
	copy(unsafe.Slice((*byte)(dst), len(from)), from)
	return nil
}

// memory is the bytes of a tensor.
func memory(t tensor) []byte {
	size := t.Type.Size()
	at := unsafe.Add(t.Mem.(*block).at, t.Offset*size)
	return unsafe.Slice((*byte)(at), t.Len()*size)
}

// Convert copies, between the float types with rounding to nearest.
func (d *Host) Convert(dst, src tensor) {
	switch {
	case dst.Type == backend.Float64 && src.Type == backend.Float32:
		convert(&d.crew, view[float64](dst), view[float32](src))
	case dst.Type == backend.Float32 && src.Type == backend.Float64:
		convert(&d.crew, view[float32](dst), view[float64](src))
	case dst.Type == backend.Float64:
		convert(&d.crew, view[float64](dst), view[float64](src))
	default: // four bytes each
		convert(&d.crew, view[int32](dst), view[int32](src))
	}
}

func convert[D, S float32 | float64 | int32](c *crew, dst []D, src []S) {
	c.each(len(dst), grain, func(lo, hi int) {
		d := dst[lo:hi]
		if same, ok := any(src).([]D); ok {
			copy(d, same[lo:hi])
			return
		}
		for i, v := range src[lo:hi] {
			d[i] = D(v)
		}
	})
}

// Paste copies src into a part of dst.
func (d *Host) Paste(dst, src tensor, axis, at int) {
	d.part(dst, src, axis, at, func(big, small []byte) { copy(big, small) })
}

// Cut copies a part of src.
func (d *Host) Cut(dst, src tensor, axis, at int) {
	d.part(src, dst, axis, at, func(big, small []byte) { copy(small, big) })
}

// part calls move with runs of big's part from index at of an axis on and of small, which has the part's shape.
func (d *Host) part(big, small tensor, axis, at int, move func(big, small []byte)) {
	outer, inner := backend.Product(big.Shape[:axis]), backend.Product(big.Shape[axis+1:])*big.Type.Size()
	run, pitch := small.Shape[axis]*inner, big.Shape[axis]*inner
	from, to := memory(big), memory(small)
	d.each(outer, per(run/big.Type.Size()), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			move(from[i*pitch+at*inner:][:run], to[i*run:][:run])
		}
	})
}

// Gather copies the rows that index names.
func (d *Host) Gather(dst, table, index tensor) {
	rows, width := table.Shape[0], table.Shape[1]*table.Type.Size()
	to, from, at := memory(dst), memory(table), view[int32](index)
	d.once(func() { d.err = inRange("index", at, rows) })
	d.each(len(at), per(table.Shape[1]), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			copy(to[i*width:(i+1)*width], from[int(at[i])*width:][:width])
		}
	})
}

// Scatter adds rows in their order; workers share the columns.
func (d *Host) Scatter(table, src, index tensor) {
	rows, width := table.Shape[0], table.Shape[1]
	at := view[int32](index)
	d.once(func() { d.err = inRange("index", at, rows) })
	if table.Type == backend.Float64 {
		scatter(&d.crew, view[float64](table), view[float64](src), at, width)
	} else {
		scatter(&d.crew, view[float32](table), view[float32](src), at, width)
	}
}

func scatter[T float32 | float64](c *crew, table, src []T, index []int32, width int) {
	c.each(width, per(len(index)), func(lo, hi int) {
		for i, at := range index {
			row := table[int(at)*width:]
			row = row[lo:hi]
			for j, v := range src[i*width+lo : i*width+hi] {
				row[j] += v
			}
		}
	})
}

// inRange is an error that wraps ErrIndex unless 0 ≤ index < n everywhere.
func inRange(name string, index []int32, n int) error {
	for i, v := range index {
		if v < 0 || int(v) >= n {
			return fmt.Errorf("%s[%d] = %d: must be at least 0 and less than %d: %w", name, i, v, n, backend.ErrIndex)
		}
	}
	return nil
}
