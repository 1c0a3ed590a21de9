package release

import (
	"crypto/hmac"
	crand "crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"

	"coupling/dp/internal/check"
	"coupling/dp/noise"

	"golang.org/x/sync/errgroup"
)

const in = check.In("release")

var bad = in.Bad

// Key is the secret from which a run derives its batches and its noise. The noise of a release is a
// function of key, stream, step and the values that it hides. So a step that is repeated after a
// crash releases the same numbers, which reveals nothing new and spends no budget. Other values
// (other images, settings or rounding) get other noise, since two releases with the same noise
// would reveal their difference.
//
// Use a key for one run only. Two runs with one key share their batches, and reveal more than their
// events composed; resuming a copy of a run's folder makes a second run.
//
// Anyone with the key can remove the noise: protect it like the data, and delete it after the run.
type Key [32]byte

// NewKey draws a key from the operating system's cryptographic generator; use it for real data.
func NewKey() (k Key) {
	_, _ = crand.Read(k[:]) // which does not fail: without random bits the program ends
	return k
}

// SeededKey returns a key for experiments: it is reproducible and does not protect data.
func SeededKey(seed uint64) (k Key) {
	rng := rand.NewPCG(seed, 0x6b6579)
	for i := 0; i < len(k); i += 8 {
		binary.LittleEndian.PutUint64(k[i:], rng.Uint64())
	}
	return k
}

// Source returns the random bits of one release: ChaCha8 keyed by SHA-256 of key, stream and step.
// Without the key, different streams and steps cannot be distinguished from independent ones.
func (k Key) Source(stream string, step int) noise.Source {
	return noise.Seeded(k.Rand(stream, step)) // as safe as the key
}

// Rand returns a generator, derived in the same way, for numbers that need no protection, such as
// latent codes.
func (k Key) Rand(stream string, step int) *rand.Rand {
	return rand.New(k.ChaCha(stream, step))
}

// ChaCha returns the source of Rand, which a checkpoint can hold.
func (k Key) ChaCha(stream string, step int) *rand.ChaCha8 {
	return rand.NewChaCha8(k.derive(stream, step))
}

func (k Key) derive(stream string, step int) [32]byte {
	h := sha256.New()
	h.Write(k[:])
	h.Write(binary.LittleEndian.AppendUint64(nil, uint64(step)))
	h.Write([]byte(stream))
	return [32]byte(h.Sum(nil))
}

// scheme is the version of the map from marks to noise. Raise it with every change to that map,
// here or in package noise: a ledger of the old scheme then refuses to repeat a step, which would
// release it with other noise.
const scheme = "noise of release 4\n"

// Mark returns an HMAC-SHA-256 of the values that a release hides (of the SHA-256 of each chunk of them)
// and of the noise on them. It reveals nothing without the key, and two marks are equal if the
// releases are. The ledger stores it.
func (k Key) Mark(stream string, step int, values []float64, sigma float64) [32]byte {
	digests := make([]byte, chunks(len(values))*sha256.Size)
	_ = inChunks(len(values), func(i, from, to int) error { // which cannot fail
		line := make([]byte, 0, 8*chunk)
		for _, v := range values[from:to] {
			line = binary.LittleEndian.AppendUint64(line, math.Float64bits(v))
		}
		digest := sha256.Sum256(line)
		copy(digests[i*sha256.Size:], digest[:])
		return nil
	})
	h := hmac.New(sha256.New, k[:])
	line := binary.LittleEndian.AppendUint64([]byte(scheme), uint64(step))
	line = binary.LittleEndian.AppendUint64(line, uint64(len(stream)))
	line = append(line, stream...)
	line = binary.LittleEndian.AppendUint64(line, math.Float64bits(sigma))
	h.Write(append(line, digests...))
	return [32]byte(h.Sum(nil))
}

// chunk is the number of values that draw from one source, so that noise can be drawn on all
// processors and does not depend on their number: 39,200 values are 77 chunks, of which each of 16
// processors does five.
const chunk = 512

func chunks(n int) int { return (n + chunk - 1) / chunk }

