//go:build unix

package jupyter

import "syscall"

// terminate ends Jupyter and its kernels without asking.
const terminate = syscall.SIGTERM
