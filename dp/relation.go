package dp

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"coupling/dp/pair"
)

// RelationKind is the kind of change between neighbouring data sets.
type RelationKind int

const (
	// AddRemove means that records are inserted or removed, in any mixture that adds up to the group's size.
	AddRemove RelationKind = iota
	// Substitution means that records are replaced by others: as many are removed as are inserted,
	// and a removed record may be two units from an inserted one. For samples with and without
	// replacement the unit is an exchange, and this is the bound of SSKG.
	Substitution
	// Insertion means that x′ has the records of x and the group's: one direction only.
	Insertion
	// Removal means that x′ lacks the group's records: one direction only.
	Removal
	// Exchange is Substitution where exchanging any record for any other, the removed for the
	// inserted one included, moves the value by at most one unit. For one record sampled without
	// replacement, and for all of the data, symmetric mechanisms have a tight pair (advanced joint
	// convexity); other samples are refused.
	Exchange
)

// Relation is a neighbouring relation of data sets. The zero value is one record inserted or removed.
type Relation struct {
	Kind  RelationKind
	Group int // the number of records K; 0 means 1
}

// size returns K.
func (r Relation) size() int { return max(1, r.Group) }

// OfRecords returns the relation to charge events under whose unit is one record inserted or
// removed, such as those of sums, counts and histograms of all records. For them Exchange is
// Substitution: the exchange of a record is two units, where Exchange by itself counts one.
func (r Relation) OfRecords() Relation {
	if r.Kind == Exchange {
		r.Kind = Substitution
	}
	return r
}

// reversed is the relation of x′ and x.
func (r Relation) reversed() Relation {
	switch r.Kind {
	case Insertion:
		r.Kind = Removal
	case Removal:
		r.Kind = Insertion
	}
	return r
}

// String names the relation.
func (r Relation) String() string {
	if r.size() == 1 {
		return r.Kind.String()
	}
	return fmt.Sprintf("%v, groups of %d", r.Kind, r.size())
}

// String names the kind.
func (k RelationKind) String() string { return k.words()[0] }

// Change describes how a neighbouring data set differs. unit names one record, such as "record" or
// "labelled image".
func (r Relation) Change(unit string) string {
	if r.size() == 1 {
		return fmt.Sprintf("one %s %s", unit, r.Kind.words()[1])
	}
	return fmt.Sprintf("up to %d %ss %s", r.size(), unit, r.Kind.words()[2])
}

// words are the kind's name and what happens to one record and to a group.
func (k RelationKind) words() [3]string {
	words := [...][3]string{
		AddRemove:    {"add/remove", "added or removed", "added or removed, in any mixture"},
		Substitution: {"substitution", "replaced by another", "replaced by others"},
		Insertion:    {"insertion", "added (not removed)", "added (not removed)"},
		Removal:      {"removal", "removed (not added)", "removed (not added)"},
		Exchange:     {"exchange", "exchanged for any other", "exchanged for any others"},
	}
	if k < 0 || int(k) >= len(words) {
		return [3]string{fmt.Sprintf("RelationKind(%d)", int(k)), "changed in a way of an unknown kind",
			"changed in an unknown way"}
	}
	return words[k]
}

// span is a range of splits: between least and most of the total records are removed and the others
// inserted.
type span struct{ total, least, most int }

// maxGroup is the largest group that can be accounted for.
const maxGroup = 1_000_000

// spans returns all splits of the relation. They include both directions of a pair: exchanging x
// and x′ exchanges insertion and removal.
func (r Relation) spans() (span, error) {
	k := r.size()
	if r.Group < 0 || k > maxGroup {
		return span{}, bad("group = %d: must be in 1..1,000,000", r.Group)
	}
	switch r.Kind {
	case AddRemove:
		return span{total: k, most: k}, nil
	case Substitution, Exchange:
		return span{total: 2 * k, least: k, most: k}, nil
	case Insertion:
		return span{total: k}, nil
	case Removal:
		return span{total: k, least: k, most: k}, nil
	}
	return span{}, bad("relation = %d: unknown", int(r.Kind))
}

// single reports whether the span is one split.
func (s span) single() bool { return s.least == s.most }

// halved cuts each span in two, except single splits.
func halved(spans []span) (out []span) {
	for _, s := range spans {
		if mid := s.least + (s.most-s.least)/2; !s.single() {
			out = append(out, span{s.total, s.least, mid})
			s.least = mid + 1
		}
		out = append(out, s)
	}
	return out
}

