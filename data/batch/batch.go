package batch

import (
	"fmt"
	"iter"
	"math/rand/v2"
)

// Epochs returns (epoch, indices): in every epoch each of n examples occurs in
// exactly one batch, in a fresh random order. Batches have the given size but
// for the last of an epoch, which holds the rest. It returns an error when
// n or size is not positive.
func Epochs(rng *rand.Rand, n, size int) (iter.Seq2[int, []int], error) {
	if n <= 0 {
		return nil, fmt.Errorf("batch: n = %d: must be positive", n)
	}
	if size <= 0 {
		return nil, fmt.Errorf("batch: size = %d: must be positive", size)
	}
	return func(yield func(int, []int) bool) {
		order := All(n)
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
	order := All(n)
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

// All returns 0 … n−1.
func All(n int) []int {
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
