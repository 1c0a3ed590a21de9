package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// interrupts turns signals into two requests: the first Ctrl-C closes drain,
// which lets running cells finish and begins no other; the second, or SIGTERM at
// any time, ends ctx, which stops them.
type interrupts struct {
	ctx   context.Context
	drain chan struct{}
	stop  func()
}

func catchInterrupts(stderr io.Writer) *interrupts {
	ctx, cancel := context.WithCancel(context.Background())
	in := &interrupts{ctx: ctx, drain: make(chan struct{})}
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-done:
				return
			case s := <-signals:
				if s == syscall.SIGTERM || in.drained() {
					if !in.drained() {
						close(in.drain)
					}
					cancel()
					continue
				}
				fmt.Fprintln(stderr, "\ncoupling: finishing the cells that run; Ctrl-C again stops them")
				close(in.drain)
			}
		}
	})
	in.stop = func() { signal.Stop(signals); close(done); wg.Wait(); cancel() }
	return in
}

// drained reports whether an interrupt came.
func (in *interrupts) drained() bool {
	select {
	case <-in.drain:
		return true
	default:
		return false
	}
}
