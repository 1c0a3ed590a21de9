package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"coupling/lab"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// progress shows how far a list of jobs is: a bar with an estimate of the time
// left on a terminal, and elsewhere a line now and then, for logs.
type progress struct {
	mu      sync.Mutex
	w       io.Writer
	bar     *progressbar.ProgressBar // nil where there is no terminal
	total   int
	landed  int
	partial map[lab.Key]float64 // of the running cells
	began   time.Time
	spoke   time.Time
}

const steps = 1000 // of the bar, a cell

func newProgress(w io.Writer, what string, total int, quiet bool) *progress {
	p := &progress{w: w, total: total, partial: map[lab.Key]float64{}, began: time.Now(), spoke: time.Now()}
	f, ok := w.(*os.File)
	switch {
	case quiet || total == 0:
		p.w = io.Discard
	case ok && term.IsTerminal(int(f.Fd())):
		p.bar = progressbar.NewOptions(total*steps,
			progressbar.OptionSetWriter(f), progressbar.OptionSetDescription(what),
			progressbar.OptionSetPredictTime(true), progressbar.OptionSetElapsedTime(true),
			progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionFullWidth(),
			progressbar.OptionClearOnFinish())
	}
	return p
}

// event is the sink of the jobs' events.
func (p *progress) event(e lab.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e.Kind {
	case lab.Advanced:
		if e.Total > 0 {
			p.partial[e.Key] = min(float64(e.Done)/float64(e.Total), 1)
		}
	case lab.Stored, lab.Recalled, lab.Failed:
		delete(p.partial, e.Key)
		p.landed++
	case lab.Waiting:
		fmt.Fprintf(p.w, "\nwaiting for %s, which computes %s %s\n", e.Note, e.Experiment, e.Key.Short())
	}
	p.show()
}

func (p *progress) show() {
	done := float64(p.landed)
	for _, f := range p.partial {
		done += f
	}
	if p.bar != nil {
		_ = p.bar.Set(min(int(done*steps), p.total*steps-1)) // a bar that cannot be drawn stops nothing
		return
	}
	if time.Since(p.spoke) < 10*time.Second || done == 0 {
		return
	}
	p.spoke = time.Now()
	elapsed := time.Since(p.began)
	left := time.Duration(float64(elapsed) * (float64(p.total)/done - 1))
	fmt.Fprintf(p.w, "%d of %s, %s elapsed, about %s left\n", p.landed, plural(p.total, "cell"), elapsed.Round(time.Second), left.Round(time.Second))
}

// finish removes the bar.
func (p *progress) finish() {
	if p.bar != nil {
		_ = p.bar.Finish()
	}
}
