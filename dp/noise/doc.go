// Package noise draws the noise of differentially private releases: exactly, on a grid, from bits that can be
// cryptographic.
//
// # In words
//
// A sum of d = 3 values of which one record changes at most 1 in L2 norm, released with noise of standard deviation 4:
//
//	g := noise.Gaussian{Sigma: 4}
//	out, err := g.Add(noise.Crypto(), []float64{12.25, -3, 0.125})
//	event, err := g.Event(noise.Query{Sensitivity: 1, Dim: 3}) // what dp.Epsilon asks for
//
// For experiments the source is noise.Seeded(rng) and everything else is the same.
//
// # Why a grid
//
// Noise that is computed with float64 and added with float64 leaks: its low bits tell which inputs could have given an
// output, whatever the size of the noise (Mironov 2012). Here values are rounded to the multiples of a power of two, the
// Granularity, and integer noise is added to integers. All outputs that are possible for one input are possible for all
// others, with the probabilities that the accounting assumes. Rounding moves two neighbouring values apart by up to one
// step for each coordinate, which Query and the Event methods count.
//
// Samplers are exact: given fair bits, the law of the noise is the discrete Gaussian or discrete Laplace law itself, not an
// approximation of it (Canonne, Kamath, Steinke 2020). A decision "is a uniform number below e^-x" compares 64 bits in
// float64 when they are further from e^-x than 2^-40, many times what rounding can amount to, and else draws more
// bits and compares with integer arithmetic of growing precision. A loop that would take longer than has probability
// 2^-60000 gives an error instead: a source that is stuck cannot hang or be used.
//
// # What an event is worth
//
// The discrete Gaussian on a grid is not the continuous one, and its profile lies now above, now below. Gaussian.Event
// returns a continuous Gaussian that certainly dominates, of slightly smaller noise (relative 1e-17 at the default
// granularity); its comment has the proof. Laplace.Event does the same. Coarse grids, integers among them (OnGrid, Granularity 1), have exact
// events: dp.DiscreteGaussian and dp.DiscreteLaplace. Package dp/query releases counts and sums with these.
//
// # What it does not protect from
//
// The sensitivity is that of the values as computed: a float64 sum may move by more than the record that changed, because
// its roundings change too. Rounding each record with Grid.Round first makes sums exact, as long as they stay below
// Grid.Limit. Running time depends on the noise drawn (never on the values): who can time a single release to
// nanoseconds learns about its noise (Jin, McMurtry, Rubinstein, Ohrimenko 2022). Norm noise has no version for release
// here; see Norm.
//
// # Sources
//
// Mironov, "On significance of the least significant bits for differential privacy" (CCS 2012). Canonne, Kamath, Steinke,
// "The discrete Gaussian for differential privacy" (NeurIPS 2020), cited as CKS. Peikert, "An efficient and parallel
// Gaussian sampler for lattices" (CRYPTO 2010) for the convolution of discrete Gaussians. Lemire, "Fast random
// integer generation in an interval" (2019).
package noise
