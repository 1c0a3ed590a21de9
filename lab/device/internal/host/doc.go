// Package host is the processor as a device: every operation of package backend in float32 and float64, by the kernels
// of package cpu where there is one and in plain Go elsewhere, on goroutines that share fixed chunks.
//
// # Numbers
//
// Chunks and the order of sums depend on shapes alone: the result does not depend on the number of workers. Sums of
// float32 are taken in float64. Instruction sets differ from one another in rounding, see package cpu.
//
// # Speed
//
// On one core of an AMD EPYC (Zen 4, AVX-512) with float32 in the caches: products at the speed of
// cpu.Gemm; in nanoseconds an element, additions 0.3, ReLU 0.6 and its derivative 1.3, tanh 2.6,
// sums 0.3, normalisation 0.4, Adam 3, a normal number some 10. Log-sum-exp half-steps run at the
// speed of the kernels of cpu. The benchmarks print each beside what bounds it. Rows of a few
// elements cost some 25 ns each whatever is in them.
//
// # Memory
//
// Blocks are aligned to 64 bytes and kept when they are freed, in size classes an eighth apart. A request for more than
// the machine or the control group has is ErrMemory.
package host
