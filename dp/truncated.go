package dp

import (
	"math"

	"coupling/dp/pair"
	"coupling/lab/logspace"
)

// truncated adds steps on Poisson samples of at most so many records.
func (w *walker) truncated(e TruncatedPoisson, times int, s sampling) error {
	m, ok := e.Event.(Mechanism)
	switch {
	case !(e.Rate > 0 && e.Rate <= 1):
		return bad("rate = %v: must be in (0, 1]", e.Rate)
	case e.Cap < 1 || e.Size < 1 || float64(e.Size) > 1<<53: // of more, 1 − Rate may be 1 where batches are full
		return bad("TruncatedPoisson: at most %d of %d records: must be at least 1, and at most 2^53", e.Cap, e.Size)
	case s.kind != everything:
		return noPair(e, "a sample of a sample")
	case !ok:
		return noPair(e, "several mechanisms on one sampled batch, or a sample of a sample")
	case w.span.total != 1 || w.exchange:
		return noPair(e, "more than one inserted or removed record; ask for add/remove and one record")
	}
	w.directed, w.loose = true, true
	key := part{mechanism: m, sampling: sampling{kind: poisson, rate: e.Rate, size: e.Size}, most: e.Cap}
	return w.leaf(key, times, func() (pair.Pair, error) {
		p, err := e.removal(m)
		if err == nil && w.span.most == 0 {
			p = p.Swap()
		}
		return p, err
	})
}

// removal returns the pair of the removal of one record. Samples of other records that fill the
// batch are grouped by size; a group has the rate of its least size. As δ falls with the rate, the
// mass beyond a size is rounded down. What rounding leaves between samples that fill the batch and
// those that do not is charged as worse than both: at Rate, two units.
func (e TruncatedPoisson) removal(m Mechanism) (pair.Pair, error) {
	alone, err := pairAt(m, sampling{kind: poisson, rate: e.Rate}, span{1, 1, 1})
	if err != nil {
		return nil, err
	}
	full, wrong := binomialTail(e.Size-1, e.Rate, e.Cap)
	if full == 0 {
		return alone, nil
	}
	two, err := pairAt(m, sampling{}, span{2, 1, 1})
	if err != nil {
		return nil, err
	}
	between, err := pair.Sampled(two, e.Rate)
	if err != nil {
		return nil, err
	}
	parts := []pair.Pair{alone, between}
	most, rest := min(1, full*(1+wrong)), full*max(0, 1-wrong)
	weights := []float64{1 - most, most - rest}
	for from := e.Cap; rest > 0; {
		to, beyond := from, rest
		for beyond == rest || rest-beyond < 1e-14*full && beyond > 0 { // sizes that hardly occur join the group before
			if beyond == rest { // none so far
				from = to
			}
			to += 1 + to/32
			beyond, wrong = binomialTail(e.Size-1, e.Rate, to)
			beyond = min(beyond*max(0, 1-wrong), rest)
		}
		inside, err := pair.Sampled(two, e.Rate*(float64(e.Cap)/float64(from+1)))
		if err != nil {
			return nil, err
		}
		parts, weights = append(parts, inside), append(weights, rest-beyond)
		from, rest = to, beyond
	}
	return pair.NewUnion(weights, parts...)
}

// pairAt is a mechanism's pair at a split.
func pairAt(m Mechanism, s sampling, k span) (pair.Pair, error) {
	directed := false
	b, err := newBatch(s, k, false, &directed)
	if err != nil {
		return nil, err
	}
	return pairOf(m, b)
}

// binomialTail returns P(Bin(n, rate) ≥ k) and a bound of its relative error. Beyond the mean its
// terms fall, by ratios that fall.
func binomialTail(n int, rate float64, k int) (tail, wrong float64) {
	switch {
	case k > n:
		return 0, 0
	case rate == 1 || k <= 0:
		return 1, 0
	case float64(k) <= float64(n)*rate:
		rest, wrong := binomialTail(n, 1-rate, n-k+1)
		return 1 - rest, min(1, (wrong+1e-15)*rest/(1-rest)+1e-15)
	}
	logFirst := pair.LogBinomial(n, k) + float64(k)*logspace.Log(rate) + float64(n-k)*math.Log1p(-rate)
	sum, term := 0.0, 1.0
	for j := k; j <= n && term > 1e-17*sum; j++ {
		sum += term
		term *= float64(n-j) / float64(j+1) * rate / (1 - rate)
	}
	// The first term comes from logs of factorials, with a relative error of some ulps of their sizes.
	return min(1, math.Exp(logFirst)*sum), 1e-9 + 1e-15*float64(n)*logspace.Log(float64(n)+1)
}
