package lab

import (
	"context"
	"reflect"
	"runtime"

	"coupling/lab/device"
	"coupling/lab/store"
)

// An Experiment is a named pure function of a parameter struct P. Its result R may depend only on
// the parameters and the random streams of the cell. Both types are stored as JSON, with their json
// tags. Types that JSON would lose or confuse are refused: unexported fields, interfaces,
// functions, time.Duration. Nil slices and maps come back empty.
//
// Adding a parameter changes every key, unless its tag says omitzero; its zero value must then mean
// the old behaviour.
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
	// Inputs names what no digest can see, such as the checksums of files that Run reads. Other
	// inputs are other code.
	Inputs string
	// Work returns what the networks of a cell compute, from which its time is predicted; nil:
	// there are none. It counts passes through networks on dev.
	Work func(p P, dev *device.Device) Work
}

// Work is what trainings and evaluations of networks compute.
type Work struct {
	FLOP  float64 // multiplications and additions of products and convolutions
	Steps float64 // of trainings, and evaluations of batches: passes that wait for one another
}

// Plus is the sum.
func (w Work) Plus(v Work) Work { return Work{w.FLOP + v.FLOP, w.Steps + v.Steps} }

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
		d.Work = func(p any, dev *device.Device) (flop, steps float64) {
			w := e.Work(p.(P), dev)
			return w.FLOP, w.Steps
		}
	}
	return d
}

// Jobs returns the cells at ps as jobs. It panics if a key cannot be formed, because the experiment
// is declared wrongly: a bad name, or parameters without a JSON form. A job whose parameters are
// refused fails when it is done.
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
