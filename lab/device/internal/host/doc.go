// Package host is the processor as a device: every operation of package backend in float32 and float64, by the kernels
// of package cpu where there is one and in plain Go elsewhere, on goroutines that share fixed chunks.
//
// # Numbers
//
// Chunks and the order of sums depend on shapes alone: the result does not depend on the number of workers. Sums of
// float32 are taken in float64. Instruction sets differ from one another in rounding, see package cpu.
//
// # Memory
//
// Blocks are aligned to 64 bytes and kept when they are freed, in size classes an eighth apart. A request for more than
// the machine or the control group has is ErrMemory.
package host
