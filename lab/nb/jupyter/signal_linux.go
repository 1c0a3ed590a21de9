package jupyter

import "syscall"

// apart puts Jupyter into a process group of its own, and ends it with us.
func apart() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: terminate}
}
