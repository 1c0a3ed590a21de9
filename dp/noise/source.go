package noise

import (
	crand "crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"

	"coupling/dp/internal/check"
)

// ErrSource marks a failure of the source of random bits. Nothing was released.
var ErrSource = errors.New("source of random bits failed")

const in = check.In("noise")

var bad = in.Bad

// failed builds an error about a source.
func failed(format string, args ...any) error {
	return fmt.Errorf("noise: %s: %w", fmt.Sprintf(format, args...), ErrSource)
}

// Source gives fair bits. The sources here are not safe for concurrent use: use one for each
// goroutine.
type Source interface {
	// Uint64 returns 64 independent fair bits, or an error that wraps ErrSource.
	Uint64() (uint64, error)
}

// Seeded is a source for experiments: reproducible, and predictable. It never protects data. The quality of its bits is
// that of rng.
func Seeded(rng *rand.Rand) Source { return seeded{rng} }

type seeded struct{ rng *rand.Rand }

func (s seeded) Uint64() (uint64, error) {
	if s.rng == nil {
		return 0, failed("Seeded: rng = nil")
	}
	return s.rng.Uint64(), nil
}

// Crypto is the source for releases: the cryptographic generator of the operating system, read a
// kilobyte at a time. Used bits are wiped from the buffer. A process that is cloned while it holds
// one (a snapshot of a virtual machine) would use the same bits twice: make a new one after
// cloning.
func Crypto() Source { return Reader(crand.Reader) }

// Reader is a source that reads bytes from r, for other generators. A failing or ended reader is an
// error, and so are four equal words in a row (for fair bits of probability 2^-192 a word).
func Reader(r io.Reader) Source { return &reader{from: r} }

type reader struct {
	from  io.Reader
	buf   [1024]byte
	next  int  // position of the next word
	ready bool // buf was filled
	last  uint64
	same  int // how often last came in a row
	err   error
}

// maxSame is the largest number of equal words in a row.
const maxSame = 3

func (r *reader) Uint64() (uint64, error) {
	if r.err != nil {
		return 0, r.err
	}
	if !r.ready || r.next == len(r.buf) {
		if r.err = r.fill(); r.err != nil {
			return 0, r.err
		}
	}
	word := r.buf[r.next : r.next+8]
	u := binary.LittleEndian.Uint64(word)
	clear(word)
	r.next += 8
	if r.err = r.check(u); r.err != nil {
		return 0, r.err
	}
	return u, nil
}

func (r *reader) fill() error {
	if r.from == nil {
		return failed("Reader: r = nil")
	}
	if _, err := io.ReadFull(r.from, r.buf[:]); err != nil {
		clear(r.buf[:])
		return fmt.Errorf("noise: reading random bits: %w: %w", err, ErrSource)
	}
	r.next, r.ready = 0, true
	return nil
}

// check refuses a reader that repeats itself.
func (r *reader) check(u uint64) error {
	if u != r.last || r.same == 0 {
		r.last, r.same = u, 1
		return nil
	}
	if r.same++; r.same > maxSame {
		return failed("Reader: the same 64 bits %d times in a row", r.same)
	}
	return nil
}