// inChunks calls do for each chunk i of n values, from ≤ · < to, on all processors.
func inChunks(n int, do func(i, from, to int) error) error {
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range chunks(n) {
		group.Go(func() error { return do(i, i*chunk, min((i+1)*chunk, n)) })
	}
	return group.Wait()
}

// Noisy adds noise of standard deviation sigma, derived from the key and the release's Mark, to
// values that one record moves by at most sensitivity in L2 norm. It returns new values. Cost: some
// 35 ns a value on one core.
func (k Key) Noisy(mark [32]byte, values []float64, sigma, sensitivity float64) ([]float64, error) {
	if err := checkGrid(len(values), sigma, sensitivity); err != nil {
		return nil, err
	}
	out := make([]float64, len(values))
	if err := inChunks(len(values), func(i, from, to int) error {
		noisy, err := noise.Gaussian{Sigma: sigma}.Add(k.Source("noise "+string(mark[:]), i), values[from:to])
		copy(out[from:], noisy)
		return err
	}); err != nil {
		return nil, err
	}
	return out, nil
}

// Poisson returns the indices below n, ascending, each present with probability rate and
// independently of the others: a comparison of 64 fair bits for each, exact to 2^-64, of which the
// first eight nearly always decide and no more are then drawn. Rate 1 selects every index and draws
// no bits. Cost: half a nanosecond an index of a small rate, and what src takes for n/8 words.
func Poisson(src noise.Source, n int, rate float64) ([]int, error) {
	if err := in.Rate(rate); err != nil {
		return nil, err
	}
	out := make([]int, 0, int(rate*float64(n))+1)
	if rate == 1 {
		for i := range n {
			out = append(out, i)
		}
		return out, nil
	}
	threshold := uint64(rate * (1 << 63) * 2)
	first, rest := uint8(threshold>>56), threshold<<8
	const ones = 0x0101010101010101
	for from := 0; from < n; from += 8 {
		word, err := src.Uint64()
		if err != nil {
			return nil, err
		}
		if first < 127 && (word-ones*uint64(first+1))&^word&(ones<<7) == 0 {
			continue // no byte is below first + 1
		}
		for i := from; i < min(from+8, n); i, word = i+1, word>>8 {
			present := uint8(word) < first
			if uint8(word) == first {
				more, err := src.Uint64()
				if err != nil {
					return nil, err
				}
				present = more < rest
			}
			if present {
				out = append(out, i)
			}
		}
	}
	return out, nil
}

// Allocate returns the batches of an epoch of so many steps in which each of n records takes part
// in selected steps, drawn for each record by itself, all choices equally likely (Floyd's sample,
// without rounding): the sampling of dp.Allocation. Indices ascend.
func Allocate(src noise.Source, n, steps, selected int) ([][]int, error) {
	if err := in.Subset(selected, steps); err != nil {
		return nil, err
	}
	batches, taken := make([][]int, steps), make([]int, 0, selected)
	for i := range n {
		taken = taken[:0]
		for last := steps - selected; last < steps; last++ {
			u, err := noise.Uniform(src, uint64(last)+1)
			if err != nil {
				return nil, err
			}
			k := int(u)
			if slices.Contains(taken, k) {
				k = last
			}
			taken = append(taken, k)
			batches[k] = append(batches[k], i)
		}
	}
	return batches, nil
}

// GridMargin is the relative amount by which the events of this package and its users understate
// the noise, to allow for rounding to the grid of package noise. A value of d coordinates moves by
// up to √d steps of the grid more than it did before, steps are at most 2⁻³⁰ of the noise, and the
// discrete law is dominated by a continuous one that is smaller by a relative 1e-16. Noise for
// which the margin does not suffice is refused.
const GridMargin = 1e-4

// checkGrid refuses noise that is not a standard deviation, and values that rounding to the grid
// moves by more than GridMargin.
func checkGrid(values int, sigma, sensitivity float64) error {
	if err := check.All(in.NotNegative("sigma", sigma), in.Positive("sensitivity", sensitivity)); err != nil {
		return err
	}
	if moved := math.Sqrt(float64(values)) * sigma * 0x1p-30; moved > .9*GridMargin*sensitivity {
		return bad(
			"%d values with noise %g times their sensitivity: rounding moves them by more than the accounting "+
				"allows for", values, sigma/sensitivity)
	}
	return nil
}
