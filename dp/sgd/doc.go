// Package sgd trains any network of package lab/nn by DP-SGD (Abadi et al. 2016): each private record's gradient is
// clipped, their sum over a Poisson batch is released with Gaussian noise, and an optimiser does the rest.
//
//	t := sgd.Training{
//		Net: arch.CNN{}.Net(), Objective: sgd.Classification{Images: digits},
//		Clip: 1e-4, NoiseMultiplier: .6, Rate: 64. / 55000, Steps: 6880, Optimiser: train.Adam{Rate: 1e-3}, Dir: "run",
//	}
//	event, err := t.Event()                                      // what dp.Epsilon and dp.MaxSteps ask for
//	g, err := dp.Epsilon(event, dp.Relation{Group: 2}, 1e-5)     // two records of one person
//	err = t.Run(ctx, dev, key)                                   // goes on where it was killed
//
// # The mechanism
//
// Step k draws a batch B that holds each of N records with probability Rate, independently, and releases
//
//	Σ_{i∈B} g_i·min(1, Clip/|g_i|₂) + N(0, σ²),   g_i = ∇_w loss_i(w),   σ = NoiseMultiplier·Clip
//
// (a little more: see below). Divided by Rate·N, the expected size and not the one that was drawn, it is the gradient
// that the optimiser sees. All that follows is post-processing.
//
// # Sensitivity and neighbours
//
// Data sets are neighbours where one has a record more, or K records more or less for a group: dp.Relation{Group: K} of
// kind AddRemove. A loss depends on its own record, the weights and public or fresh randomness (Objective says what that
// asks for), so one record more moves the sum by its own clipped gradient, of norm at most Clip, and an empty batch is a
// sum of zero with noise like any other. So a step is the Poisson-sampled Gaussian mechanism of noise multiplier
// NoiseMultiplier, whatever the network, and steps compose adaptively: Event is dp.SGD(NoiseMultiplier, Rate, Steps), and a group
// of K moves a sum by at most K·Clip, which is what package dp takes for granted. Replacing a record is one removal and
// one insertion.
//
// N, the settings and the network are public. Choosing settings by looking at private results spends budget that no
// accountant here sees; the time that a step takes is not protected.
//
// # Arithmetic
//
// Batches are cut into virtual ones, so that memory is bounded whatever Rate·N: the records of one stretch of the data
// set go together, so that one record more touches the sum of its own stretch only, if the others keep their places in the data
// set; where they move up each stretch gives its first record away, and rounds anew. These sums are in the network's type,
// all else in float64. What else is rounded is rounded for each record alone: on a processor a record's part is the same bits
// whoever is in the batch, so that no other record sits on the other side of a ReLU or a maximum for it. (Other devices may
// choose their way of multiplying by the size of the batch: there, networks without corners are the safe ones.) So rounding
// moves a sum by what float32 errs on one stretch, and Slack says how much that can be: noise is scaled to a sensitivity of
// Clip·(1+Slack), and once more for its grid (release.GridMargin). Norms are kept a relative 3e-4 below Clip (train.Margin). A
// record whose gradient is itself a sum of terms that cancel to less than some 1e-4 of their size, as over the positions of a
// convolution, could err by more than all that in float32: Type Float64 is for who needs to exclude it, at twice the time.
//
// A record without a finite gradient counts as zero, which is a function of that record alone.
//
// # Noise and resuming
//
// As in package dp/release: noise is a function of the key and of what it hides, a ledger is synced before each release,
// and a run that is killed ends in the same weights and spends nothing twice.
//
// # Cost
//
// Two ways back for each record, and some 250 ns of noise for each parameter and step.
//
// Source: M. Abadi et al., "Deep learning with differential privacy" (CCS 2016), algorithm 1.
package sgd
