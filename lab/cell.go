package lab

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"coupling/lab/device"
	"coupling/lab/store"
)

// A Cell gives a running experiment its random streams, device, files and progress. Its methods are
// safe for concurrent use, except that each random stream belongs to one goroutine.
type Cell struct {
	Key  store.Key
	Seed uint64

	attempt *store.Attempt // nil in a cell that no job made
	mu      sync.Mutex
	devices []*device.Device
}

// Rand returns the random stream called name: ChaCha8 seeded by SHA-256(seed, name). It depends on
// nothing else, so cells that differ in a parameter share their data, and results do not depend on
// the order in which cells run.
func (c *Cell) Rand(name string) *rand.Rand {
	return rand.New(rand.NewChaCha8(sha256.Sum256(fmt.Appendf(nil, "%d/%s", c.Seed, name))))
}

// Progress reports done of total steps to the sink of the context; see [store.WithSink]. It is cheap
// enough to call every few milliseconds.
func (c *Cell) Progress(done, total int) {
	if c.attempt != nil {
		c.attempt.Progress(done, total)
	}
}

// Device opens the device on which the cell computes. key names what changes numbers: "cpu", "cuda"
// or "cuda,tf32"; make it a parameter, so that it is in the key. $COUPLING_DEVICE selects the GPU.
// When the cell ends, the device is closed and its arrays are freed. The manifest names the device.
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

// closeDevices closes the devices that were opened and names them for the manifest. If err is nil,
// it becomes their first error.
func (c *Cell) closeDevices(err *error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var names []string
	var errs error
	for _, d := range c.devices {
		if name := d.Key() + " (" + d.Info().Name + ")"; !slices.Contains(names, name) {
			names = append(names, name)
		}
		errs = errors.Join(errs, d.Err())
		_ = d.Close() // frees the arrays; remaining arrays are not an error
	}
	if len(names) > 0 {
		c.attempt.Device = strings.Join(names, "; ")
	}
	if *err == nil {
		*err = errs
	}
}

// Artifact returns a path at which the experiment may write the artifact called name
// (slash-separated, relative). When the cell finishes, these files become its artifacts; when it
// fails, they are dropped.
func (c *Cell) Artifact(name string) (file string, err error) {
	if name == "" || !filepath.IsLocal(filepath.FromSlash(name)) || strings.Contains(name, `\`) {
		return "", fmt.Errorf("lab: artifact name %q: want a relative slash-separated path", name)
	}
	file = filepath.Join(c.attempt.Files, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		return "", fmt.Errorf("lab: artifact: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.attempt.Artifacts = append(c.attempt.Artifacts, name)
	return file, nil
}

// Scratch returns a directory for checkpoints. It survives a killed, cancelled or failed attempt
// and is there for the next one. It is removed when the cell finishes.
func (c *Cell) Scratch() (dir string, err error) {
	if err := os.MkdirAll(c.attempt.Scratch, 0o777); err != nil {
		return "", fmt.Errorf("lab: scratch: %w", err)
	}
	return c.attempt.Scratch, nil
}
