package batch

import (
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
)

// Poisson returns batches in which each of n examples is present with
// probability rate, independently of all others and of other steps. Indices
// ascend. A batch may be empty: a private training run must take the step all
// the same. A step costs O(1 + rate·n).
//
// The law is exact up to the 53 bits of a uniform float64: no probability is
// off by more than 2⁻⁵² for each example drawn. It returns an error when n is
// negative or rate is not in [0, 1].
func Poisson(rng *rand.Rand, n int, rate float64) (iter.Seq2[int, []int], error) {
	if n < 0 {
		return nil, fmt.Errorf("batch: n = %d: must not be negative", n)
	}
	if !(rate >= 0 && rate <= 1) {
		return nil, fmt.Errorf("batch: rate = %v: must be in [0, 1]", rate)
	}
	return endless(func(indices []int) []int { return appendPoisson(indices[:0], rng, n, rate) }), nil
}

// appendPoisson jumps from one chosen example to the next: the number of
// examples passed over is geometric, P(gap ≥ k) = (1-rate)^k.
func appendPoisson(dst []int, rng *rand.Rand, n int, rate float64) []int {
	if rate == 0 {
		return dst
	}
	logMiss := math.Log1p(-rate) // -Inf for rate 1: every gap is 0
	for i := 0; ; i++ {
		u := 1 - rng.Float64() // in (0, 1]
		gap := math.Floor(math.Log(u) / logMiss)
		if !(gap < float64(n-i)) { // also when the gap exceeds every int
			return dst
		}
		i += int(gap)
		dst = append(dst, i)
	}
}

// WithoutReplacement returns batches of exactly size different examples out of
// n, each subset equally likely, in random order, independent between steps. A
// step costs O(size), the first O(n). It returns an error when size is not in
// [0, n].
func WithoutReplacement(rng *rand.Rand, n, size int) (iter.Seq2[int, []int], error) {
	if size < 0 || size > n {
		return nil, fmt.Errorf("batch: size = %d: must be in [0, n = %d]", size, n)
	}
	var order []int
	return endless(func(indices []int) []int {
		if order == nil {
			order = identity(n)
		}
		// Whatever order the last step left, a fresh partial shuffle makes every
		// arrangement of size examples equally likely.
		shuffleFirst(rng, order, size)
		return append(indices[:0], order[:size]...)
	}), nil
}

// WithReplacement returns batches of size independent uniform draws out of n
// examples. It returns an error when size is negative, or n is not positive.
func WithReplacement(rng *rand.Rand, n, size int) (iter.Seq2[int, []int], error) {
	if n <= 0 {
		return nil, fmt.Errorf("batch: n = %d: must be positive", n)
	}
	if size < 0 {
		return nil, fmt.Errorf("batch: size = %d: must not be negative", size)
	}
	return endless(func(indices []int) []int {
		indices = indices[:0]
		for range size {
			indices = append(indices, rng.IntN(n))
		}
		return indices
	}), nil
}

// Epochs returns (epoch, indices): in every epoch each of n examples occurs in
// exactly one batch, in a fresh random order. Batches have the given size but
// for the last of an epoch, which holds what is left. It returns an error when
// n or size is not positive.
func Epochs(rng *rand.Rand, n, size int) (iter.Seq2[int, []int], error) {
	if n <= 0 {
		return nil, fmt.Errorf("batch: n = %d: must be positive", n)
	}
	if size <= 0 {
		return nil, fmt.Errorf("batch: size = %d: must be positive", size)
	}
	return func(yield func(int, []int) bool) {
		order := identity(n)
		for epoch := 0; ; epoch++ {
			shuffleFirst(rng, order, n)
			for at := 0; at < n; at += size {
				end := min(at+size, n)
				if !yield(epoch, order[at:end:end]) {
					return
				}
			}
		}
	}, nil
}

// Subset returns k different indices out of n, each subset equally likely, in
// random order. It returns an error when k is not in [0, n].
func Subset(rng *rand.Rand, n, k int) ([]int, error) {
	if k < 0 || k > n {
		return nil, fmt.Errorf("batch: k = %d: must be in [0, n = %d]", k, n)
	}
	order := identity(n)
	shuffleFirst(rng, order, k)
	return order[:k:k], nil
}

// Split deals n examples at random into disjoint parts of the given sizes;
// what remains when the sizes add up to less than n is left out. It returns an
// error when a size is negative or the sum exceeds n.
func Split(rng *rand.Rand, n int, sizes ...int) ([][]int, error) {
	sum := 0
	for _, size := range sizes {
		if size < 0 || size > n-sum {
			return nil, fmt.Errorf("batch: sizes = %v: must not be negative, nor add up to more than n = %d", sizes, n)
		}
		sum += size
	}
	order, err := Subset(rng, n, sum)
	if err != nil {
		return nil, err
	}
	parts := make([][]int, len(sizes))
	for i, size := range sizes {
		parts[i], order = order[:size:size], order[size:]
	}
	return parts, nil
}

// endless turns a function that overwrites its argument with the next batch
// into a sequence.
func endless(next func([]int) []int) iter.Seq2[int, []int] {
	return func(yield func(int, []int) bool) {
		var indices []int
		for step := 0; ; step++ {
			indices = next(indices)
			if !yield(step, indices) {
				return
			}
		}
	}
}

func identity(n int) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	return order
}

// shuffleFirst puts a uniformly random arrangement of k entries in front.
func shuffleFirst(rng *rand.Rand, order []int, k int) {
	for i := range k {
		j := i + rng.IntN(len(order)-i)
		order[i], order[j] = order[j], order[i]
	}
}