// widest is the span of the most splits, and of these that with the most removed records.
func widest(spans []span) span {
	return slices.MaxFunc(spans, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.most-a.least, b.most-b.least), cmp.Compare(a.most, b.most))
	})
}

// singles lists the splits, that with the most removed records first.
func (s span) singles() []span {
	var out []span
	for k := s.most; k >= s.least; k-- {
		out = append(out, span{s.total, k, k})
	}
	return out
}

// Batch describes the batches of two neighbouring data sets that a mechanism reads: x, with the
// removed records, which x′ lacks, and x′, with the inserted records, which x lacks. It may stand
// for several such pairs of data sets at once. Removed and Inserted are then the largest numbers
// among them, and a pair for the Batch must dominate all of them.
type Batch struct {
	sampling          sampling
	inserted, removed int
	total             int // inserted + removed of every pair of data sets
	x, x2             int // records of x and x′, for batches of fixed size
	exchange          bool
	directed          *bool // set when a mechanism asks for more than Distance
}

// sampling says how a batch is drawn from the data. The zero value is all of the data.
type sampling struct {
	kind        samplingKind
	rate        float64
	batch, size int
}

type samplingKind int

const (
	everything samplingKind = iota
	poisson
	without
	with
)

// newBatch checks that batches of fixed size can be drawn.
func newBatch(s sampling, k span, exchange bool, directed *bool) (Batch, error) {
	b := Batch{
		sampling: s,
		inserted: k.total - k.least,
		removed:  k.most,
		total:    k.total,
		exchange: exchange,
		directed: directed,
	}
	if s.kind != without && s.kind != with {
		return b, nil
	}
	most := max(b.inserted, b.removed)
	b.x, b.x2 = s.size-max(0, k.total-2*k.least), s.size-max(0, 2*k.most-k.total)
	switch {
	case most > s.size || b.removed > b.x || b.inserted > b.x2:
		return b, bad("size = %d: must be at least the group's %d", s.size, most)
	case s.kind == without && s.batch > min(b.x, b.x2):
		return b, bad("batch = %d: must be at most the smaller data set's %d", s.batch, min(b.x, b.x2))
	case min(b.x, b.x2) < 1:
		return b, bad("size = %d: the smaller data set is empty", s.size)
	}
	return b, nil
}

// Sampled reports whether the batch is a sample. If not, it is all of the data, and symmetric
// mechanisms need only Distance.
func (b Batch) Sampled() bool { return b.sampling.kind != everything }

// Distance is the largest distance of the data sets, in units, when all of the data is used: the
// number of removed plus inserted records, or under Exchange that of exchanged records. A pair that
// is made without Removed, Inserted, Hit or a method that takes a pair is used for every split: it
// must dominate both directions, M(x) against M(x′) and M(x′) against M(x).
func (b Batch) Distance() int {
	if b.exchange {
		return b.total / 2
	}
	return b.total
}

// Exchange reports whether removed records are exchanged for inserted ones at a distance of one
// unit, and not two: see Relation.
func (b Batch) Exchange() bool { return b.exchange }

// Removed returns log P(k of the removed records are in the batch of x) for k = 0, 1, …; a record
// that is drawn twice counts twice.
func (b Batch) Removed() []float64 { return b.weights(b.removed, b.x) }

// Inserted returns log P(k of the inserted records are in the batch of x′) for k = 0, 1, ….
func (b Batch) Inserted() []float64 { return b.weights(b.inserted, b.x2) }

func (b Batch) weights(records, size int) []float64 {
	*b.directed = true
	switch b.sampling.kind {
	case poisson:
		return pair.Binomial(records, b.sampling.rate)
	case without:
		return pair.Hypergeometric(size, records, b.sampling.batch)
	case with:
		return pair.Binomial(b.sampling.batch, float64(records)/float64(size))
	}
	return pair.Binomial(records, 1)
}

// Hit returns the probabilities that the batch of x has at least one removed record, and that of x′
// at least one inserted one.
func (b Batch) Hit() (removed, inserted float64) {
	*b.directed = true
	return b.hit(b.removed, b.x), b.hit(b.inserted, b.x2)
}

func (b Batch) hit(records, size int) float64 {
	s := b.sampling
	switch {
	case records == 0:
		return 0
	case s.kind == poisson:
		return -math.Expm1(float64(records) * math.Log1p(-s.rate))
	case s.kind == with:
		return -math.Expm1(float64(s.batch) * math.Log1p(-float64(records)/float64(size)))
	case s.kind == everything:
		return 1
	}
	miss := 0.0 // log of Π (N−n−i)/(N−i)
	for i := range records {
		if size-i <= s.batch {
			return 1
		}
		miss += math.Log1p(-float64(s.batch) / float64(size-i))
	}
	return -math.Expm1(miss)
}

