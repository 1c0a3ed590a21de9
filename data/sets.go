package data

import (
	"context"
	"fmt"
	"strings"
)

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
