// Package noise draws the noise of differentially private releases: exactly, on a grid, from bits that can be
// cryptographic.
//
// # Example
//
// A sum of d = 3 values, which one record changes by at most 1 in L2 norm, released with noise of
// standard deviation 4:
//
//	g := noise.Gaussian{Sigma: 4}
//	out, err := g.Add(noise.Crypto(), []float64{12.25, -3, 0.125})
//	event, err := g.Event(noise.Query{Sensitivity: 1, Dim: 3}) // for dp.Epsilon
//
// For experiments the source is noise.Seeded(rng) and everything else is the same.
//
// # Why a grid
//
// Noise computed and added in float64 leaks: the low bits of an output reveal which inputs are
// possible, whatever the size of the noise (Mironov 2012). Here values are rounded to the multiples
// of a power of two, the Granularity, and integer noise is added to integers. Every output that is
// possible for one input is possible for all others, with the probabilities that the accounting
// assumes. Rounding moves two neighbouring values apart by up to one step for each coordinate,
// which Query and the Event methods count.
//
// Samplers are exact: given fair bits, the law of the noise is the discrete Gaussian or discrete
// Laplace law itself, not an approximation of it (Canonne, Kamath, Steinke 2020). A decision "is a
// uniform number below e^-x" compares 64 bits in float64 if they differ from e^-x by more than
// 2^-40, many times the rounding error; else it draws more bits and compares with integer
// arithmetic of growing precision. A loop that runs longer than it would with probability 2^-60000
// returns an error, so that a stuck source can neither hang the process nor be used.
//
// # Events
//
// The discrete Gaussian on a grid differs from the continuous one: its profile is above at some ε
// and below at others. Gaussian.Event returns a continuous Gaussian that certainly dominates, of
// slightly smaller noise (relative 1e-17 at the default granularity); its comment has the proof.
// Laplace.Event does the same. Coarse grids, integers among them (OnGrid, Granularity 1), have
// exact events: dp.DiscreteGaussian and dp.DiscreteLaplace. Package dp/query releases counts and
// sums with these.
//
// # Limits of the protection
//
// The sensitivity is that of the values as computed: a float64 sum may move by more than the record
// that changed, because its roundings change too. Rounding each record with Grid.Round first makes
// sums exact, as long as they stay below Grid.Limit. Running time depends on the noise drawn (never
// on the values): anyone who can time a single release to nanoseconds learns about its noise (Jin,
// McMurtry, Rubinstein, Ohrimenko 2022). Norm noise is not for releases; see Norm.
//
// # Sources
//
// Mironov, "On significance of the least significant bits for differential privacy" (CCS 2012).
// Canonne, Kamath, Steinke, "The discrete Gaussian for differential privacy" (NeurIPS 2020), cited
// as CKS. Peikert, "An efficient and parallel Gaussian sampler for lattices" (CRYPTO 2010) for the
// convolution of discrete Gaussians. Lemire, "Fast random integer generation in an interval"
// (2019).
package noise
