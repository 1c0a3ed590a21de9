package lab

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"coupling/lab/device"
)

// A Cell gives a running experiment its random streams, device, files and progress. Its methods are
// safe for concurrent use, except that each random stream belongs to one goroutine.
type Cell struct {
	Key  Key
	Seed uint64

	paths    cellPaths
	attempt  string // names the directory of its artifacts
	mu       sync.Mutex
	asked    []string // names of artifacts
	devices  []*device.Device
	progress func(done, total int)
}

// Rand returns the random stream called name: ChaCha8 seeded by
// SHA-256(seed, name). It depends on nothing else, so cells that differ in a
// parameter share their data, and results do not depend on the order in which
// cells run.
func (c *Cell) Rand(name string) *rand.Rand {
	return rand.New(rand.NewChaCha8(sha256.Sum256(fmt.Appendf(nil, "%d/%s", c.Seed, name))))
}

// Progress reports done of total steps to the sink of the context; see [WithSink]. It is cheap
// enough to call every few milliseconds.
func (c *Cell) Progress(done, total int) {
	if c.progress != nil {
		c.progress(done, total)
	}
}

// Device opens the device on which the cell computes. key names what changes numbers: "cpu",
// "cuda" or "cuda,tf32"; make it a parameter, so that it is in the key. $COUPLING_DEVICE selects
// the GPU. When the cell ends, the device is closed and its arrays are freed. The manifest names
// the device.
func (c *Cell) Device(key string) (*device.Device, error) {
	d, err := device.OpenKey(key)
	if err != nil {
		return nil, fmt.Errorf("lab: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.devices = append(c.devices, d)
	return d, nil
}

// closeDevices closes the devices that were opened and returns their names for the manifest, and
// their first error.
func (c *Cell) closeDevices() (names string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, d := range c.devices {
		if i := d.Info(); !strings.Contains(names, i.Name) {
			names = strings.TrimPrefix(names+"; "+d.Key()+" ("+i.Name+")", "; ")
		}
		err = errors.Join(err, d.Err())
		_ = d.Close() // frees the arrays; remaining arrays are not an error
	}
	if names == "" {
		names = "cpu"
	}
	return names, err
}

// Artifact returns a path at which the experiment may write the artifact called name
// (slash-separated, relative). When the cell finishes, these files become its artifacts; when it
// fails, they are dropped.
func (c *Cell) Artifact(name string) (file string, err error) {
	if name == "" || !filepath.IsLocal(filepath.FromSlash(name)) || strings.Contains(name, `\`) {
		return "", fmt.Errorf("lab: artifact name %q: want a relative slash-separated path", name)
	}
	file = filepath.Join(c.paths.files(c.attempt), filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		return "", fmt.Errorf("lab: artifact: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = append(c.asked, name)
	return file, nil
}

// Scratch returns a directory for checkpoints. It survives a killed, cancelled or failed attempt
// and is there for the next one. It is removed when the cell finishes.
func (c *Cell) Scratch() (dir string, err error) {
	if err := os.MkdirAll(c.paths.scratch, 0o777); err != nil {
		return "", fmt.Errorf("lab: scratch: %w", err)
	}
	return c.paths.scratch, nil
}

// collect syncs and describes the artifacts of a finished cell. An artifact whose path was given
// out but that does not exist is an error: the cell may have lost its directory.
func (c *Cell) collect() ([]Artifact, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.asked) == 0 {
		return nil, nil
	}
	root := c.paths.files(c.attempt)
	var out []Artifact
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if !d.Type().IsRegular() {
			return fmt.Errorf("lab: artifact %s is not a regular file", file)
		}
		rel, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		a, err := describeFile(file, filepath.ToSlash(rel))
		out = append(out, a)
		return errors.Join(err, syncFile(file))
	})
	if err != nil {
		return nil, err
	}
	for _, name := range c.asked {
		if !slices.ContainsFunc(out, func(a Artifact) bool { return a.Name == path.Clean(name) }) {
			return nil, fmt.Errorf("lab: artifact %s was asked for, but not written", name)
		}
	}
	return out, nil
}

func syncFile(name string) error {
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
