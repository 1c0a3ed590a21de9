// Package cpu holds the kernels that entropic optimal transport spends its
// time in, for float64 and float32, in AVX-512 and AVX2 assembly and in plain
// Go, chosen when the program starts.
//
// # Use
//
// Kernels are methods of a struct whose zero value works:
//
//	var k cpu.Kernels[float64]
//	for i := range n {                              // one semi-dual evaluation
//		top, sum := k.RowExp(t, h, c[i*m:(i+1)*m], 1/eps)   // t_j = exp(h_j − c_ij/ε − top)
//		lse := top + math.Log(sum)                          // α_i = ε(log a_i − lse)
//		k.Axpy(col, a[i]/sum, t)                            // col_j = Σ_i T_ij
//	}
//
// Rows: RowExp (two passes over the row, the maximum first), RowExpAt (one
// pass, with a shift that the caller knows), RowLSE (one pass, nothing stored).
// The same with costs computed from points in registers: PointRowExp,
// PointRowExpAt, PointRowLSE, PointLogits, PointCosts. Columns, reading along
// rows: Axpy or GemvT of stored exponentials, or ColStart, ColAdd, ColLSE.
// Kernel scaling: ScaleRows and Div. Gradients: Dot, DotSign and Gemv of t
// with the coordinates as rows.
//
// # Instruction sets
//
// The best instruction set of the machine is used. The environment variable
// COUPLING_CPU = generic, avx2 or avx512 forces one; see Active for what
// happens where it cannot be obeyed. Kernels[T]{ISA: cpu.Generic} forces one
// in one place. Machines that are not amd64 have Generic alone.
//
// # Numbers
//
// −Inf among h and +Inf among costs are weight zero. NaN passes into every
// result but maxima, which ignore it. Exponentials under √2·2^−1022
// (float32: √2·2^−126) are 0 and so never denormal. Any length is right,
// 0 included; nothing is aligned, nothing is read or written beyond a slice.
//
// The same call gives the same bits on one instruction set, on every machine
// that has it, for Generic on every machine of one architecture. Different instruction sets sum in different
// orders and have different exponentials (each within 2 units in the last
// place): they agree to some 1e-15·(1+log n) relative for sums of positive
// float64, 1e-6 for float32, and to rounding of the arguments where these are
// large; code that must give the same bits everywhere asks for one of them.
//
// # Assembly
//
// go generate writes the assembly with internal/gen (github.com/mmcloughlin/avo),
// which the library does not import; a test checks that it would write the
// committed bytes.
package cpu
