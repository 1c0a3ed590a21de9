//go:build unix

package interrupt

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// A program that hears the first signal and does not heed it is ended by the next.
func TestNextSignalEnds(t *testing.T) {
	if os.Getenv("TEST_DEAF") != "" {
		ctx, stop := Context(context.Background(), os.Interrupt)
		defer stop()
		fmt.Println("ready")
		<-ctx.Done()
		fmt.Println("heard")
		select {}
	}
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestNextSignalEnds$")
	child.Env = append(os.Environ(), "TEST_DEAF=1")
	out, err := child.StdoutPipe()
	if err == nil {
		err = child.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for _, want := range []string{"ready", "heard"} {
		if !lines.Scan() || lines.Text() != want {
			t.Fatalf("%q, want %s", lines.Text(), want)
		}
		_ = child.Process.Signal(os.Interrupt)
	}
	ended := make(chan error, 1)
	go func() { ended <- child.Wait() }()
	for range 1000 {
		select {
		case <-ended:
			if s, ok := child.ProcessState.Sys().(syscall.WaitStatus); !ok || s.Signal() != syscall.SIGINT {
				t.Errorf("%v", child.ProcessState)
			}
			return
		case <-time.After(10 * time.Millisecond):
			_ = child.Process.Signal(os.Interrupt)
		}
	}
	t.Error("it lives after ten seconds of interrupts")
}
