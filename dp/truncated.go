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
	case e.Cap < 1 || e.Size < 1:
		return bad("TruncatedPoisson: at most %d of %d records: must be at least 1", e.Cap, e.Size)
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

// removal returns the pair of the removal of one record.
func (e TruncatedPoisson) removal(m Mechanism) (pair.Pair, error) {
	alone, err := pairAt(m, sampling{kind: poisson, rate: e.Rate}, span{1, 1, 1})
	if err != nil {
		return nil, err
	}
	full := binomialTail(e.Size-1, e.Rate, e.Cap)
	if full == 0 {
		return alone, nil
	}
	instead, err := pairAt(m, sampling{}, span{2, 1, 1})
	if err == nil {
		instead, err = pair.Sampled(instead, e.Rate*(float64(e.Cap)/float64(e.Cap+1)))
	}
	if err != nil {
		return nil, err
	}
	return pair.NewUnion([]float64{1 - full, full}, alone, instead)
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

// binomialTail returns P(Bin(n, rate) ≥ k), rounded up. Beyond the mean its terms fall, by ratios that fall.
func binomialTail(n int, rate float64, k int) float64 {
	switch {
	case k > n:
		return 0
	case rate == 1 || float64(k) <= float64(n)*rate:
		return 1
	}
	logFirst := pair.LogBinomial(n, k) + float64(k)*logspace.Log(rate) + float64(n-k)*math.Log1p(-rate)
	sum, term := 0.0, 1.0
	for j := k; j <= n && term > 1e-17*sum; j++ {
		sum += term
		term *= float64(n-j) / float64(j+1) * rate / (1 - rate)
	}
	// The first term comes from logs of factorials, with a relative error of some ulps of their sizes.
	rounding := 1e-15 * (10 + float64(n)*math.Log(float64(n)+1))
	return min(1, math.Exp(logFirst+rounding)*sum*(1+1e-9))
}
