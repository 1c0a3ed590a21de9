// Package dp accounts for differential privacy: the ε of a mechanism at a δ, the noise that a
// budget needs, and the steps that it has left.
//
// # Example
//
// DP-SGD with noise multiplier 1.1, Poisson sampling at rate 0.01 and 10,000 steps is an event. A
// relation says which data sets are neighbours; the zero value is one record added or removed:
//
//	event := dp.Repeat{Times: 10_000, Event: dp.Poisson{Rate: 0.01, Event: dp.Gaussian{NoiseMultiplier: 1.1}}}
//	g, err := dp.Epsilon(ctx, event, dp.Relation{}, 1e-5)
//	fmt.Println(g)                    // ε = 5.19259 at δ = 1e-05 …
//	fmt.Println(g.Sentence("record")) // For every set S of outputs: P(S | data) ≤ …
//
// Integers, such as counts, get integer noise: dp.DiscreteLaplace{Scale: 2} costs exactly 1/2
// (package dp/query releases counts and sums with it).
//
// Mechanisms are [Gaussian], [Laplace], [DiscreteGaussian], [DiscreteLaplace], [RandomizedResponse]
// and [NormNoise]; a mechanism known only by its guarantee is [Pure], [Approximate] or [ZCDP], and
// one known by its dominating pair is [FromPair]. A user's own [Mechanism] can be sampled, grouped
// and composed like these. [Poisson], [TruncatedPoisson], [Allocation], [WithoutReplacement] and
// [WithReplacement] draw a batch; [Repeat] and [Compose] run several on the same data; what they
// compute may depend on earlier results, their noise and their rates may not. [RepeatAndSelect] is
// the best of several runs. Noise that is correlated between steps (matrix factorisation, DP-FTRL)
// is missing.
//
// # From event to number
//
// [Branches] turns an event and a relation into dominating pairs (package dp/pair), one list of
// steps for each way the two data sets may differ: an inserted or a removed record, and for groups
// of K every split K₊ + K₋ = K. An [Accountant] composes pairs: dp/closed where there is a closed
// form, dp/contour (exact), dp/pld (an interval), dp/rdp (an upper bound). [Epsilon] and [Delta]
// use [Best] (dp/best), which tries these in this order until the number is sharp. They take the
// worst branch, and the [Guarantee] says which accountant answered and what kind of number it is.
// Branches that are certain not to be the worst are skipped, in spans of splits: groups of a
// thousand take half a second by closed forms and contours. Groups of hundreds take seconds where
// distributions are needed, and groups of 100,000 some ten: their upper bound may be a tenth too large.
// [EpsilonBy] and [DeltaBy] take an accountant. Whatever may take long takes a context first. A part
// of an event without a dominating pair is refused by name ([ErrNoPair]).
//
// The words exact and upper bound refer to the dominating pairs. For Poisson samples some mechanism
// and data attain these (SSKG, M.3). For samples with and without replacement they are a bound with
// relaxed distances, and exact means exact for that bound, in the unit stated below. The relation
// [Exchange] has the tight pair of one record without replacement.
//
// # Conventions
//
// Noise is in units of the sensitivity (L2 for Gaussian and NormNoise, L1 for Laplace). The unit
// depends on the batch:
//
//   - all of the data, or a Poisson sample: the most that inserting or removing one record of the
//     batch moves the value. A substitution
//     is one removal and one insertion: two units.
//   - a batch of fixed size, [WithoutReplacement] or [WithReplacement]: the most that exchanging
//     one record of the batch for any other moves the value. No record enters without another
//     leaving. Substitution then allows two units between a removed and an inserted record, and one
//     between either and the rest (SSKG); [Exchange] allows one between any two.
//
// For a sum of records clipped to norm C the first unit is C and the second 2C: noise of standard
// deviation σC is Gaussian{NoiseMultiplier: σ} on a Poisson sample and Gaussian{NoiseMultiplier:
// σ/2} on a batch of fixed size ([FixedSGD]). Using σ there would under-report ε.
//
// ε is in natural units; the least ε at a δ is never negative: a mechanism with δ(0) ≤ δ has ε = 0.
// δ can be asked for at ε < 0 too. Rate 0, no steps and δ = 1 cost nothing; noise 0 has a δ, and an
// ε only above it ([ErrUnbounded]). Numbers are rounded to the safe side, upwards for ε and δ.
// Published amplification bounds, for comparison, are in package dp/bounds.
//
// # Sources
//
// Schuchardt, Stoian, Kosmala, Günnemann, "Unified mechanism-specific amplification by subsampling
// and group privacy amplification" (NeurIPS 2024), cited as SSKG; Zhu, Dong, Wang 2022 (dominating
// pairs); Balle, Barthe, Gaboardi 2018 (amplification); Lebeda, Regehr, Kamath, Steinke 2024
// (directions are composed separately: arXiv 2405.20769).
package dp
