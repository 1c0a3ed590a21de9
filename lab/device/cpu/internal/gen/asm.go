package main

import (
	"fmt"
	"math"
	"reflect"
	"strings"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/gotypes"
	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/pass"
	"github.com/mmcloughlin/avo/reg"
)

// A target is one of the four forms of every kernel.
type target struct {
	double bool // float64, else float32
	wide   bool // AVX-512, else AVX2 with FMA
}

var targets = []target{{true, true}, {true, false}, {false, true}, {false, false}}

func (t target) suffix() string {
	bits, isa := "32", "AVX2"
	if t.double {
		bits = "64"
	}
	if t.wide {
		isa = "AVX512"
	}
	return bits + isa
}

// form is the number by which package cpu asks for the target.
func (t target) form() int {
	form := 1
	if t.wide {
		form++
	}
	if t.double {
		form += 2
	}
	return form
}

// size is the number of bytes of an element.
func (t target) size() int {
	if t.double {
		return 8
	}
	return 4
}

// lanes is the number of elements of a vector.
func (t target) lanes() int {
	if t.wide {
		return 64 / t.size()
	}
	return 32 / t.size()
}

// emit writes kernel k for target t, computing as many vectors at once as the
// registers hold.
func (t target) emit(f *file, k kernel) error {
	var err error
	for unroll := maxUnroll; unroll > 0; unroll-- {
		if err = t.try(k, unroll); err == nil {
			t.write(f, k, unroll)
			return nil
		}
	}
	return fmt.Errorf("%s: %w", k.decl+t.suffix(), err)
}

// maxUnroll is the most vectors that a kernel computes at once.
const maxUnroll = 4

// try compiles kernel k apart and returns the reason why it cannot run on t.
func (t target) try(k kernel, unroll int) error {
	f := newFile()
	t.write(f, k, unroll)
	text, err := f.Result()
	if err != nil {
		return err
	}
	if err := pass.Compile.Execute(text); err != nil {
		return err
	}
	for _, fn := range text.Functions() {
		if err := t.allows(fn); err != nil {
			return err
		}
	}
	return nil
}

// allows refuses what an AVX2 machine lacks: avo would use the upper sixteen
// vector registers, and forms of instructions that came with them.
func (t target) allows(fn *ir.Function) error {
	if t.wide {
		return nil
	}
	for _, isa := range fn.ISA {
		if strings.HasPrefix(isa, "AVX512") {
			return fmt.Errorf("requires %s", isa)
		}
	}
	for _, i := range fn.Instructions() {
		for _, r := range i.Registers() {
			if p := reg.ToPhysical(r); p != nil && p.Kind() == reg.KindVector && p.PhysicalIndex() >= 16 {
				return fmt.Errorf("too few vector registers")
			}
		}
	}
	return nil
}

// write emits kernel k for target t.
func (t target) write(f *file, k kernel, unroll int) {
	elem := "float32"
	if t.double {
		elem = "float64"
	}
	name, sig, _ := strings.Cut(k.decl, "(")
	f.Function(name + t.suffix())
	f.Attributes(attr.NOSPLIT)
	f.Pragma("noescape")
	f.Doc(name + t.suffix() + " " + k.doc)
	f.SignatureExpr("func(f uint8, " + strings.NewReplacer("*T", "*"+elem, " T", " float64").Replace(sig))
	k.emit(&asm{file: f, target: t, unroll: unroll})
	f.VZEROUPPER()
	f.RET()
}

type (
	vec      = reg.VecVirtual
	gp       = reg.GPVirtual
	register = reg.Register
	mem      = operand.Mem
	input    = operand.Op // a register, a place in memory or a number
)

// combination writes what becomes of x and y to dst.
type combination = func(dst, x vec, y input)

func imm(v uint64) input { return operand.Imm(v) }
func u32(v int) input    { return operand.U32(uint32(v)) }

// A file is the assembly file being written and the tables it holds.
type file struct {
	*build.Context
	tables map[string]mem
}

func newFile() *file { return &file{build.NewContext(), map[string]mem{}} }

// An asm emits one routine: it turns operations on abstract vectors into the
// instructions of its target. Operands stand in Intel's order, destination
// first, except that mem operands must be the last source.
type asm struct {
	*file
	target
	unroll int // vectors computed at once
	labels int
	ahead  bool // rows are fetched ahead: there is much to do for each element
}

// op emits the instruction for the element type: the * in its name stands for D, of float64, or S.
func (a *asm) op(name string, inputs ...input) {
	letter := "S"
	if a.double {
		letter = "D"
	}
	var args []reflect.Value
	for _, in := range inputs {
		args = append(args, reflect.ValueOf(in))
	}
	reflect.ValueOf(a.Context).MethodByName(strings.Replace(name, "*", letter, 1)).Call(args)
}

// label makes a name that is new in this routine.
func (a *asm) label(name string) operand.LabelRef {
	a.labels++
	return operand.LabelRef(fmt.Sprintf("%s%d", name, a.labels))
}

