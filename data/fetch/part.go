package fetch

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// part is a file on its way: path.part with the bytes, path.part.json with
// where they come from. Whoever uses it holds the lock.
type part struct {
	path string
	file *os.File
	size int64
	from origin
}

// origin identifies the version of a file on a server.
type origin struct {
	URL          string `json:"url"`
	ETag         string `json:"etag,omitempty"`
	LastModified string `json:"last_modified,omitempty"`
}

// validator returns what an If-Range header may carry: a strong ETag, or the
// date; empty when there is neither.
func (o origin) validator() string {
	if o.ETag != "" && !strings.HasPrefix(o.ETag, "W/") {
		return o.ETag
	}
	return o.LastModified
}

// openPart takes up what an earlier call left, if it left enough to go on.
func openPart(path string) *part {
	p := &part{path: path}
	text, err := os.ReadFile(path + ".json")
	if err != nil || json.Unmarshal(text, &p.from) != nil {
		p.from = origin{} // a part of unknown origin is overwritten
		return p
	}
	if info, err := os.Stat(path); err == nil {
		p.size = info.Size()
	}
	return p
}

// restart empties the part and notes where its bytes will come from.
func (p *part) restart(from origin) error {
	p.reset()
	text, err := json.Marshal(from)
	if err != nil {
		return err
	}
	if p.file, err = os.OpenFile(p.path, os.O_CREATE|os.O_RDWR|os.O_TRUNC, 0o666); err != nil {
		return err
	}
	if err := os.WriteFile(p.path+".json", text, 0o666); err != nil {
		return err
	}
	p.from = from
	return nil
}

// resume opens the part for appending.
func (p *part) resume() (err error) {
	p.close()
	p.file, err = os.OpenFile(p.path, os.O_WRONLY|os.O_APPEND, 0)
	return err
}

func (p *part) write(b []byte) error {
	n, err := p.file.Write(b)
	p.size += int64(n)
	return err
}

// reset throws the part away.
func (p *part) reset() {
	p.close()
	os.Remove(p.path)
	os.Remove(p.path + ".json")
	p.size, p.from = 0, origin{}
}

func (p *part) close() {
	if p.file != nil {
		p.file.Close()
		p.file = nil
	}
}

// finish checks the complete part and renames it to its final place, synced.
func (p *part) finish(f File) error {
	if err := p.file.Sync(); err != nil {
		return err
	}
	p.close()
	if err := f.Verify(p.path); err != nil {
		return fmt.Errorf("what arrived is not the file: %w", err)
	}
	if err := os.Rename(p.path, f.Path); err != nil {
		return err
	}
	os.Remove(p.path + ".json")
	if dir, err := os.Open(filepath.Dir(f.Path)); err == nil {
		dir.Sync() // where directories cannot be synced the rename is atomic all the same
		dir.Close()
	}
	return nil
}
