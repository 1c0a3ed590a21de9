package admm

import (
	"errors"

	"coupling/dp/internal/check"
)

var (
	// ErrParameter marks a parameter out of range; the message names it and its value. It is dp.ErrParameter.
	ErrParameter = check.ErrParameter
	// ErrInfeasible marks bounds that no plan meets; errors.As with *InfeasibleError gives the violated cut.
	ErrInfeasible = errors.New("no plan meets the bounds")
	// ErrBudget marks a round that a node's privacy budget does not pay for.
	ErrBudget = errors.New("privacy budget is spent")
)

const in = check.In("admm")

var bad = in.Bad
