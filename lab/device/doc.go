// Package device holds arrays and runs operations on them, on the processor or on an NVIDIA GPU,
// without cgo and without a toolkit.
//
//	dev, err := device.Open("auto")            // or "cpu", "cuda:0"; "" asks COUPLING_DEVICE
//	defer dev.Close()
//	x := dev.From32(points, n, d)              // copies to the device
//	norms := dev.New(device.Float32, n, 1)
//	device.Reduce(norms, x, device.Norm)
//	host, err := norms.Get32()                 // copies back, and reports what failed on the way
//
// # Operations
//
// Operations are functions whose first argument is the destination, which exists already: an
// operation allocates nothing that can be seen. All arrays are contiguous and row-major; views are
// other shapes of the same elements or a range of the first axis. Shapes that do not fit, arrays of
// different devices, arrays that were freed and a destination that shares memory with an argument,
// unless an operation's description allows it, are mistakes of the program and panic. Errors of a
// correct program (no memory, a failed launch, an index out of range) are kept by the device until
// it is asked: see Device.
//
// # Memory
//
// Free frees an array, a Scope frees everything made inside it, and Close reports the arrays that
// were not freed. Both backends keep freed blocks for the next array of their size.
//
// # Numbers
//
// float32 and float64; the same call gives the same bits on one device, whatever the number of workers, since sums are
// taken in an order that depends on shapes alone. Devices differ from one another in rounding, except for random
// numbers, which are equal bit for bit.
//
// # Programs
//
// A program that imports this package needs no library of a GPU to start: libcuda and cuBLAS are
// opened when a GPU is. The library that opens them (purego) makes the program dynamically linked
// on Linux; it needs libc, libdl and libpthread. With
//
//	go build -tags nocuda
//
// it is static like other programs without cgo, and opening a GPU returns ErrNoDevice. With package
// ot either has less than 8 MB.
//
// Package devicetest compares every device with a float64 reference. GPU.md collects facts about
// GPUs that need none, and what to run where there is one.
package device
