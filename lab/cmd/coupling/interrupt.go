package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"coupling/lab/slurm"
)

// interrupts turns signals into two requests while cells are computed: the first Ctrl-C closes
// drain, which lets running cells finish and begins no other; the second, or SIGTERM, ends ctx,
// which stops them; a third kills. What was sent to a cluster goes on after SIGTERM: that was meant
// for this process. At all other times signals end the program as usual: nothing is lost then.
type interrupts struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	drain  chan struct{}
	stderr io.Writer
}

func newInterrupts(stderr io.Writer) *interrupts {
	in := &interrupts{drain: make(chan struct{}), stderr: stderr}
	in.ctx, in.cancel = context.WithCancelCause(context.Background())
	return in
}

func (in *interrupts) during(work func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	var wg sync.WaitGroup
	wg.Go(func() {
		for s := range signals {
			in.handle(s, signals)
		}
	})
	work()
	signal.Stop(signals) // nothing is sent any more
	close(signals)
	wg.Wait()
}

func (in *interrupts) handle(s os.Signal, signals chan os.Signal) {
	first := !in.drained()
	if s != os.Interrupt {
		in.cancel(slurm.ErrLeave)
	}
	if first {
		close(in.drain)
	}
	if first && s == os.Interrupt {
		fmt.Fprintln(in.stderr, "\ncoupling: finishing the cells that run; Ctrl-C again stops them")
		return
	}
	in.cancel(nil)
	signal.Stop(signals) // the next one kills
}

func (in *interrupts) drained() bool {
	select {
	case <-in.drain:
		return true
	default:
		return false
	}
}
