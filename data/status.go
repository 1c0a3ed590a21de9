package data

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
)

// Presence lists the files of a data set that were found, and where.
type Presence struct {
	Name    string   // "mnist", "fashion-mnist", "usps", "cifar10", "celeba"
	Found   []string // files and folders found
	Missing []string // files not found, as folder/name
	Subset  bool     // the official files of CIFAR-10 are missing, its subset is there
	// Fix is a command line that gets the missing files, empty if none are. All sets but CelebA are
	// also downloaded at first use.
	Fix string
}

// Complete reports whether the data set can be read without a download. The files may still be
// damaged: checksums are compared when they are read.
func (p Presence) Complete() bool { return len(p.Missing) == 0 }

// Status looks for every data set where its loader would, without a download
// and without opening a file.
func Status(from From) []Presence {
	var all []Presence
	for _, s := range sets() {
		p := presence(from, s.name, s.files)
		if subset := from.find("cifar10-subset", cifarSubset); s.name == "cifar10" && subset != "" && !p.Complete() {
			p.Found, p.Subset = []string{subset}, true
		}
		all = append(all, p)
	}
	return append(all, statusCelebA(from))
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
	if len(missing) > 0 && len(missing[0].bases) > 0 {
		p.Fix = curl(from, missing...)
	}
	return p
}

// statusCelebA looks for CelebA, which no server may pass on.
func statusCelebA(from From) Presence {
	var files []remote
	for _, name := range []string{celebaFolder, celebaAttrFile, celebaPartFile} {
		files = append(files, remote{set: "celeba", name: name, unpacked: name})
	}
	p := presence(from, "celeba", files)
	if !p.Complete() {
		p.Fix = fixCelebA(from)
	}
	return p
}

// set is a data set that can be downloaded, with its files of both splits.
type set struct {
	name  string
	files []remote
}

func sets() []set {
	digits := usps()
	return []set{
		{"mnist", mnist().remotes()},
		{"fashion-mnist", fashionMNIST().remotes()},
		{"usps", []remote{digits[Train].remote, digits[Test].remote}},
		{"cifar10", []remote{cifar10()}},
	}
}

// Names are those of the sets that [LoadNamed] reads.
func Names() []string { return []string{"mnist", "fashion-mnist", "usps", "cifar10"} }

// LoadNamed reads a data set by its name, one of [Names].
func LoadNamed(ctx context.Context, from From, name string, split Split) (*Images, error) {
	load := map[string]func(context.Context, From, Split) (*Images, error){
		"mnist": MNIST, "fashion-mnist": FashionMNIST, "usps": USPS, "cifar10": CIFAR10,
	}[name]
	if load == nil {
		return nil, fmt.Errorf("data: set %q: want one of %s", name, strings.Join(Names(), ", "))
	}
	return load(ctx, from, split)
}
