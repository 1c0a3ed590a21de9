package data

import "path/filepath"

// Presence says where a data set lies.
type Presence struct {
	Name    string   // "mnist", "fashion-mnist", "usps", "cifar10", "celeba"
	Found   []string // files and folders that are there
	Missing []string // files that are not, as folder/name
	Subset  bool     // the official files of CIFAR-10 are missing, its subset is there
	// Fix is the line that gets what is missing, empty when nothing is. All but
	// CelebA is also downloaded when it is first used.
	Fix string
}

// Complete reports whether the data set can be read without a download. What
// was found may still be damaged: checksums are compared when it is read.
func (p Presence) Complete() bool { return len(p.Missing) == 0 }

// Status looks for every data set where its loader would, without a download
// and without opening a file.
func Status(from From) []Presence {
	var all []Presence
	for _, set := range []idxSet{mnist(), fashionMNIST()} {
		var files []remote
		for _, split := range []Split{Train, Test} {
			files = append(files, set.remote(set.images[split]), set.remote(set.labels[split]))
		}
		all = append(all, presence(from, set.name, files))
	}
	digits := []remote{usps()[Train].remote(), usps()[Test].remote()}
	return append(all, presence(from, "usps", digits), statusCIFAR(from), statusCelebA(from))
}

func presence(from From, name string, files []remote) Presence {
	p := Presence{Name: name}
	var missing []remote
	for _, r := range files {
		if path := from.find(r.set, r.names()...); path != "" {
			p.Found = append(p.Found, path)
		} else {
			p.Missing = append(p.Missing, filepath.Join(r.set, r.name))
			missing = append(missing, r)
		}
	}
	if len(missing) > 0 {
		p.Fix = curl(from, missing...)
	}
	return p
}

func statusCIFAR(from From) Presence {
	p := presence(from, "cifar10", []remote{cifar10()})
	if subset := from.find("cifar10-subset", cifarSubset); subset != "" && !p.Complete() {
		p.Found, p.Subset = []string{subset}, true
	}
	return p
}

func statusCelebA(from From) Presence {
	p := Presence{Name: "celeba"}
	for _, name := range []string{celebaFolder, celebaAttrFile, celebaPartFile} {
		if path := from.find("celeba", name); path != "" {
			p.Found = append(p.Found, path)
		} else {
			p.Missing = append(p.Missing, filepath.Join("celeba", name))
			p.Fix = fixCelebA(from)
		}
	}
	return p
}
