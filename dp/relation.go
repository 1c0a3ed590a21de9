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
	// Exchange is Substitution where exchanging any two records moves the value by at most one unit, the removed for the inserted
	// one too. For one record sampled without replacement, and for all of the data, it has a tight pair (advanced joint convexity);
	// other samples are refused.
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

// Change says in words how a neighbouring data set differs. unit names one record, such as "record" or "labelled image".
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

// split is a number of inserted and of removed records.
type split struct{ inserted, removed int }

// splits lists the ways in which x′ may differ from x. Both directions of a pair are among them: exchanging x and x′
// exchanges insertion and removal.
func (r Relation) splits() ([]split, error) {
	if r.Group < 0 || r.Group > 1_000_000 {
		return nil, bad("group = %d: must be in 1..1,000,000", r.Group)
	}
	k := r.size()
	switch r.Kind {
	case AddRemove:
		out := make([]split, 0, k+1)
		for removed := k; removed >= 0; removed-- {
			out = append(out, split{k - removed, removed})
		}
		return out, nil
	case Substitution, Exchange:
		return []split{{k, k}}, nil
	case Insertion:
		return []split{{k, 0}}, nil
	case Removal:
		return []split{{0, k}}, nil
	}
	return nil, bad("relation = %d: unknown", int(r.Kind))
}
