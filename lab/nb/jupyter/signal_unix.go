//go:build unix

package jupyter

import "syscall"

// terminate ends Jupyter and its kernels: it does not ask in return.
const terminate = syscall.SIGTERM

// apart puts Jupyter into a process group of its own.
func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
