// Package check holds the errors and the argument checks that all packages under dp share.
package check

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// The sentinels; package dp documents them.
var (
	ErrParameter     = errors.New("parameter out of range")
	ErrNoPair        = errors.New("no dominating pair is known")
	ErrUnbounded     = errors.New("no finite bound")
	ErrNotApplicable = errors.New("accountant not applicable")
)

// All is errors.Join in one line, and nothing twice.
func All(errs ...error) error {
	errs = slices.DeleteFunc(slices.Clone(errs), func(err error) bool { return err == nil })
	if len(errs) < 2 {
		return errors.Join(errs...)
	}
	return joined(errs)
}

type joined []error

func (j joined) Unwrap() []error { return j }

func (j joined) Error() string {
	if i := slices.IndexFunc(j, func(err error) bool { return errors.Is(err, ErrUnbounded) }); i >= 0 {
		return j[i].Error() // that another accountant does not apply says less
	}
	var texts []string
	for _, err := range j {
		if text := err.Error(); !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "; ")
}

// In is the name of a package, which its errors begin with.
type In string

// Bad is an error about a parameter.
func (p In) Bad(format string, args ...any) error {
	return fmt.Errorf("%s: %s: %w", p, fmt.Sprintf(format, args...), ErrParameter)
}

// Delta accepts δ in [0, 1).
func (p In) Delta(delta float64) error {
	if !(delta >= 0 && delta < 1) {
		return p.Bad("delta = %v: must be in [0, 1)", delta)
	}
	return nil
}

// Epsilon accepts finite ε ≥ 0.
func (p In) Epsilon(eps float64) error { return p.NotNegative("eps", eps) }

// NotNegative accepts finite values of at least 0.
func (p In) NotNegative(name string, v float64) error {
	if !(v >= 0) || math.IsInf(v, 0) {
		return p.Bad("%s = %v: must be at least 0 and finite", name, v)
	}
	return nil
}

// Positive accepts finite values above 0.
func (p In) Positive(name string, v float64) error {
	if !(v > 0) || math.IsInf(v, 0) {
		return p.Bad("%s = %v: must be positive and finite", name, v)
	}
	return nil
}

// Rate accepts sampling rates in (0, 1].
func (p In) Rate(rate float64) error {
	if !(rate > 0 && rate <= 1) {
		return p.Bad("rate = %v: must be in (0, 1]", rate)
	}
	return nil
}

// Order accepts Rényi orders, finite and above 1.
func (p In) Order(alpha float64) error {
	if !(alpha > 1) || math.IsInf(alpha, 1) {
		return p.Bad("alpha = %v: must be above 1 and finite", alpha)
	}
	return nil
}

// Batch accepts batches of fixed size.
func (p In) Batch(batch, size int) error {
	if batch < 1 {
		return p.Bad("batch = %d: must be at least 1", batch)
	}
	if size < 1 {
		return p.Bad("size = %d: must be at least 1", size)
	}
	return nil
}

// Subset accepts batches of fixed size without replacement.
func (p In) Subset(batch, size int) error {
	if err := p.Batch(batch, size); err != nil || batch <= size {
		return err
	}
	return p.Bad("batch = %d: must be at most size = %d", batch, size)
}