// Refuse is the error of a mechanism that has no pair for the batch.
func (b Batch) Refuse(m Mechanism, format string, args ...any) error {
	return noPair(m, format, args...)
}

// Of returns the pair that build makes from two lists of log weights: of i removed records in the
// batch of x, and of j inserted records in that of x′. Both directions are counted, so the pair of
// insertions need not be the swap of that of removals with P and Q alike. Where both lists have
// records, the pair must dominate whichever of them matter. The weights are those of Theorem 3.8
// and M.2 of SSKG for Poisson samples, those of its hypergeometric version and L.5 for batches of
// fixed size, and certainty for all of the data. Exchanges in a sample are refused.
func (b Batch) Of(m Mechanism, build func(logW, logV []float64) (pair.Pair, error)) (pair.Pair, error) {
	return b.pairOf(m, build, false)
}

// Symmetric is Of for a mechanism whose pair, for all of the data, depends only on how many records
// differ, and has the same δ(ε) as its swap. One pair, at the distance, then stands for all splits
// of a group. Under Exchange it is the tight pair of one record, which build makes for a record that
// is present or absent (advanced joint convexity). For other mechanisms ε would be too small: see
// Of.
func (b Batch) Symmetric(m Mechanism, build func(logW, logV []float64) (pair.Pair, error)) (pair.Pair, error) {
	return b.pairOf(m, build, true)
}

func (b Batch) pairOf(m Mechanism, build func(logW, logV []float64) (pair.Pair, error),
	symmetric bool) (p pair.Pair, err error) {
	switch {
	case symmetric && !b.Sampled():
		p, err = build(pair.Binomial(b.Distance(), 1), pair.Binomial(0, 1))
	case !b.exchange || !b.Sampled():
		p, err = build(b.Removed(), b.Inserted())
	case symmetric && b.sampling.kind == without && b.removed == 1:
		if p, err = build(pair.Binomial(1, float64(b.sampling.batch)/float64(b.sampling.size)),
			pair.Binomial(0, 1)); err == nil {
			p, err = pair.NewSymmetric(p)
		}
	default:
		return nil, b.Refuse(m,
			"exchange in a sample, other than of one record without replacement of a symmetric mechanism; "+
				"substitution bounds it")
	}
	return named(m, p, err)
}

// named is the pair, or the error with the mechanism's name.
func named(m Mechanism, p pair.Pair, err error) (pair.Pair, error) {
	if err != nil {
		return nil, fmt.Errorf("dp: %v: %w", m, err)
	}
	return p, nil
}

// Additive returns the pair of noise added to a value that each record moves by one unit. Without
// noise, at scale 0, a batch is told apart from any other.
func (b Batch) Additive(m Mechanism, noise pair.Noise, scale float64) (pair.Pair, error) {
	return b.Symmetric(m, func(logW, logV []float64) (pair.Pair, error) {
		if scale == 0 {
			return pair.Bare(logW, logV)
		}
		return pair.Shifted(noise, scale, logW, logV)
	})
}

// OneRecord returns the pair of a mechanism known only by its dominating pair p: p dominates the
// removal of one record of the batch, and its swap the insertion; for batches of fixed size, and
// under Exchange, p dominates the exchange of one record for any other. A sample contains the
// record or not: advanced joint convexity (Balle, Barthe, Gaboardi 2018, Theorem 2).
func (b Batch) OneRecord(m Mechanism, p pair.Pair) (pair.Pair, error) {
	*b.directed = true
	s := b.sampling.kind
	switch one := b.exchange && b.removed == 1; {
	case one && s == everything:
		return p, nil
	case one && s == without:
		half, err := pair.Sampled(p, float64(b.sampling.batch)/float64(b.sampling.size))
		if err != nil {
			return nil, err
		}
		return pair.NewSymmetric(half)
	case b.total != 1 || b.inserted+b.removed != 1:
		return nil, b.Refuse(m, "more than one inserted or removed record")
	case s == with:
		return nil, b.Refuse(m, "a sample in which a record may be drawn twice")
	}
	removed, inserted := b.Hit()
	out, err := pair.Sampled(p, removed+inserted)
	if err == nil && b.inserted == 1 {
		out = out.Swap()
	}
	return out, err
}
