package draws

import (
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"coupling/lab/must"
)

// Every package whose tests or kits draw by rapid imports this one.
func TestImported(t *testing.T) {
	if seed := flag.Lookup("rapid.seed"); seed.DefValue == "1" || seed.Value.String() == "0" {
		t.Errorf("seed %v of default %v", seed.Value, seed.DefValue)
	}
	fixed := map[string]bool{}
	must.Do(filepath.WalkDir("../..", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") {
			return err
		}
		text := string(must.Get(os.ReadFile(path)))
		if dir := filepath.Dir(path); strings.Contains(text, "pgregory.net/rapid\"") {
			fixed[dir] = fixed[dir] || strings.Contains(text, "coupling/lab/draws\"")
		}
		return nil
	}))
	for dir, ok := range fixed {
		if !ok && filepath.Base(dir) != "draws" {
			t.Errorf("%s draws by rapid and does not import coupling/lab/draws", dir)
		}
	}
}
