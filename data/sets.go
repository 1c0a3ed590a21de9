package data

import (
	"context"
	"fmt"
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

// LoadNamed reads a data set by its name: "mnist", "fashion-mnist", "usps" or
// "cifar10".
func LoadNamed(ctx context.Context, from From, name string, split Split) (*Images, error) {
	load := map[string]func(context.Context, From, Split) (*Images, error){
		"mnist": MNIST, "fashion-mnist": FashionMNIST, "usps": USPS, "cifar10": CIFAR10,
	}[name]
	if load == nil {
		return nil, fmt.Errorf("data: set %q: want mnist, fashion-mnist, usps or cifar10", name)
	}
	return load(ctx, from, split)
}
