// Package dp accounts for differential privacy: what ε a mechanism has at a δ, how much noise a budget asks for, and
// how many steps are left.
//
// # In words
//
// DP-SGD with noise multiplier 1.1, Poisson sampling at rate 0.01 and 10,000 steps is an event. A relation says which data
// sets are neighbours; the zero value is one record added or removed:
//
//	event := dp.Repeat{Times: 10_000, Event: dp.Poisson{Rate: 0.01, Event: dp.Gaussian{NoiseMultiplier: 1.1}}}
//	g, err := dp.Epsilon(event, dp.Relation{}, 1e-5)
//	fmt.Println(g)                    // ε = 5.19259 at δ = 1e-05 …
//	fmt.Println(g.Sentence("record")) // For every set S of outputs: P(S | data) ≤ …
//
// Integers, such as counts, have noise on integers: dp.DiscreteLaplace{Scale: 2} costs exactly 1/2 (package dp/query releases
// counts and sums with it).
//
// Mechanisms are [Gaussian], [Laplace], [DiscreteGaussian], [DiscreteLaplace], [RandomizedResponse] and [NormNoise]; what is known of a
// mechanism by its guarantee alone is [Pure], [Approximate] or [ZCDP], and by its dominating pair [FromPair]. A [Mechanism] of one's own is
// sampled, grouped and composed as these. [Poisson], [WithoutReplacement] and [WithReplacement] sample a batch; [Repeat] and
// [Compose] run several on the same data, adaptively.
//
// # From event to number
//
// [Branches] turns an event and a relation into dominating pairs (package dp/pair), one list of steps for each way the two
// data sets may differ: an inserted or a removed record, and for groups of K every split K₊ + K₋ = K. An [Accountant]
// composes pairs: dp/closed where there is a closed form, dp/contour (exact), dp/pld (an interval), dp/rdp (an upper bound).
// [Epsilon] and [Delta] ask [Best] (dp/best), which asks these in this order until the number is known sharply, take the worst branch, and say in the
// [Guarantee] which accountant answered and what kind of number it is. Branches that are certain not to be the worst are passed over, in
// spans of splits: groups of a thousand take a tenth of a second, and of 100,000 seconds, with an upper bound. [EpsilonBy] and [DeltaBy] take a
// context, which ends them, and an accountant. What has no dominating pair is refused, with the part named ([ErrNoPair]).
//
// Exact and upper bound speak of the dominating pairs. These are attained by some mechanism and data for Poisson samples (SSKG, M.3),
// for samples with and without replacement they bound it with relaxed distances, and exact means exact for that bound, in the unit
// stated below. The relation [Exchange] has the tight pair of one record without replacement.
//
// # Conventions
//
// Noise is in units of the sensitivity (L2 for Gaussian and NormNoise, L1 for Laplace), and of what depends on the batch:
//
//   - all of the data, or a Poisson sample: the most that inserting or removing one record of the batch moves the value. A substitution
//     is one removal and one insertion: two units.
//   - a batch of fixed size, [WithoutReplacement] or [WithReplacement]: the most that exchanging one record of the batch for any other
//     moves the value. No record comes in without another going out. Substitution then allows two units between a removed and an
//     inserted record, and one between either and the rest (SSKG); [Exchange] allows one between any two.
//
// For a sum of records clipped to norm C the first unit is C and the second 2C: noise of standard deviation σC is
// Gaussian{NoiseMultiplier: σ} on a Poisson sample and Gaussian{NoiseMultiplier: σ/2} on a batch of fixed size ([FixedSGD]). To take σ
// there would under-report ε.
//
// ε is natural and never negative here: a mechanism with δ(0) ≤ δ has ε = 0. Numbers are rounded to the safe side, upwards for ε and δ.
// Published amplification bounds that the literature compares with are in package dp/bounds.
//
// # Sources
//
// Schuchardt, Stoian, Kosmala, Günnemann, "Unified mechanism-specific amplification by subsampling and group privacy
// amplification" (NeurIPS 2024), cited as SSKG; Zhu, Dong, Wang 2022 (dominating pairs); Balle, Barthe, Gaboardi 2018
// (amplification); Lebeda, Regehr, Kamath, Steinke 2024 (directions are composed apart: arXiv 2405.20769).
package dp
