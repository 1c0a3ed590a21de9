package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"coupling/lab/store"

	"golang.org/x/term"
)

// A statusLine is the last line of a terminal, written over and over. Elsewhere it
// is a line of a log now and then, or nothing.
type statusLine struct {
	mu       sync.Mutex
	w        io.Writer
	terminal bool
	shown    bool
	next     time.Time // not before
	every    time.Duration
}

// status returns a line on standard error. logged is how often it is logged where
// there is no terminal; 0: never.
func (a *app) status(logged time.Duration) *statusLine {
	f, ok := a.err.(*os.File)
	switch {
	case a.quiet:
	case ok && term.IsTerminal(int(f.Fd())):
		return &statusLine{w: f, terminal: true, every: 100 * time.Millisecond}
	case logged > 0:
		return &statusLine{w: a.err, every: logged, next: time.Now().Add(logged)}
	}
	return &statusLine{w: io.Discard}
}

func (l *statusLine) say(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Now().Before(l.next) {
		return
	}
	l.next = time.Now().Add(l.every)
	if l.shown = true; l.terminal {
		fmt.Fprintf(l.w, "\r\x1b[K%s", text)
	} else {
		fmt.Fprintln(l.w, text)
	}
}

// clear removes the line.
func (l *statusLine) clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.terminal && l.shown {
		fmt.Fprint(l.w, "\r\x1b[K")
	}
	l.shown = false
}

// progress returns a sink that shows how far a list of jobs is, and what removes
// the display.
func (a *app) progress(what string, total int) (event func(store.Event), finish func()) {
	if total == 0 {
		return func(store.Event) {}, func() {}
	}
	status, meter := a.status(10*time.Second), store.NewMeter(what, total)
	return func(e store.Event) {
		_, line := meter.Add(e)
		if e.Kind == store.Waiting {
			status.clear()
			fmt.Fprintf(status.w, "waiting for %s, which computes %s %s\n", e.Note, e.Experiment, e.Key.Short())
		}
		status.say(line)
	}, status.clear
}
