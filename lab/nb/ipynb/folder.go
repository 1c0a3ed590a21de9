package ipynb

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// generated returns what NAME.ipynb must be for each NAME.md of a folder.
func generated(dir string) (map[string][]byte, error) {
	sources, err := filepath.Glob(filepath.Join(dir, "*.md"))
	if err != nil {
		return nil, err
	}
	out := map[string][]byte{}
	for _, source := range sources {
		md, err := os.ReadFile(source)
		if err != nil {
			return nil, fmt.Errorf("ipynb: %w", err)
		}
		nb, err := FromMarkdown(string(md))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", source, err)
		}
		if out[strings.TrimSuffix(source, ".md")+".ipynb"], err = nb.Encode(); err != nil {
			return nil, fmt.Errorf("%s: %w", source, err)
		}
	}
	return out, nil
}

// Generate writes NAME.ipynb for each NAME.md in the folder dir.
func Generate(dir string) error {
	files, err := generated(dir)
	if err != nil {
		return err
	}
	for name, b := range files {
		if err := os.WriteFile(name, b, 0o666); err != nil {
			return fmt.Errorf("ipynb: %w", err)
		}
	}
	return nil
}

// InStep returns an error that names each notebook of the folder that is not
// what [Generate] would write, or has no source.
func InStep(dir string) error {
	files, err := generated(dir)
	if err != nil {
		return err
	}
	var errs []error
	for name, want := range files {
		if got, err := os.ReadFile(name); err != nil || !bytes.Equal(got, want) {
			errs = append(errs, fmt.Errorf("%s is not what its source says: go generate ./notebooks, or copy your changes into the .md", name))
		}
	}
	have, err := filepath.Glob(filepath.Join(dir, "*.ipynb"))
	errs = append(errs, err)
	for _, name := range have {
		if files[name] == nil {
			errs = append(errs, fmt.Errorf("%s has no source .md", name))
		}
	}
	return errors.Join(errs...)
}
