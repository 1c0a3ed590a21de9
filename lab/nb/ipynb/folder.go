package ipynb

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"coupling/lab"
)

// Generated returns what NAME.ipynb must be for each NAME.md of a folder.
func Generated(dir string) (out map[string][]byte, err error) {
	defer lab.End(&err)
	out = map[string][]byte{}
	for _, source := range lab.Must(filepath.Glob(filepath.Join(dir, "*.md"))) {
		nb, err := FromMarkdown(string(lab.Must(os.ReadFile(source))))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", source, err)
		}
		out[strings.TrimSuffix(source, ".md")+".ipynb"] = lab.Must(nb.Encode())
	}
	return out, nil
}

// Generate writes NAME.ipynb for each NAME.md in the folder dir.
func Generate(dir string) (err error) {
	defer lab.End(&err)
	for name, b := range lab.Must(Generated(dir)) {
		lab.Check(os.WriteFile(name, b, 0o666))
	}
	return nil
}
