package ot

import "coupling/ot/internal/fault"

// Loss is one of the numbers that the literature calls the Sinkhorn loss; see Values.
type Loss int

const (
	// Sharp is <T*,c>, which approaches the Wasserstein distance fastest.
	Sharp Loss = iota
	// RegKL is min <T,c> + ε KL(T|abᵀ).
	RegKL
	// RegEntropy is min <T,c> + ε Σ T log T.
	RegEntropy
)

// String returns the name of the loss.
func (l Loss) String() string { return fault.Name("Loss", int(l), "sharp", "reg_kl", "reg_entropy") }
