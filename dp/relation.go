package dp

import "fmt"

// RelationKind says how neighbouring data sets differ.
type RelationKind int

const (
	// AddRemove means that records are inserted or removed, in any mixture that adds up to the group's size.
	AddRemove RelationKind = iota
	// Substitution means that records are replaced by others: as many are removed as are inserted, and a removed record may be two
	// units from an inserted one. For samples with and without replacement the unit is an exchange, and this is the bound of SSKG.
	Substitution
	// Insertion means that x′ has the records of x and the group's: one direction only.
	Insertion
	// Removal means that x′ lacks the group's records: one direction only.
	Removal
	// Exchange is Substitution where exchanging any record for any other, the removed for the
	// inserted one included, moves the value by at most one unit. For one record sampled without
	// replacement, and for all of the data, it has a tight pair (advanced joint convexity); other
	// samples are refused.
	Exchange
)

// Relation is a neighbouring relation of data sets. The zero value is one record inserted or removed.
type Relation struct {
	Kind  RelationKind
	Group int // the number of records K; 0 means 1
}

// size returns K.
func (r Relation) size() int { return max(1, r.Group) }

// String names the relation.
func (r Relation) String() string {
	name := [...]string{"add/remove", "substitution", "insertion", "removal", "exchange"}
	if r.Kind < 0 || int(r.Kind) >= len(name) {
		return fmt.Sprintf("RelationKind(%d)", int(r.Kind))
	}
	if r.size() == 1 {
		return name[r.Kind]
	}
	return fmt.Sprintf("%s, groups of %d", name[r.Kind], r.size())
}

// Change describes how a neighbouring data set differs. unit names one record, such as "record" or
// "labelled image".
func (r Relation) Change(unit string) string {
	one, many := "one "+unit, fmt.Sprintf("up to %d %ss", r.size(), unit)
	change := [...][2]string{
		AddRemove:    {one + " added or removed", many + " added or removed, in any mixture"},
		Substitution: {one + " replaced by another", many + " replaced by others"},
		Insertion:    {one + " added (not removed)", many + " added (not removed)"},
		Removal:      {one + " removed (not added)", many + " removed (not added)"},
		Exchange:     {one + " exchanged for any other", many + " exchanged for any others"},
	}
	if r.Kind < 0 || int(r.Kind) >= len(change) {
		return fmt.Sprintf("a change of an unknown kind, %v", r)
	}
	return change[r.Kind][min(r.size(), 2)-1]
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

// singles lists the splits, that with the most removed records first.
func (s span) singles() []span {
	var out []span
	for k := s.most; k >= s.least; k-- {
		one := s
		one.least, one.most = k, k
		out = append(out, one)
	}
	return out
}
