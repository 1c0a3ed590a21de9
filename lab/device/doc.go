// Package device is where arrays live and operations run: the processor, or an NVIDIA GPU without cgo and without a
// toolkit.
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
// Operations are functions whose first argument is the destination, which exists already: an operation allocates
// nothing that can be seen. All arrays are contiguous and row-major; views are other shapes of the same elements or a
// range of the first axis. Shapes that do not fit, arrays of different devices and arrays that were freed are mistakes
// of the program and panic. What can happen to a correct program (no memory, a launch that fails, an index out of
// range) is kept by the device until it is asked: see Device.
//
// # Memory
//
// Free gives memory back, a Scope does so for everything that was made inside it, and Close reports what nobody freed.
// Both backends keep freed blocks for the next array of their size.
//
// # Numbers
//
// float32 and float64; the same call gives the same bits on one device, whatever the number of workers, since sums are
// taken in an order that depends on shapes alone. Devices differ from one another in rounding, except for random
// numbers, which are equal bit for bit.
//
// # Programs
//
// A program that imports this package needs no library of a GPU to start: libcuda and cuBLAS are opened when a GPU is.
// What opens them (purego) makes the program a dynamically linked one on Linux, which needs libc, libdl and libpthread. With
//
//	go build -tags nocuda
//
// it is a static one as other programs without cgo are, and opening a GPU is ErrNoDevice. With package ot either has
// less than 8 MB.
//
// Package devicetest holds every device to a float64 reference.
package device
