package pair

import (
	"math"
	"slices"

	"coupling/lab/logspace"
)

// Poisson returns the pair of a mechanism with the given noise (sensitivity 1 per record of the
// batch) on a Poisson sample at the given rate, when inserted records were added to and removed
// ones taken out of the data set x to make x′:
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

// Shifted returns the pair P = Σ w_i f(x − i), Q = Σ v_j f(x + j) from log w and log v: noise of
// sensitivity 1 for each record of a batch, with i removed and j inserted ones.
func Shifted(noise Noise, scale float64, logW, logV []float64) (*Mixture, error) {
	if noise != nil && scale > 0 {
		if most := noise.LogRatio(math.Inf(1), 1/scale); math.IsInf(most, 1) { // at δ = 0 it has no bound anyway
			logW, logV = forgetful(logW), forgetful(logV)
		} else {
			logW, logV = relevant(logW, most), relevant(logV, most)
		}
	}
	return NewMixture(noise, scale, shifted(logW, 1), shifted(logV, -1))
}

// Bare returns the pair of a value released without noise, from log w and log v: P and Q agree
// where the batch holds none of the records that differ, and are told apart elsewhere.
func Bare(logW, logV []float64) (*Discrete, error) {
	w, v := math.Exp(logW[0]), math.Exp(logV[0])
	restW, restV := -math.Expm1(logW[0]), -math.Expm1(logV[0])
	return discrete([]point{pointOf(w, v, restV-restW), pointOf(restW, 0, restW), pointOf(0, restV, -restV)}, 0), nil
}

// shifted puts weight k at mean step·k.
func shifted(logW []float64, step float64) []Component {
	c := make([]Component, len(logW))
	for k, w := range logW {
		c[k] = Component{LogWeight: w, Mean: step * float64(k)}
	}
	return c
}

// logForget is the log of a tail mass that is moved to the last value, which is the safe direction,
// or dropped where no loss is changed by more than that of itself.
const logForget = -1000

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

// relevant returns weights without the tail that is e^−1000 of the others wherever the noise is:
// one record moves the log of a density by most at most, so that for every output weights k and j
// compare at most as w_k e^(most·k) and w_j e^(most·j).
func relevant(logW []float64, most float64) []float64 {
	peak, last := math.Inf(-1), len(logW)-1
	for k, w := range logW {
		peak = max(peak, w+most*float64(k))
	}
	for ; logW[last]+most*float64(last) < peak+logForget; last-- {
	}
	return logW[:last+1]
}

// Binomial returns log Bin(k | n, r) for k = 0..n.
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
		w += logspace.Log(float64(group-k)) + logspace.Log(float64(n-k)) - logspace.Log(float64(k+1)) -
			logspace.Log(float64(size-group-n+k+1))
	}
	for k := first; k <= last; k++ {
		out[k] -= total.Log()
	}
	return out
}
