// Package rdp accounts for privacy by Rényi divergences: an upper bound of ε that holds for every
// pair with moments, of any composition, in milliseconds.
//
// # Example
//
// The log moment K(α) = log ∫ p^α q^(1−α) of a composition is the sum of those of its steps. Every
// order α > 1 turns it into a valid ε at δ; the accountant searches for the best:
//
//	p, err := pair.Poisson(pair.Gaussian, 1.1, 0.01, 0, 1)
//	r, err := rdp.Accountant{}.Search(ctx, []pair.Step{{Pair: p, Times: 10_000}}, pair.EpsilonAt(1e-5))
//	r.Upper, r.Order // 5.6318…, at order 4.67…
//
// # The search
//
// With the tight conversion (α−1)·ε(α) = K(α) + α log(1−1/α) − log(α−1) − log δ is convex in α, so
// ε(α) is quasi-convex: it falls, then rises. The search walks in log(α−1) until the minimum is
// bracketed and then narrows by golden section. There is no grid and no limit of orders: they may
// be as near to 1 and as high as needed. Where losses are bounded, order ∞ (the sum of the largest
// losses, pure differential privacy) is a candidate too.
//
// # Safety
//
// Moments enter as value + error bound, so every ε returned is an upper bound, whatever the search
// finds. An infinite bound is an error. Of pairs on finitely many points, the probability of an
// infinite loss, with which no moment is finite, is a part of δ: δ(ε) is at most this probability
// plus that of the pairs given that the loss is finite.
//
// # Sources
//
// Mironov 2017, "Rényi differential privacy"; Canonne, Kamath, Steinke 2020, "The discrete Gaussian
// for differential privacy", Proposition 12 (the tight conversion; also Balle et al. 2020, Theorem
// 21); Abadi et al. 2016 (moments add up).
package rdp
