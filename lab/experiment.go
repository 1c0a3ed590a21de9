package lab

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
	"regexp"

	"coupling/lab/device"
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
// documentation. No digest can see the value of a package variable that the program sets at run
// time (from a flag, from the environment, by a package that imports this one), the content of
// files that Run reads, or what reflection and go:linkname call by name. Make such values
// parameters, or declare them in Inputs. An experiment has a digest if Name is a constant
// expression, Run is in the literal, and no exported function makes it from arguments. Without, the
// whole program is its code.
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

// Key identifies a cell: 32 hexadecimal digits.
type Key string

const keyDigits = 32

// Short returns the first eight digits of k, enough for a person to tell cells apart.
func (k Key) Short() string { return string(k[:min(8, len(k))]) }

var namePattern = regexp.MustCompile(`^[a-z0-9][a-z0-9_.-]*(/[a-z0-9][a-z0-9_.-]*)*$`)

// Key returns the identity of the cell at (seed, p): the first 128 bits of
// SHA-256 over name, version, seed, parameters and the shape of R. It fails
// when the name is not a path of lower-case words or p has no JSON form.
func (e Experiment[P, R]) Key(seed uint64, p P) (Key, error) {
	id, err := e.identify(seed, p)
	return id.Key, err
}

// identify fills the part of a record that is known before the cell has run.
func (e Experiment[P, R]) identify(seed uint64, p P) (Record, error) {
	if !namePattern.MatchString(e.Name) {
		return Record{}, fmt.Errorf("lab: experiment name %q: want lower-case words separated by slashes", e.Name)
	}
	_, err := shape(reflect.TypeFor[P]())
	form, errR := shape(reflect.TypeFor[R]())
	if err := errors.Join(err, errR); err != nil {
		return Record{}, fmt.Errorf("lab: types of %s: %w", e.Name, err)
	}
	params, err := marshal(p)
	if err == nil {
		params, err = canonical(params)
	}
	if err != nil {
		return Record{}, fmt.Errorf("lab: parameters of %s: %w", e.Name, err)
	}
	r := Record{
		Experiment: e.Name,
		Version:    e.Version,
		Shape:      form,
		Seed:       seed,
		Params:     params,
	}
	r.Key = r.key()
	return r, nil
}

// key hashes what identifies a record. Lengths make the encoding injective.
func (r Record) key() Key {
	h := sha256.New()
	for _, part := range []string{r.Experiment, fmt.Sprint(r.Version), r.Shape, fmt.Sprint(r.Seed), string(r.Params)} {
		fmt.Fprintf(h, "%d:%s;", len(part), part)
	}
	return Key(hex.EncodeToString(h.Sum(nil)[:16]))
}
