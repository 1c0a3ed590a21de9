// Package dp accounts for differential privacy: what ε a mechanism has at a δ, how much noise a budget asks for, and
// how many steps are left.
//
// # In words
//
// DP-SGD with noise multiplier 1.1, Poisson sampling at rate 0.01 and 10,000 steps is an event. A relation says which data
// sets are neighbours; the zero value is one record more or less:
//
//	event := dp.Repeat{Times: 10_000, Event: dp.Poisson{Rate: 0.01, Event: dp.Gaussian{NoiseMultiplier: 1.1}}}
//	g, err := dp.Epsilon(event, dp.Relation{}, 1e-5)
//	fmt.Println(g) // ε = 5.19259 at δ = 1e-05 …
//
// Mechanisms are [Gaussian], [Laplace], [RandomizedResponse], [NormNoise] and [Dominated]; [Poisson], [WithoutReplacement] and
// [WithReplacement] sample a batch for them; [Repeat] and [Compose] run several on the same data, adaptively.
//
// # From event to number
//
// [Branches] turns an event and a relation into dominating pairs (package dp/pair), one list of steps for each way the two
// data sets may differ: an inserted or a removed record, and for groups of K every split K₊ + K₋ = K. An [Accountant]
// composes pairs: [Profile] where the profile is known, dp/contour (exact), dp/pld (an interval), [RDP] (an upper bound, dp/rdp).
// [Epsilon] and [Delta] ask them in this order until the number is known sharply, take the worst branch, and say in the [Guarantee]
// which accountant answered and what kind of number it is. Branches that are certain not to be the worst, by rougher enclosures, are passed
// over. [EpsilonContext] and [DeltaContext] can be ended; [Best] can be told what width suffices. What has no dominating pair is refused, with the part named ([ErrNoPair]).
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
// For a sum of records clipped to norm C the first unit is C and the second 2C: noise of standard deviation σC is Gaussian{Noise: σ}
// on a Poisson sample and Gaussian{Noise: σ/2} on a batch of fixed size ([FixedSGD]). To take σ there would under-report ε.
//
// ε is natural. ε is never
// negative here: a mechanism with δ(0) ≤ δ has ε = 0. Numbers are rounded to the safe side, upwards for ε and δ.
//
// Amplification bounds that the literature compares with are functions of their own: CouplingBound, PartitionBound, GroupDelta,
// AgnosticDelta, WangRDP, ZhuWangRDP, PostHocDelta, PostHocCurve, PostHocRenyi, AbadiGroup.
//
// # Sources
//
// Schuchardt, Stoian, Kosmala, Günnemann, "Unified mechanism-specific amplification by subsampling and group privacy
// amplification" (NeurIPS 2024), cited as SSKG; Zhu, Dong, Wang 2022 (dominating pairs); Balle, Barthe, Gaboardi 2018
// (amplification); Lebeda, Regehr, Kamath, Steinke 2024 (directions are composed apart: arXiv 2405.20769).
package dp
