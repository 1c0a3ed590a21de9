package noise

import (
	"math"
	"math/big"
	"math/bits"
	"sync/atomic"
)

// envelope is a step function that is nowhere below e^(−k²/2s²), k = 0, 1, …: strips of equal length and, from the last
// one on, a tail whose height halves after each tailStrips strips. A number that is drawn under it, and kept with
// probability e^(−k²/2s²) over the step's height, is a discrete Gaussian one, exactly: all heights are integers, in
// units
// of 2^-unitBits. It takes two words a number where the general algorithm takes ten, once the strips are known, which
// takes as long as a hundred numbers.
type envelope struct {
	s       float64
	bits    uint           // a strip is 2^bits long
	columns [strips]column // of Walker's alias method, which draws a strip in proportion to its height
	total   uint64         // capacity of a column
	height  [strips]uint64 // of a strip; the last is the tail, at its start
	accept  [strips]uint64 // 2^64 times a number that is not above the probability to keep any k of the strip
}

// column holds its own strip below share, and another one above.
type column struct {
	share uint64
	other uint8
}

const (
	strips     = 128
	tailStrips = 6
	unitBits   = 20
	// The scales for which a word has bits for sign, strip and place and 30 more.
	leastEnvelope, mostEnvelope = 1 << 12, 1 << 31
)

// latest is the envelope that was made last: the chunks of a release, and the steps of a training, have one scale.
var latest atomic.Pointer[envelope]

// envelopeOf is newEnvelope, or what it returned last.
func envelopeOf(s float64) *envelope {
	e := latest.Load()
	if e == nil || e.s != s {
		e = newEnvelope(s)
		latest.Store(e)
	}
	return e
}

// newEnvelope returns the envelope for a scale of 16 to 2^31 steps. Strips are s/32 to s/16 long. The tail begins at
// K ≥ 3.96s and halves after L ≥ 6s/32, over which the density falls by e^(−(2KL+L²)/2s²) < 1/2.
func newEnvelope(s float64) *envelope {
	_, exp := math.Frexp(s)
	e := &envelope{s: s, bits: uint(exp - 5)}
	var weight [strips]uint64
	for j := range e.height {
		e.height[j] = uint64(math.Exp(-e.exponent(uint64(j)<<e.bits))*(1<<unitBits)*(1+1e-12)) + 1
		weight[j] = e.height[j]
		if j == strips-1 {
			weight[j] *= 2 * tailStrips // 1 + 1/2 + 1/4 + … times its strips
			break
		}
		least := math.Exp(-e.exponent(uint64(j+1)<<e.bits)) * (1 << unitBits) * (1 - 1e-12)
		e.accept[j] = uint64(least / float64(e.height[j]) * 0x1p64)
	}
	for _, w := range weight {
		e.total += w
	}
	e.fill(weight)
	return e
}

// fill makes the columns: each strip has strips·weight to give, and a column takes total.
func (e *envelope) fill(weight [strips]uint64) {
	var small, large []uint8
	sort := func(j uint8) {
		if weight[j] < e.total {
			small = append(small, j)
		} else {
			large = append(large, j)
		}
	}
	for j := range weight {
		weight[j] *= strips
		sort(uint8(j))
	}
	for len(small) > 0 { // a column that is not full needs a strip with more than a column
		j, k := small[len(small)-1], large[len(large)-1]
		small, large = small[:len(small)-1], large[:len(large)-1]
		e.columns[j] = column{weight[j], k}
		weight[k] -= e.total - weight[j]
		sort(k)
	}
	for _, j := range large { // exactly full
		e.columns[j] = column{e.total, j}
	}
}

// exponent returns k²/2s², with a relative error of 2^-51.
func (e *envelope) exponent(k uint64) float64 {
	x := float64(k) / e.s
	return x * x / 2
}

// draw returns an integer with probability ∝ e^(−k²/2s²), cut off at ±endless.
func (e *envelope) draw(src Source) (int64, error) {
	for range maxRejections {
		j, k, negative, err := e.propose(src)
		if err != nil {
			return 0, err
		}
		halvings := uint(0)
		if j == strips-1 {
			if halvings, k, err = e.tail(src); err != nil {
				return 0, err
			}
		}
		keep, err := e.keep(src, j, k, halvings)
		switch {
		case err != nil:
			return 0, err
		case !keep || negative && k == 0: // a negative zero would count zero twice
		case negative:
			return -int64(k), nil
		default:
			return int64(k), nil
		}
	}
	return 0, tooManyRejections()
}

// propose draws a strip in proportion to its weight, a place in it and a sign, from disjoint bits of one word.
func (e *envelope) propose(src Source) (j uint8, k uint64, negative bool, err error) {
	for range maxRejections {
		u, err := src.Uint64()
		if err != nil {
			return 0, 0, false, err
		}
		negative, j = u&1 == 1, uint8(u>>1)%strips
		k = u >> 8 & (1<<e.bits - 1)
		rest := e.bits + 8
		hi, lo := bits.Mul64(u>>rest<<rest, e.total) // uniform below total, if not rejected (Lemire 2019)
		if lo>>rest < (1<<(64-rest))%e.total {
			continue
		}
		if c := e.columns[j]; hi >= c.share {
			j = c.other
		}
		return j, uint64(j)<<e.bits + k, negative, nil
	}
	return 0, 0, false, tooManyRejections()
}

// tail draws a place in the tail, at the given number of halvings of its height.
func (e *envelope) tail(src Source) (halvings uint, k uint64, err error) {
	u := uint64(0)
	for u == 0 && halvings < maxRejections {
		if u, err = src.Uint64(); err != nil {
			return 0, 0, err
		}
		halvings += uint(bits.TrailingZeros64(u))
	}
	place, err := Uniform(src, tailStrips<<e.bits)
	return halvings, min((strips-1+tailStrips*uint64(halvings))<<e.bits+place, endless), err
}

// keep is true with probability e^(−k²/2s²) over the height of k's step.
func (e *envelope) keep(src Source, j uint8, k uint64, halvings uint) (bool, error) {
	u, err := src.Uint64()
	if err != nil || u < e.accept[j] {
		return err == nil, err
	}
	p := math.Exp(-e.exponent(k))
	switch y := math.Ldexp(float64(u)*float64(e.height[j]), -int(unitBits+halvings)); {
	case y+margin < p*0x1p64:
		return true, nil
	case y-margin > p*0x1p64:
		return false, nil
	}
	x := new(big.Rat).SetInt(new(big.Int).SetUint64(k))
	x.Quo(x, new(big.Rat).SetFloat64(e.s)).Mul(x, x).Mul(x, big.NewRat(1, 2))
	return decideExactly(src, u, e.height[j], unitBits+halvings, x)
}
