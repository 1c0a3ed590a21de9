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
// PointRowExpAt, PointRowLSE, PointLogits, PointCosts. Where costs are large
// against ε, RowExpScaled and ExpScaled take differences before they divide.
// Columns, reading along rows: Axpy or GemvT of stored exponentials, or
// ColStart, ColAdd. Kernel scaling: Gemv and GemvT. Gradients: Dot, DotSign, Below
// and Gemv of t with the coordinates as rows. Mixed reads rows held in
// float32 under float64 arithmetic: 4.1e9 elements a second of a 4096² matrix
// for a product from each side, where float64 rows allow 2.4e9. Products, Gram matrices
// and distances in many dimensions: Gemm. Chunks deals work to processors.
//
// # Instruction sets
//
// The best instruction set of the machine is used. The environment variable
// COUPLING_CPU = generic, avx2 or avx512 forces one; see Active for what
// happens where it cannot be obeyed. Kernels[T]{ISA: cpu.Generic} forces one
// in one place. Machines that are not amd64 have Generic alone. (go test keeps
// results across values of COUPLING_CPU: give it -count=1.)
//
// # Numbers
//
// −Inf among h and +Inf among costs are weight zero. NaN passes into every
// result but maxima, which ignore it. Exponentials under √2·2^−1022
// (float32: √2·2^−126) are 0 and so never denormal. Any length is right,
// 0 included; nothing is aligned, nothing is read or written beyond a slice.
//
// Exp is within 2 units in the last place over its whole range. In the kernels
// that fuse it with a row or a shift, e^x adds |x|·1.4e-17 relative (float32:
// |x|·1.3e-8), a fraction of what rounding the argument x costs.
//
// The same call gives the same bits on one instruction set, on every machine
// that has it; for Generic, on every machine of one architecture. Instruction
// sets differ from one another: they sum in other orders, have other
// exponentials, and Generic on amd64 rounds h − c·inv twice. Of n positive
// terms float64 sums differ by some 1e-15 relative, n·1e-16 at worst (float32:
// 5e-7, n·6e-8), on top of the rounding of the arguments, |h|·1e-16. Code that
// must give the same bits everywhere asks for one instruction set.
//
// # Speed
//
// On one core of an AMD EPYC (Zen 4, 3.7 GHz; 512-bit operations take two
// turns there), rows of 1024 in cache, 1e9 elements a second:
//
//	            float64              float32
//	            AVX-512  AVX2  Go    AVX-512  AVX2  Go
//	Exp         2.5      1.6   0.12  6.8      4.8   0.12
//	RowExpAt    2.2      1.4   0.10  5.9      3.6   0.10
//	RowExp      1.7      1.2   0.09  4.3      3.0   0.09
//	RowLSE      2.1      1.2   0.10  4.8      3.2   0.09
//	PointRowLSE 1.7      1.1   0.06  3.8      2.8   0.06  (|x−y|², two dimensions)
//	ColAdd      1.9      1.1   0.08  4.6      2.8   0.08
//
// A matrix outside the caches arrives at 2.2e9 float64 or 4.6e9 float32 a
// second there (18 GB/s), which bounds RowExpAt at two thirds of
// that. Gemm reaches 50 of 59 GFLOP/s in float64 and 107 of 118 in float32.
//
// The prototypes that these kernels grew from were measured on one core of
// another machine, whose name was not noted; its float32 products, 234 GFLOP/s,
// are those of two full 512-bit multipliers, twice what the EPYC above has. Not
// measured side by side:
//
//	                         there            on the EPYC above
//	                         AVX-512  AVX2    AVX-512  AVX2
//	Exp, float32             14.1     6.3     6.8      4.8
//	Exp, float64             3.3              2.5      1.6
//	RowLSE, float32          7.4      4.1     4.8      3.2   (there 2048², here rows of 1024)
//	Gemm, float32, GFLOP/s   234      123     107
//
// What is here on the machine of the prototypes, and they on this one, is not
// known.
//
// # Assembly
//
// go generate writes the assembly with internal/gen (github.com/mmcloughlin/avo),
// which the library does not import; a test checks that it would write the
// committed bytes.
package cpu
