package lab

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"coupling/lab/durable"
	"coupling/lab/store"
)

// OpenStore returns the store at dir, which is created when a cell is first computed. If dir is
// empty it is $COUPLING_STORE, else the nearest .coupling going up from the working directory, else
// a new .coupling beside the nearest go.mod or .git, else a new one here. So notebooks, scripts and
// the command in one checkout share a store. $COUPLING_RECALL is any (the default) or same; see
// [store.Store].
func OpenStore(dir string) (*store.Store, error) {
	if dir == "" {
		dir = os.Getenv("COUPLING_STORE")
	}
	if dir == "" {
		var err error
		if dir, err = findStore(); err != nil {
			return nil, err
		}
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("lab: store: %w", err)
	}
	recall := os.Getenv("COUPLING_RECALL")
	if recall != "" && recall != "any" && recall != "same" {
		return nil, fmt.Errorf("lab: $COUPLING_RECALL %q: want any or same", recall)
	}
	return &store.Store{Dir: dir, SameCode: recall == "same"}, nil
}

func findStore() (string, error) {
	wd, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("lab: store: %w", err)
	}
	for _, marks := range [][]string{{".coupling"}, {"go.mod", ".git"}} {
		dir, ok := durable.Nearest(wd, func(dir string) bool {
			return slices.ContainsFunc(marks, func(mark string) bool {
				_, err := os.Stat(filepath.Join(dir, mark))
				return err == nil
			})
		})
		if ok {
			return filepath.Join(dir, ".coupling"), nil
		}
	}
	return filepath.Join(wd, ".coupling"), nil
}
