package score

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"coupling/lab/device/cpu"
	"coupling/lab/device/cpu/dense"

	"gonum.org/v1/gonum/mat"
)

// A Chain is N independent Markov chains, one in each row of X, and the number of steps done. The
// noise of step k is a function of Seed and k, so these three fields suffice to resume a run.
type Chain struct {
	X    *mat.Dense // N×d, changed in place
	Seed uint64
	Done int // steps

	jitters      int           // done
	interruption *interruption // of a run that was stored and interrupted, in this process
	trace        []Progress    // of the runs of this process
}

// Start begins chains at a copy of the rows of x, with a seed drawn from rng.
func Start(rng *rand.Rand, x *mat.Dense) *Chain {
	return &Chain{X: mat.DenseCopyOf(x), Seed: rng.Uint64()}
}

// Repeat begins k chains at each row of x; the chains of a row are neighbours.
func Repeat(rng *rand.Rand, x *mat.Dense, k int) *Chain { return Start(rng, RepeatRows(x, k)) }

// RepeatRows returns each row of x k times, one after the other.
func RepeatRows(x *mat.Dense, k int) *mat.Dense {
	n, d := x.Dims()
	out := mat.NewDense(n*k, d, nil)
	for i := range n * k {
		out.SetRow(i, x.RawRowView(i/k))
	}
	return out
}

// Jitter adds N(0, σ²I) to each chain, as samplers of images begin at a projection plus noise of the first level. It
// counts as no step.
func (c *Chain) Jitter(sigma float64) {
	c.jitters++
	c.each(-c.jitters, func(_ int, row []float64, rng *rand.Rand) {
		for k := range row {
			row[k] += sigma * rng.NormFloat64()
		}
	})
}

// String returns the number of chains and of steps done.
func (c *Chain) String() string {
	n, d := c.X.Dims()
	return fmt.Sprintf("%d chains in %d dimensions after %d steps, seed %d", n, d, c.Done, c.Seed)
}

// maxTrace is the number of steps of a run that a chain remembers.
const maxTrace = 1024

// note remembers a step, or every second, third, … one of a long run, and passes it to trace.
func (c *Chain) note(p Progress, trace func(Progress)) {
	if p.Done%(p.Total/maxTrace+1) == 0 {
		c.trace = append(c.trace, p)
	}
	if trace != nil {
		trace(p)
	}
}

// Trace returns a number for each of at most 1024 evenly spaced steps of each run of this process,
// and what it measures: of MALA the share of chains that moved, of Langevin dynamics the root mean
// square of the score's entries.
func (c *Chain) Trace() (what string, step, value []float64) {
	for _, p := range c.trace {
		v := p.Score
		if what = "root mean square score"; p.Metropolis {
			what, v = "share of chains that moved", p.Accepted
		}
		if !math.IsNaN(v) { // a GPU reads the score's size now and then
			step, value = append(step, float64(p.Done)), append(value, v)
		}
	}
	return what, step, value
}

// Samples returns X, as notebooks show a chain.
func (c *Chain) Samples() *mat.Dense { return c.X }

// Clone returns a copy.
func (c *Chain) Clone() *Chain {
	return &Chain{X: mat.DenseCopyOf(c.X), Seed: c.Seed, Done: c.Done, jitters: c.jitters}
}

// each calls f for every row with the randomness of a step. Rows of one chunk share a generator.
func (c *Chain) each(step int, f func(i int, row []float64, rng *rand.Rand)) {
	n, _ := c.X.Dims()
	_ = cpu.Chunks(context.Background(), n, dense.Chunk, func(k, lo, hi int) {
		rng := noise(c.Seed, step, k)
		for i := lo; i < hi; i++ {
			f(i, c.X.RawRowView(i), rng)
		}
	})
}

// noise is the generator of a step and a chunk of rows.
func noise(seed uint64, step, chunk int) *rand.Rand {
	a := mix(seed + mix(uint64(step)))
	return rand.New(rand.NewPCG(a, mix(a+uint64(chunk)+1)))
}

// mix is the finaliser of SplitMix64 (Steele, Lea and Flood 2014), a bijection whose values at
// neighbouring arguments look independent.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
