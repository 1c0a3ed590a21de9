package cpu

import (
	"fmt"
	"math"
	"unsafe"
)

// Float is an element type of the kernels.
type Float interface{ float32 | float64 }

// Kernels is the set of kernels for one element type. The zero value uses the
// instruction set that Active reports; another one can be asked for. Methods
// panic where slices have the wrong length or the instruction set is not
// available, and for no other reason. They do not allocate, keep no state and
// may be called from many goroutines.
type Kernels[T Float] struct {
	ISA ISA
}

// isa resolves Auto.
func (k Kernels[T]) isa() ISA {
	isa := k.ISA
	if isa == Auto {
		isa = active
	}
	if isa > best {
		refuse(isa)
	}
	return isa
}

// A form is an instruction set for an element type. The assembly has each kernel in every form but plain, and one
// function asmX that jumps to the form it is given; scalars pass through it as float64, which is exact. Kernels of one
// kind share a function, and are numbered (kind).
type form uint8

const (
	plain form = iota // in Go
	form32AVX2
	form32AVX512
	form64AVX2
	form64AVX512
)

func (k Kernels[T]) form() form {
	f := form(k.isa() - Generic)
	if f != plain && is64[T]() {
		f = f.wide()
	}
	return f
}

// wide is the form for float64 of one for float32.
func (f form) wide() form { return f + form64AVX2 - form32AVX2 }

// kind is the form of kernel i of those that share a function.
func (f form) kind(i int) form { return f + form(8*i) }

func refuse(isa ISA) {
	if isa == refused {
		panic(errActive)
	}
	panic(fmt.Errorf("cpu: Kernels.ISA = %s: %w on this machine, whose best is %s", isa, ErrISA, best))
}

// same checks that two arguments of a kernel have one length.
func same(kernel string, n, m int) {
	if n != m {
		mismatch(kernel, n, m)
	}
}

//go:noinline
func mismatch(kernel string, n, m int) {
	panic(fmt.Sprintf("cpu: %s: arguments of %d and %d elements: must be of one length", kernel, n, m))
}

type ptr = unsafe.Pointer

// at is the address of the first element, also of an empty slice.
func at[T Float](x []T) ptr { return ptr(unsafe.SliceData(x)) }

func minusInf[T Float]() T { return T(math.Inf(-1)) }

// is64 reports whether T is float64, a constant when compiled.
func is64[T Float]() bool { return unsafe.Sizeof(T(0)) == 8 }
