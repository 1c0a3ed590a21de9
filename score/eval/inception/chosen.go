package inception

import (
	"fmt"
	"os"
	"strings"
	"sync"

	"coupling/lab/device"
)

// Variable names the environment variable in which the user names the file of weights for figures.
const Variable = "COUPLING_INCEPTION"

// Chosen returns the name of the weights in that file, "" where none is named. Figures keep it
// among a cell's parameters, so that distances in other features are other results; a cell gets the
// network by [OpenChosen]. Where the file is not right, Chosen returns the error's text, and
// OpenChosen the error. The file is read once in a process.
func Chosen() string {
	path := os.Getenv(Variable)
	if path == "" {
		return ""
	}
	known, ok := names.Load(path)
	if !ok {
		name, err := Name(path)
		if err != nil {
			name = err.Error()
		}
		known, _ = names.LoadOrStore(path, name)
	}
	return known.(string)
}

var names sync.Map // of weights, by path

// OpenChosen opens the file that the user names. Its weights must be those called name, which
// [Chosen] returned when the cell was listed.
func OpenChosen(dev *device.Device, name string) (*Network, error) {
	n, err := Open(os.Getenv(Variable), dev)
	if err != nil {
		return nil, fmt.Errorf("%s = %q: %w", Variable, os.Getenv(Variable), err)
	}
	if n.name != name {
		n.Free()
		return nil, fmt.Errorf("%s = %q: has the weights %s, must have %s, with which the cell was listed: %w",
			Variable, os.Getenv(Variable), n.name, name, ErrWeights)
	}
	return n, nil
}

// Distance returns the name in tables of the Fréchet distance in the features of that name: FID in those
// of the whole network, FD-Inception/16 in those of a narrow one, and FD-LeNet in none of them,
// where a LeNet takes their place.
func Distance(name string) string {
	kind, _, _ := strings.Cut(name, "-")
	switch kind {
	case "":
		return "FD-LeNet"
	case "Inception":
		return "FID"
	}
	return "FD-" + kind
}
