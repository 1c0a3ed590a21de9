package eval

import (
	"errors"
	"fmt"

	"coupling/dp/audit"
	"coupling/score/internal/fault"
)

// ErrArgument is wrapped by every error about an argument.
var ErrArgument = errors.New("bad argument")

var bad = fault.In("eval", ErrArgument)

// Score is the number of examples of a test set that were given their class.
type Score struct {
	N, Correct int
	Accuracy   float64 // Correct/N
	Lo, Hi     float64 // 95% interval of the accuracy on further examples, see audit.Wilson
}

// newScore compares classes with predictions. It returns an error for no examples.
func newScore(truth, predicted []int) (*Score, error) {
	if len(truth) == 0 || len(truth) != len(predicted) {
		return nil, bad("%d classes, %d predictions: must be equal and > 0", len(truth),
			len(predicted))
	}
	s := &Score{N: len(truth)}
	for i, k := range truth {
		if k == predicted[i] {
			s.Correct++
		}
	}
	s.Accuracy = float64(s.Correct) / float64(s.N)
	s.Lo, s.Hi = audit.Wilson(float64(s.Correct), float64(s.N), .95)
	return s, nil
}

// String returns accuracy and interval in percent.
func (s *Score) String() string {
	return fmt.Sprintf("%.2f%% (95%%: %.2f–%.2f, n = %d)", 100*s.Accuracy, 100*s.Lo, 100*s.Hi, s.N)
}
