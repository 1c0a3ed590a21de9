package gallery

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"sync"

	"coupling/lab"
	"coupling/lab/durable"

	"github.com/go-json-experiment/json"
)

// fingerprint identifies the inputs of a page: the program, the request and the cells.
func fingerprint(s *lab.Store, fig lab.Figure, set lab.Setting, o Options) (string, error) {
	jobs, err := fig.Jobs(set)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	fmt.Fprintf(h, "%s\n%s\n%+v\n%q\n", program(), fig.Name, set, o.Formats)
	for _, j := range jobs {
		r, err := j.Recall(s)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(h, "%s %s %s\n", r.Key, r.Sum, r.Manifest.Start)
	}
	return hex.EncodeToString(h.Sum(nil)[:16]), nil
}

// program is the checksum of the running executable, which holds the drawing
// code; empty if it cannot be read.
var program = sync.OnceValue(func() (sum string) {
	if path, err := os.Executable(); err == nil {
		sum, _, _ = durable.Digest(path)
	}
	return sum
})

// current returns the page that an earlier run wrote for a figure, if it has the same fingerprint
// and its files exist.
func (o Options) current(name, made string) (Page, bool) {
	if program() == "" {
		return Page{}, false
	}
	b, err := os.ReadFile(o.path(name + ".json"))
	if err != nil {
		return Page{}, false
	}
	var p Page
	if err := json.Unmarshal(b, &p); err != nil || p.Made != made || p.Error != "" {
		return Page{}, false
	}
	var files []string
	for _, pic := range p.Pictures {
		files = append(files, pic.Files...)
	}
	for _, t := range p.Tables {
		files = append(files, t.File)
	}
	for _, f := range files {
		if fi, err := os.Stat(o.path(f)); err != nil || fi.Size() == 0 {
			return Page{}, false
		}
	}
	return p, true
}
