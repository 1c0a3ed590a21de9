//go:build unix && !linux

package jupyter

import "syscall"

// apart puts Jupyter into a process group of its own.
func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
