package lab

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"

	"coupling/lab/device"
	"coupling/lab/store"
)

// An Experiment is a named pure function of a parameter struct P. Its result R may depend only on
// the parameters and the random streams of the cell. Both types are stored as JSON, with their json
// tags. Types that JSON would lose or confuse are refused: unexported fields, interfaces,
// functions, time.Duration. Nil slices and maps come back empty.
//
// Adding a parameter changes every key, unless its tag says omitzero: zero then means as before.
//
// The code of a cell is a digest of the declarations that Run reaches; see the package's
// documentation. No digest can see what a package variable is set to after the program has begun
// (from a flag, from the environment, by a function that Run does not reach), the content of files
// that Run reads, or what reflection and go:linkname call by name. Make such values parameters, or
// declare them in Inputs. The version of Go is in the manifest alone. Run has a digest if it is a
// function with a *Cell among its arguments, neither generic nor bound to a receiver, and not inside
// a function that has arguments. Without, the whole program is its code.
type Experiment[P, R any] struct {
	// Name is a slash-separated path of lower-case words, "tour/bias".
	Name string
	// Version must be raised when the code changes the meaning of a result.
	Version int
	// Run computes one cell. It returns early with ctx's error when ctx ends.
	Run func(ctx context.Context, c *Cell, p P) (R, error)
	// Inputs names what no digest sees, such as checksums of files; others are other code.
	Inputs string
	// Work returns what the networks of a cell compute, from which its time is predicted; nil:
	// there are none. It counts passes through networks on dev.
	Work func(p P, dev *device.Device) Work
}

// Work is what trainings and evaluations of networks compute.
type Work = store.Work

// Key returns the identity of the cell at (seed, p): the first 128 bits of
// SHA-256 over name, version, seed, parameters and the shape of R. It fails
// when the name is not a path of lower-case words or p has no JSON form.
func (e Experiment[P, R]) Key(seed uint64, p P) (store.Key, error) {
	j, err := e.Decoder().Job(seed, p)
	if j.HasKey() {
		return j.Record().Key, nil
	}
	return "", err
}

// Decoder returns the experiment with its types erased, for tools.
func (e Experiment[P, R]) Decoder() *store.Decoder {
	d := &store.Decoder{
		Experiment: e.Name, Version: e.Version, Inputs: e.Inputs,
		Params: reflect.TypeFor[P](), Result: reflect.TypeFor[R](),
	}
	if e.Run != nil {
		frames := runtime.CallersFrames([]uintptr{reflect.ValueOf(e.Run).Pointer() + 1})
		for more := true; more; { // the last is the function itself, those before are inlined in it
			d.Func, more = frames.Next()
		}
		d.Run = func(ctx context.Context, a *store.Attempt, p any) (result any, err error) {
			c := &Cell{Key: a.Key, Seed: a.Seed, attempt: a}
			defer c.closeDevices(&err)
			defer End(&err)
			return e.Run(ctx, c, p.(P))
		}
	}
	if e.Work != nil {
		d.Work = func(p any, dev *device.Device) Work { return e.Work(p.(P), dev) }
	}
	return d
}

// Jobs returns the cells at ps as jobs. It panics if a key cannot be formed: a bad name, or
// parameters without a JSON form. A job whose parameters are refused fails when it is done.
func (e Experiment[P, R]) Jobs(seed uint64, ps ...P) []store.Job {
	d, jobs := e.Decoder(), make([]store.Job, len(ps))
	for i, p := range ps {
		var err error
		if jobs[i], err = d.Job(seed, p); err != nil && !jobs[i].HasKey() {
			panic(err)
		}
	}
	return jobs
}

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

// closeDevices closes the devices and names them for the manifest. A nil err becomes their errors.
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

// Artifact returns a path at which the experiment may write the artifact called name, which has
// slashes and is relative. It is the cell's when that finishes, and is dropped when it fails.
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
