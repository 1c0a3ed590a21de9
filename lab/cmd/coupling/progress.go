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

// progress shows how far a list of jobs is: a bar with the cells that landed and
// the time that is left on a terminal, and elsewhere a line now and then, for
// logs.
type progress struct {
	mu      sync.Mutex
	w       io.Writer
	bar     *progressbar.ProgressBar // nil where there is no terminal
	what    string
	total   int
	landed  int
	failed  int
	partial map[lab.Key]float64 // of the running cells
	most    float64             // the bar never goes back
	began   time.Time
	spoke   time.Time
}

const steps = 1000 // of the bar, a cell

func newProgress(w io.Writer, what string, total int, quiet bool) *progress {
	p := &progress{w: w, what: what, total: total, partial: map[lab.Key]float64{}, began: time.Now(), spoke: time.Now()}
	f, ok := w.(*os.File)
	switch {
	case quiet || total == 0:
		p.w = io.Discard
	case ok && term.IsTerminal(int(f.Fd())):
		p.bar = progressbar.NewOptions(total*steps,
			progressbar.OptionSetWriter(f), progressbar.OptionSetDescription(what),
			progressbar.OptionSetPredictTime(false), progressbar.OptionSetElapsedTime(false),
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
		if e.Kind == lab.Failed {
			p.failed++
		}
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
	p.most = max(p.most, done)
	if p.bar != nil {
		p.bar.Describe(p.line())
		_ = p.bar.Set(min(int(p.most*steps), p.total*steps-1)) // a bar that cannot be drawn stops nothing
		return
	}
	if time.Since(p.spoke) >= 10*time.Second && p.most > 0 {
		p.spoke = time.Now()
		fmt.Fprintln(p.w, p.line())
	}
}

// line is "tour/digits 3/7 cells, about 20s left". How far a cell says it is may
// be far from the share of its time, so nothing is foretold from less than half
// a cell.
func (p *progress) line() string {
	s := fmt.Sprintf("%s %d/%d cells", p.what, p.landed, p.total)
	if p.failed > 0 {
		s += fmt.Sprintf(", %d failed", p.failed)
	}
	elapsed := time.Since(p.began)
	if p.most < .5 {
		return fmt.Sprintf("%s, %s so far", s, elapsed.Round(time.Second))
	}
	left := time.Duration(float64(elapsed) * (float64(p.total)/p.most - 1))
	return fmt.Sprintf("%s, about %s left", s, left.Round(time.Second))
}

// finish removes the bar.
func (p *progress) finish() {
	if p.bar != nil {
		_ = p.bar.Finish()
	}
}
