package data

import (
	"fmt"
	"os"
	"slices"
	"sync"
)

// Origin selects the images of a data set: official, subset or sample. It changes results, so an
// experiment keeps it among its parameters, as `json:"data,omitzero"`.
type Origin string

// The origins.
const (
	Official Origin = "" // the complete official files
	// of CIFAR-10: the 12,000 images of folder cifar10-subset; of other sets: the official files.
	Subset Origin = "subset"
	Sample Origin = "sample" // the few thousand images of package data/sample
)

func (o Origin) check(set string) error {
	switch o {
	case Official, Subset, Sample:
		return nil
	}
	return fmt.Errorf("data: %s: origin = %q: must be %q or %q, or empty for the official files", set, o,
		Subset, Sample)
}

// Choose returns the origin for work that may use less than the official files, such as a figure.
// It is Official where each of the named sets lies in a folder that [From] describes, or can be
// downloaded; Subset where only CIFAR-10's subset is there; otherwise Sample. COUPLING_DATA=sample
// asks for Sample, and COUPLING_DATA=official for Official wherever the files are, so that programs
// which only list cells list the same on every machine.
//
// The sets are "mnist", "fashion-mnist", "usps" and "cifar10". At its first call that finds a set missing, Choose asks
// the servers whether they answer; this takes at most two seconds, once in a process.
func Choose(sets ...string) Origin {
	switch os.Getenv("COUPLING_DATA") {
	case string(Sample):
		return Sample
	case "official":
		return Official
	}
	chosen := Official
	for _, p := range Status(From{}) {
		if !slices.Contains(sets, p.Name) || p.Complete() {
			continue
		}
		switch {
		case p.Subset && chosen == Official:
			chosen = Subset
		case p.Subset:
		case !reachable()[p.Name]:
			unreachable.Store(p.Name, true)
			chosen = Sample
		}
	}
	return chosen
}

// unreachable are the sets for which Choose returned Sample because they are neither on this
// machine nor downloadable.
var unreachable sync.Map

// Missing returns the data sets for which [Choose] has returned Sample in this process because they
// are neither on this machine nor downloadable, in the order of their names, so that a command can
// report it once.
func Missing() (names []string) {
	unreachable.Range(func(name, _ any) bool { names = append(names, name.(string)); return true })
	slices.Sort(names)
	return names
}

// sample reads a sample of a data set where the origin asks for one, else nil. It checks the origin
// and the split.
func (f From) sample(set string, split Split, classes []string) (*Images, error) {
	if split != Train && split != Test {
		return nil, fmt.Errorf("data: %s: split = %v: must be train or test", set, split)
	}
	if err := f.Origin.check(set); err != nil || f.Origin != Sample {
		return nil, err
	}
	if f.Samples == nil {
		return nil, fmt.Errorf("data: %s: From.Origin = %q needs From.Samples: use sample.From of package data/sample",
			set, f.Origin)
	}
	m, err := f.Samples(set, split)
	if err != nil {
		return nil, err
	}
	m.Name, m.Classes = set+"-sample/"+split.String(), classes
	return m, nil
}
