package store

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
)

// Sentinels for errors.Is.
var (
	// ErrMissing reports that the store does not hold the cell.
	ErrMissing = errors.New("not in the store")
	// ErrCorrupt reports that a stored file cannot be trusted: cut short, edited,
	// or not matching its artifacts. [Job.Try] computes such a cell again.
	ErrCorrupt = errors.New("corrupt")
	// ErrOtherCode reports that a cell was computed only by code that differs from this program's; see
	// [Store.SameCode]. [Job.Try] computes such a cell too, and keeps both results.
	ErrOtherCode = errors.New("computed by other code")
	// ErrFormat reports that another version of the lab wrote the record. It is
	// neither read nor computed again.
	ErrFormat = errors.New(
		"written by a newer version of coupling: use that, or another store (--store, $COUPLING_STORE)")
	// ErrNoExperiment reports that a program does not have the experiment.
	ErrNoExperiment = errors.New("there is none")
	// ErrBusy reports that another process computes the cell; see [Job.Try].
	ErrBusy = errors.New("another process computes the cell")
)

// Key identifies a cell: 32 hexadecimal digits.
type Key string

const keyDigits = 32

// Short returns the first eight digits of k, enough for a person to tell cells apart.
func (k Key) Short() string { return string(k[:min(8, len(k))]) }

var namePattern = regexp.MustCompile(`^[a-z0-9][a-z0-9_.-]*(/[a-z0-9][a-z0-9_.-]*)*$`)

// A Record is a finished cell as stored, with its types erased: one JSON file.
type Record struct {
	Format     int             `json:"format,omitzero"` // of records: 1, also if absent
	Key        Key             `json:"key"`
	Experiment string          `json:"experiment"`
	Version    int             `json:"version"`
	Shape      string          `json:"shape,omitzero"` // fingerprint of the result type
	Code       string          `json:"code,omitzero"`  // digest of what Run reached; not part of the key
	Seed       uint64          `json:"seed"`
	Params     json.RawMessage `json:"params"`
	Value      json.RawMessage `json:"value,omitzero"`
	Artifacts  []Artifact      `json:"artifacts,omitzero"`
	Attempt    string          `json:"attempt,omitzero"` // names the directory of the artifacts
	// why the cell failed; a record with an error is never recalled
	Error    string   `json:"error,omitzero"`
	Manifest Manifest `json:"manifest,omitzero"`
	Sum      string   `json:"sum,omitzero"` // SHA-256 over parameters, value and artifacts

	keyOnly bool // its file is called after the key alone, as in older stores
}

// An Artifact is a file that a cell stored beside its record.
type Artifact struct {
	Name   string `json:"name"` // slash-separated, relative
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// key hashes what identifies a record. Lengths make the encoding injective.
func (r Record) key() Key {
	b := make([]byte, 0, 256)
	version, seed := strconv.Itoa(r.Version), strconv.FormatUint(r.Seed, 10)
	for _, part := range []string{r.Experiment, version, r.Shape, seed, string(r.Params)} {
		b = append(append(append(strconv.AppendInt(b, int64(len(part)), 10), ':'), part...), ';')
	}
	sum := sha256.Sum256(b)
	return Key(hex.EncodeToString(sum[:keyDigits/2]))
}

func (r Record) sum() string {
	h := sha256.New()
	fmt.Fprintf(h, "%s\n%s\n%s\n%s\n", r.Params, r.Value, r.Error, r.Attempt)
	for _, a := range r.Artifacts {
		fmt.Fprintf(h, "%s %d %s\n", a.Name, a.Size, a.SHA256)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// recordFormat is raised when the rules of keys, sums or JSON change.
const recordFormat = 1

// JSON returns the file that holds r: one line.
func (r Record) JSON() ([]byte, error) {
	r.Format = recordFormat
	var err error
	if r.Params, err = canonical(r.Params); err != nil {
		return nil, err
	}
	if len(r.Value) > 0 {
		if r.Value, err = canonical(r.Value); err != nil {
			return nil, err
		}
	}
	r.Sum = r.sum()
	b, err := Marshal(r)
	return append(b, '\n'), err
}

// decodeRecord reads a record and checks that it is whole and belongs to its key. Every failure is
// an [ErrCorrupt] or an [ErrFormat].
func decodeRecord(b []byte) (Record, error) {
	var r Record
	err := jsonv2.Unmarshal(b, &r) // the types of a record hold no NaN: parameters and value stay as they are
	if r.Format > recordFormat {
		return Record{}, fmt.Errorf("format %d of records, this program knows %d: %w", r.Format,
			recordFormat, ErrFormat)
	} else if err != nil {
		return Record{}, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	if strings.ContainsAny(r.Attempt, `/\.`) || !namePattern.MatchString(r.Experiment) ||
		r.Code != "" && !isCode(r.Code) {
		return Record{}, fmt.Errorf("%w: attempt %q of experiment %q, code %q", ErrCorrupt, r.Attempt,
			r.Experiment, r.Code)
	}
	if got := r.key(); r.Key != got {
		return Record{}, fmt.Errorf("%w: key %s, but the content's is %s", ErrCorrupt, r.Key, got)
	}
	if got := r.sum(); r.Sum != got {
		return Record{}, fmt.Errorf("%w: checksum %.8s, but the content's is %.8s", ErrCorrupt, r.Sum, got)
	}
	return r, nil
}

// Decode reads the parameters and the value into what the pointers point to, or is [ErrCorrupt].
func (r Record) Decode(params, value any) error {
	if err := unmarshal(r.Params, params); err != nil {
		return fmt.Errorf("%w: parameters: %w", ErrCorrupt, err)
	}
	if err := unmarshal(r.Value, value); err != nil {
		return fmt.Errorf("%w: value: %w", ErrCorrupt, err)
	}
	return nil
}
