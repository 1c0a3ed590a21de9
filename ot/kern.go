package ot

import "coupling/lab/device/cpu"

// kern is the set of vector kernels in use: AVX-512, AVX2 or plain Go.
var kern cpu.Kernels[float64]
