package eval

import (
	"errors"
	"fmt"
	"math"
)

// ErrArgument is wrapped by every error about an argument.
var ErrArgument = errors.New("bad argument")

// Score is the number of examples of a test set that were given their class.
type Score struct {
	N, Correct int
	Accuracy   float64 // Correct/N
	Lo, Hi     float64 // 95% interval of the accuracy on further examples, see Wilson
}

// newScore compares classes with predictions. It returns an error for no examples.
func newScore(truth, predicted []int) (*Score, error) {
	if len(truth) == 0 || len(truth) != len(predicted) {
		return nil, fmt.Errorf("eval: %d classes, %d predictions: must be equal and > 0: %w", len(truth),
			len(predicted), ErrArgument)
	}
	s := &Score{N: len(truth)}
	for i, k := range truth {
		if k == predicted[i] {
			s.Correct++
		}
	}
	s.Accuracy = float64(s.Correct) / float64(s.N)
	s.Lo, s.Hi = Wilson(s.Correct, s.N)
	return s, nil
}

// String is accuracy and interval in percent.
func (s *Score) String() string {
	return fmt.Sprintf("%.2f%% (95%%: %.2f–%.2f, n = %d)", 100*s.Accuracy, 100*s.Lo, 100*s.Hi, s.N)
}

// Wilson is the 95% interval of a proportion of which k of n were seen (E. B. Wilson 1927),
//
//	(p̂ + z²/2n ± z √(p̂(1−p̂)/n + z²/4n²)) / (1 + z²/n),   z = 1.96,
//
// which stays in [0, 1] and has a width at p̂ = 0 and 1. It takes the n examples for independent, and says nothing of
// how results differ between trainings. n = 0 gives [0, 1].
func Wilson(k, n int) (lo, hi float64) {
	if n == 0 {
		return 0, 1
	}
	const z = 1.959963984540054
	p, m := float64(k)/float64(n), float64(n)
	centre := p + z*z/(2*m)
	half := z * math.Sqrt(p*(1-p)/m+z*z/(4*m*m))
	return max((centre-half)/(1+z*z/m), 0), min((centre+half)/(1+z*z/m), 1)
}
