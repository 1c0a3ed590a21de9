// Package child runs programs that end with this one.
package child

import (
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// A Child is a process that was started by [Launch].
type Child struct {
	Ended chan struct{} // closed at its end
	err   error
}

// Launch starts a process and waits for it. When the context of cmd ends it gets SIGTERM, and is killed after patience.
// On Linux it gets the signal orphaned where this process is killed: the system sends that at the end of the thread
// that started it, which is kept until the process has ended. Then done is called.
func Launch(cmd *exec.Cmd, orphaned syscall.Signal, patience time.Duration, done func()) (*Child, error) {
	c, started := &Child{Ended: make(chan struct{})}, make(chan error)
	cmd.Cancel, cmd.WaitDelay = func() error { return cmd.Process.Signal(syscall.SIGTERM) }, patience
	endWithParent(cmd, orphaned)
	go func() {
		defer done()
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			c.err = cmd.Wait()
			close(c.Ended)
		}
	}()
	return c, <-started
}

// Wait waits for the process to end, and returns how it did.
func (c *Child) Wait() error {
	<-c.Ended
	return c.err
}
