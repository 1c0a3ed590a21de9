//go:build unix

package jupyter

import "syscall"

// terminate ends Jupyter and its kernels: it does not ask in return.
const terminate = syscall.SIGTERM
