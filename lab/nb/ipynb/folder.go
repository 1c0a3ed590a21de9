package ipynb

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Generated returns what NAME.ipynb must be for each NAME.md of a folder.
func Generated(dir string) (map[string][]byte, error) {
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
	files, err := Generated(dir)
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
