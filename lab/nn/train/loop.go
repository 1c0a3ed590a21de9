package train

import "context"

// Loop makes the steps of a training, each from a batch that was prepared on a goroutine of its own while the step before
// ran. B is a batch in the host's memory; there are two, which take turns, so that a loop whose Prepare and Step allocate
// nothing allocates nothing after its first steps: Step copies the batch to arrays that live as long as the training and
// launches the rest, recorded as a device.Graph.
type Loop[B any] struct {
	First, Steps int // steps First … Steps−1 are made
	// Prepare fills a batch, for steps in order. It is never called from two goroutines at once, but beside Step.
	Prepare func(step int, batch *B)
	// Step makes a step. Its error ends the loop.
	Step func(step int, batch *B) error
}

// Run makes the steps, and returns when the goroutine has ended: nil, the error of Step or that of ctx.
func (l Loop[B]) Run(ctx context.Context) error {
	ready, used, ended := make(chan *B, 2), make(chan *B, 2), make(chan struct{})
	for range 2 {
		used <- new(B)
	}
	go func() {
		defer close(ended)
		for k := l.First; k < l.Steps; k++ {
			b, more := <-used
			if !more {
				return
			}
			l.Prepare(k, b)
			ready <- b
		}
	}()
	defer func() {
		close(used)
		for range len(used) { // no further batch is begun
			<-used
		}
		<-ended
	}()
	for k := l.First; k < l.Steps; k++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		b := <-ready
		if err := l.Step(k, b); err != nil {
			return err
		}
		used <- b
	}
	return nil
}
