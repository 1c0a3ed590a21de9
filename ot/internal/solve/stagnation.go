package solve

// stagnation detects an error that has stopped falling.
type stagnation struct {
	// monotone marks methods that make progress while the error is above rounding: every Sinkhorn
	// step raises the dual by at least half of ε times the squared error. They may be slow, but do
	// not stall.
	monotone bool
	since    int
	best     float64
	seen     bool
}

const (
	// patience is how many steps may pass without a new best error: L-BFGS on weakly coupled atoms
	// may need hundreds.
	patience = 1000
	// noisePatience is the same where the error is of the order of rounding.
	noisePatience = 60
	// nearNoise is the ratio of error to rounding up to which an error is of the order of rounding.
	nearNoise = 100
	// monotoneNoise is the ratio of error to rounding up to which a monotone method may be called
	// stalled.
	monotoneNoise = 1e4
)

// stalled records err and reports whether the best error has stood for too long; noise is the order
// of rounding.
func (t *stagnation) stalled(err, noise float64) bool {
	if !t.seen || err < t.best {
		t.best, t.since, t.seen = err, 0, true
		return false
	}
	t.since++
	switch {
	case t.best < nearNoise*noise:
		return t.since >= noisePatience
	case t.monotone && t.best > monotoneNoise*noise:
		return false
	}
	return t.since >= patience
}
