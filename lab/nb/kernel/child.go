package kernel

import (
	"os/exec"
	"runtime"
)

// A Child is a process that was started by [Launch].
type Child struct {
	Ended chan struct{} // closed at its end
	err   error
}

// Launch starts a process and waits for it. On Linux it is ended where this process is killed: the system does so at
// the end of the thread that started it, which this one keeps until the process has ended. Then done is called.
func Launch(cmd *exec.Cmd, done func()) (*Child, error) {
	c, started := &Child{Ended: make(chan struct{})}, make(chan error)
	endWithParent(cmd)
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
