package device

import (
	"fmt"
	"slices"
)

// Arguments of operations are the program's own shapes, not a user's data: a wrong one is a panic that names the
// operation.

// args is the arrays of one operation.
type args struct {
	op    string
	first *Array
}

// check starts with the destination.
func check(op string, dst *Array) args {
	if dst == nil {
		panic("device: " + op + ": the destination is nil")
	}
	dst.use(op)
	return args{op, dst}
}

func (c args) fail(format string, v ...any) {
	panic("device: " + c.op + ": " + fmt.Sprintf(format, v...))
}

// float demands that arrays are alive, on one device and of the destination's type, a float.
func (c args) float(arrays ...*Array) args {
	if c.first.t.Type == Int32 {
		c.fail("the destination is int32, not a float")
	}
	for _, a := range arrays {
		c.here(a)
		if a.t.Type != c.first.t.Type {
			c.fail("%v and %v do not mix; see Convert", c.first.t.Type, a.t.Type)
		}
	}
	return c
}

// ints demands int32 arrays.
func (c args) ints(arrays ...*Array) args {
	for _, a := range arrays {
		c.here(a)
		if a.t.Type != Int32 {
			c.fail("%v%v: must be int32", a.t.Type, a.t.Shape)
		}
	}
	return c
}

func (c args) here(a *Array) {
	if a == nil {
		c.fail("an argument is nil")
	}
	a.use(c.op)
	if a.d != c.first.d {
		c.fail("arguments are on different devices")
	}
}

// into is the same for another array that the operation writes.
func (c args) into(out *Array) args { return args{c.op, out} }

// apart demands that the destination shares no memory with arrays, of which nil are none: devices may read them at any
// time.
func (c args) apart(arrays ...*Array) args {
	for _, a := range arrays {
		if a != nil && c.first.meets(a) {
			c.fail("%v%v is written and shares memory with the argument %v%v: give it memory of its own",
				c.first.t.Type, c.first.t.Shape, a.t.Type, a.t.Shape)
		}
	}
	return c
}

// reads is float and apart.
func (c args) reads(arrays ...*Array) args { return c.float(arrays...).apart(arrays...) }

// over demands it too, but the destination may be one of the arrays, element for element.
func (c args) over(arrays ...*Array) args {
	for _, a := range arrays {
		if a.Owner() != c.first.Owner() || a.t.Offset != c.first.t.Offset || a.Len() != c.first.Len() {
			c.apart(a)
		}
	}
	return c
}

// meets reports whether arrays share memory.
func (a *Array) meets(b *Array) bool {
	from, to := max(a.t.Offset, b.t.Offset), min(a.t.Offset+a.Len(), b.t.Offset+b.Len())
	return a.Owner() == b.Owner() && from < to
}

// like demands the destination's shape.
func (c args) like(arrays ...*Array) args {
	for _, a := range arrays {
		if !slices.Equal(a.t.Shape, c.first.t.Shape) {
			c.fail("shapes %v and %v: must be equal", c.first.t.Shape, a.t.Shape)
		}
	}
	return c
}

// shape demands a shape of one array; −1 stands for any size.
func (c args) shape(name string, a *Array, want ...int) args {
	ok := len(a.t.Shape) == len(want)
	for i := 0; ok && i < len(want); i++ {
		ok = want[i] < 0 || want[i] == a.t.Shape[i]
	}
	if !ok {
		c.fail("shape of %s = %v: must be %v", name, a.t.Shape, want)
	}
	return c
}

// maxRank is the most axes that broadcasts, reductions and permutations take.
const maxRank = 6

// spread demands that small broadcasts to big: the same rank, each size equal or 1.
func (c args) spread(big *Array, small ...*Array) args {
	if len(big.t.Shape) > maxRank {
		c.fail("rank %d: must be at most %d", len(big.t.Shape), maxRank)
	}
	for _, a := range small {
		ok := len(a.t.Shape) == len(big.t.Shape)
		for i := 0; ok && i < len(a.t.Shape); i++ {
			ok = a.t.Shape[i] == big.t.Shape[i] || a.t.Shape[i] == 1
		}
		if !ok {
			c.fail("shape %v does not broadcast to %v", a.t.Shape, big.t.Shape)
		}
	}
	return c
}

// do runs the operation unless the device has failed. It does so even if there is nothing to write,
// since step counters advance and indices are checked.
func (c args) do(f func()) {
	d := c.first.d
	d.do(c.op, func() (err error) {
		d.b.Begin()
		defer func() { err = d.b.End() }()
		f()
		return nil
	})
}
