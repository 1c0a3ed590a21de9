// Package sgd trains any network of package lab/nn by DP-SGD: the gradient of each private record
// is clipped, the sum over a Poisson batch is released with Gaussian noise, and an optimiser moves
// the weights by it.
//
//	t := sgd.Training{
//		Net:       nn.Seq(&nn.Dense{In: 2, Out: 16}, nn.Tanh(), &nn.Dense{In: 16, Out: 2}),
//		Objective: sgd.Classification{X: sgd.Rows(x), Labels: labels}, // or sgd.Pixels, sgd.Regression
//		Clip:      1, Rate: .1, Batch: .1 * 2000, Steps: 200, Optimiser: train.Adam{Rate: .02}, Dir: "run",
//	}
//	two := dp.Relation{Group: 2} // records of one person
//	t, g, err := t.Calibrate(ctx, dp.Budget{Epsilon: 2, Delta: 1e-5, Relation: two})
//	err = t.Run(ctx, dev, key) // resumes where it was killed
//	logits, err := sgd.Predict(t.Net, sgd.Rows(new))
//
// A linear layer on fixed features of images is Features(net, Pixels(images), 27), with net such as
// nn.Seq(&nn.Affine{By: .5, Plus: .5}, arch.Scattering()) after Init, in place of Rows.
//
// # The mechanism
//
// Step k draws a batch B that holds each of N records with probability Rate, independently, and releases
//
//	Σ_{i∈B} g_i·min(1, Clip/|g_i|₂) + N(0, σ²),   g_i = ∇_w loss_i(w),   σ = NoiseMultiplier·Clip
//
// (slightly more: see Arithmetic). Divided by Batch, a public number and not the size drawn, it is
// the gradient that the optimiser sees. Everything after that is post-processing.
//
// With Epoch the batches are those of a random allocation instead: each record is in Selected of
// the Epoch steps of every epoch, drawn for each record by itself. Event is then dp.Allocation's,
// for one record that is added or removed. Batches cut from a shuffled data set, as most data
// loaders draw them, are not offered: they have no known amplification.
//
// # Sensitivity and neighbours
//
// Data sets are neighbours if one has one record more, or K records more or fewer for a group:
// dp.Relation{Group: K} of kind AddRemove. A loss depends on its own record, the weights, and
// public or fresh randomness (Objective states the condition). So one more record moves the sum by
// its own clipped gradient, of norm at most Clip. An empty batch is released like any other, as
// zero plus noise. Each step is therefore the Poisson-sampled Gaussian mechanism of noise
// multiplier NoiseMultiplier, whatever the network, and steps compose adaptively: Event is
// dp.SGD(NoiseMultiplier, Rate, Steps). A group of K moves a sum by at most K·Clip, as package dp
// assumes. Replacing a record is one removal and one insertion.
//
// The settings and the network are public; N is not used, but as the number of records there are. If
// Rate or Batch is computed from N, then N is public, and the promise is for a record replaced by an
// empty one, which has no gradient: N stays, sums differ by one clipped gradient as before, and the
// event and its ε are the same. For a private N compute them from a noisy count, such as
// query.Session.Count or synth.Public.Counted. Choosing settings by looking at private results
// spends budget that is not accounted for here. The running time is not protected.
//
// # Arithmetic
//
// Batches are cut into virtual batches, so that memory is bounded whatever Rate·N. The records of
// one stretch of the data set are summed together, so one more record changes the rounding of its
// own stretch only, if the others keep their places. If the others move by one place, each stretch
// passes its first record to the previous one, and every stretch rounds differently.
//
// These sums are in the network's type; everything else is in float64. All other rounding concerns
// one record at a time: on the CPU a record's contribution has the same bits whichever other
// records are in the batch, so no other record can push it over the kink of a ReLU or a maximum.
// (Other devices may choose their products by the batch size; use networks without kinks there.)
// Rounding therefore moves a sum by the float32 error of one stretch, which Slack bounds: noise is
// scaled to a sensitivity of Clip·(1+Slack), and once more for its grid (release.GridMargin). Norms
// are kept a relative 3e-4 below Clip (train.Margin).
//
// One gap remains: a record whose gradient is a sum of terms that cancel to less than some 1e-4 of
// their size, as over the positions of a convolution, could exceed these margins in float32. Type
// Float64 closes it, at twice the time.
//
// A record without a finite gradient counts as zero, which is a function of that record alone.
//
// # Cost
//
// A forward and a backward pass for each record, the gradients of parameters once more, and some 250 ns of noise for
// each parameter and step.
//
// Source: M. Abadi et al., "Deep learning with differential privacy" (CCS 2016), algorithm 1. Noise
// and resuming: package dp/release.
package sgd
