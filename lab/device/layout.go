package device

import "slices"

// Convert copies x to dst, of the same shape, between float types or equal types, rounding to nearest.
func Convert(dst, x *Array) {
	c := check("Convert", dst)
	c.here(x)
	c.like(x).over(x)
	if dst.t.Type != x.t.Type && (dst.t.Type == Int32 || x.t.Type == Int32) {
		c.fail("%v does not become %v", x.t.Type, dst.t.Type)
	}
	c.do(func() { dst.d.b.Convert(dst.t, x.t) })
}

// Paste copies x into dst at indices from at of an axis on. With Cut it concatenates and splits.
func Paste(dst, x *Array, axis, at int) {
	check("Paste", dst).reads(x).part(dst, x, axis, at).do(func() { dst.d.b.Paste(dst.t, x.t, axis, at) })
}

// Cut copies the part of x from index at of an axis on that has dst's shape.
func Cut(dst, x *Array, axis, at int) {
	check("Cut", dst).reads(x).part(x, dst, axis, at).do(func() { dst.d.b.Cut(dst.t, x.t, axis, at) })
}

func (c args) part(big, small *Array, axis, at int) args {
	if len(big.t.Shape) != len(small.t.Shape) || axis < 0 || axis >= len(big.t.Shape) || at < 0 {
		c.fail("shapes %v and %v, axis = %d, at = %d: out of range", big.t.Shape, small.t.Shape, axis, at)
	}
	want := slices.Clone(big.t.Shape)
	want[axis] = small.t.Shape[axis]
	if !slices.Equal(want, small.t.Shape) || at+want[axis] > big.t.Shape[axis] {
		c.fail("shape %v is no part of %v from index %d of axis %d on", small.t.Shape, big.t.Shape, at, axis)
	}
	return c
}

// Gather copies rows: dst_i = table_{index_i}, table R×D, index N, dst N×D. An index out of range is ErrIndex.
func Gather(dst, table, index *Array) {
	check("Gather", dst).float(table).ints(index).apart(table).rows(table, dst, index).
		do(func() { dst.d.b.Gather(dst.t, table.t, index.t) })
}

// Scatter adds rows in the order of i: table_{index_i} += x_i.
func Scatter(table, x, index *Array) {
	check("Scatter", table).float(x).ints(index).apart(x).rows(table, x, index).
		do(func() { table.d.b.Scatter(table.t, x.t, index.t) })
}

func (c args) rows(table, x, index *Array) args {
	c.shape("table", table, -1, -1)
	return c.shape("rows", x, -1, table.t.Shape[1]).shape("index", index, x.t.Shape[0])
}

func equal(a, b *Array) bool { return slices.Equal(a.t.Shape, b.t.Shape) }
