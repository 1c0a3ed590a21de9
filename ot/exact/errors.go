package exact

import "coupling/ot/internal/simplex"

// ErrUnbalanced reports total masses that differ by more than 1e-9 of their size. It is an
// ot.ErrWeights; other errors are those of package ot.
var ErrUnbalanced = simplex.ErrUnbalanced