// Label is where jumps to l go.
func (a *asm) Label(l operand.LabelRef) { a.Context.Label(string(l)) }

func (a *asm) vec() vec {
	if a.wide {
		return a.ZMM()
	}
	return a.YMM()
}

func (a *asm) vecs(n int) []vec {
	out := make([]vec, n)
	for i := range out {
		out[i] = a.vec()
	}
	return out
}

// zeros returns n vectors of zeros.
func (a *asm) zeros(n int) []vec {
	out := a.vecs(n)
	for _, v := range out {
		a.VXORPS(v, v, v)
	}
	return out
}

func (a *asm) ptr(name string) gp {
	return a.Load(a.Param(name), a.GP64()).(gp)
}

// scalar broadcasts a parameter, a float64 in every form.
func (a *asm) scalar(name string) vec {
	v, m := a.vec(), address(a.Param(name))
	if a.double {
		a.VBROADCASTSD(m, v)
		return v
	}
	x := a.XMM()
	a.VXORPS(x, x, x)
	a.VCVTSD2SS(m, x, x)
	a.VBROADCASTSS(x, v)
	return v
}

// result writes lane 0 of v to a result, a float64 in every form.
func (a *asm) result(i int, v vec) {
	x := v.AsX()
	if !a.double {
		a.VCVTSS2SD(x, x, x)
	}
	a.VMOVSD(x, address(a.ReturnIndex(i)))
}

// address is where a parameter or result lies. (Context.Load and Store would
// use instructions without the V, slow beside wide registers.)
func address(c gotypes.Component) mem {
	b, err := c.Resolve()
	if err != nil {
		panic(err)
	}
	return b.Addr
}

func (a *asm) mov(dst vec, src input)   { a.op("VMOVUP*", src, dst) }
func (a *asm) add(dst, x vec, y input)  { a.op("VADDP*", y, x, dst) }
func (a *asm) sub(dst, x vec, y input)  { a.op("VSUBP*", y, x, dst) }
func (a *asm) mul(dst, x vec, y input)  { a.op("VMULP*", y, x, dst) }
func (a *asm) div(dst, x vec, y input)  { a.op("VDIVP*", y, x, dst) }
func (a *asm) and(dst, x vec, y input)  { a.op("VANDP*", y, x, dst) }
func (a *asm) fma(acc, x vec, y input)  { a.op("VFMADD231P*", y, x, acc) }
func (a *asm) fnma(acc, x vec, y input) { a.op("VFNMADD231P*", y, x, acc) }
func (a *asm) horner(p, x vec, c input) { a.op("VFMADD213P*", c, x, p) }
func (a *asm) shiftLeft(dst, x vec, bits uint64) {
	if a.double {
		a.VPSLLQ(imm(bits), x, dst)
	} else {
		a.VPSLLD(imm(bits), x, dst)
	}
}

// max is the larger of x and y, and y where either is NaN.
func (a *asm) max(dst, x vec, y input) { a.op("VMAXP*", y, x, dst) }

// min is the smaller of x and y, and y where either is NaN.
func (a *asm) min(dst, x vec, y input) { a.op("VMINP*", y, x, dst) }

// constant is a 64-byte vector of one value: broadcast from its first lane, or
// whole where AVX2 wants a vector operand.
func (a *asm) constant(name string, value float64) mem {
	return a.table(name, func(int) operand.Constant { return a.float(value) })
}

// float is an element of the given value.
func (a *asm) float(v float64) operand.Constant {
	if a.double {
		return operand.U64(math.Float64bits(v))
	}
	return operand.U32(math.Float32bits(float32(v)))
}

// mask is an element with the first bits of v.
func (a *asm) mask(v uint64) operand.Constant {
	if a.double {
		return operand.U64(v)
	}
	return operand.U32(v >> 32)
}

// table is a 64-byte vector in memory with the given lanes. A file holds each
// name once a width.
func (a *asm) table(name string, lane func(i int) operand.Constant) mem {
	symbol := fmt.Sprintf("%s%d", name, 8*a.size())
	m, ok := a.tables[symbol]
	if ok {
		return m
	}
	m = a.StaticGlobal(symbol)
	a.DataAttributes(attr.RODATA | attr.NOPTR)
	for i := range 64 / a.size() {
		a.AddDatum(i*a.size(), lane(i))
	}
	a.tables[symbol] = m
	return m
}

// load puts a constant into a register.
func (a *asm) load(m mem) vec {
	v := a.vec()
	if a.wide {
		a.broadcastAny(v, m)
	} else {
		a.mov(v, m)
	}
	return v
}

// hold is a constant in a register, where there are enough, or in memory.
func (a *asm) hold(name string, value float64) input {
	m := a.constant(name, value)
	if a.wide {
		return a.load(m)
	}
	return m
}

// at is the given vector after element i of an array.
func (a *asm) at(base, i register, vector int) mem {
	return mem{Base: base, Index: i, Scale: uint8(a.size()), Disp: vector * a.lanes() * a.size()}
}
