package sweepfile

import (
	"os/exec"
	"runtime"
	"syscall"
)

// run is cmd.Run, and the kernel kills the program if this process dies. It watches the thread that
// started the program, which therefore is kept.
func run(cmd *exec.Cmd) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd.Run()
}
