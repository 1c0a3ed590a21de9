package pair

import (
	"math"
	"slices"

	"coupling/lab/logspace"
)

// Poisson returns the pair of a mechanism with the given noise (sensitivity 1 per record of the batch) on a Poisson
// sample at the given rate, when inserted records were added to and removed ones taken out of the data set x to make x′:
//
//	P = Σ Bin(i | removed, r) f(x − i),  Q = Σ Bin(j | inserted, r) f(x + j)
//
// (SSKG, Theorem 3.8 and M.2; it is tight). Rate 1 is no sampling. A substitution is one removal and one insertion.
func Poisson(noise Noise, scale, rate float64, inserted, removed int) (*Mixture, error) {
	if err := in.Rate(rate); err != nil {
		return nil, err
	}
	if inserted < 0 || removed < 0 || inserted+removed == 0 {
		return nil, bad("inserted = %d, removed = %d: must be at least 0, and one of them positive", inserted, removed)
	}
	return Shifted(noise, scale, Binomial(removed, rate), Binomial(inserted, rate))
}

// Shifted returns the pair P = Σ w_i f(x − i), Q = Σ v_j f(x + j) from log w and log v: noise of sensitivity 1 for each record of a
// batch, with i removed and j inserted ones.
func Shifted(noise Noise, scale float64, logW, logV []float64) (*Mixture, error) {
	if noise == Gaussian { // others have a largest loss, to which any weight may matter
		logW, logV = forgetful(logW), forgetful(logV)
	}
	return NewMixture(noise, scale, shifted(logW, 1), shifted(logV, -1))
}

// shifted puts weight k at mean step·k.
func shifted(logW []float64, step float64) []Component {
	c := make([]Component, len(logW))
	for k, w := range logW {
		c[k] = Component{LogWeight: w, Mean: step * float64(k)}
	}
	return c
}

const (
	// logForget is the log of the tail mass that is moved to the last value, which is the safe
	// direction.
	logForget = -1000
	// mostKept is the number of records up to which Binomial forgets nothing.
	mostKept = 4096
)

// forgetful returns weights with the tail beyond e^−1000 moved to the last.
func forgetful(logW []float64) []float64 {
	kept, tail, last := slices.Clone(logW), logspace.Zero(), len(logW)-1
	for k := last; k == last || k >= 0 && logW[k] < logForget; k-- {
		tail.Add(logW[k])
		kept[k] = math.Inf(-1)
	}
	kept[last] = tail.Log()
	return kept
}

// Binomial returns log Bin(k | n, r) for k = 0..n, for n > 4096 with the tail beyond e^−1000 moved to k = n.
func Binomial(n int, r float64) []float64 {
	out := slices.Repeat([]float64{math.Inf(-1)}, n+1)
	switch {
	case n == 0 || r <= 0:
		out[0] = 0
		return out
	case r >= 1:
		out[n] = 0
		return out
	}
	w, odds := wideExp(float64(n)*math.Log1p(-r), 0), wideOf(r).scaled(1/(1-r))
	all, total := make([]wide, 0, n+1), wide{}
	for k := 0; k <= n; k++ {
		if n > mostKept && w.log() < logForget && float64(k) > float64(n)*r && k < n {
			// The terms from here on fall: their sum is at most n−k+1 times the first.
			out[n] = w.log() + logspace.Log(float64(n-k)+1)
			break
		}
		all, total = append(all, w), total.plus(w)
		w = w.scaled(float64(n-k) / float64(k+1)).times(odds)
	}
	for k, w := range all { // the error of the first is that of all
		out[k] = w.times(wide{1 / total.frac, -total.exp}).log()
	}
	return out
}

// Hypergeometric returns log P(k special records in n draws without replacement from size, of which group are special),
// for k = 0..min(n, group).
func Hypergeometric(size, group, n int) []float64 {
	last := min(n, group)
	out := slices.Repeat([]float64{math.Inf(-1)}, last+1)
	first := max(0, n+group-size)
	// Unnormalised by the recurrence, then normalised: few terms, all of one sign.
	w, total := 0.0, logspace.Zero()
	for k := first; k <= last; k++ {
		out[k] = w
		total.Add(w)
		w += logspace.Log(float64(group-k)) + logspace.Log(float64(n-k)) - logspace.Log(float64(k+1)) - logspace.Log(float64(size-group-n+k+1))
	}
	for k := first; k <= last; k++ {
		out[k] -= total.Log()
	}
	return out
}
