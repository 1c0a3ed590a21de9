// What the kernels of transport share. Scores h_j − c_ij/ε are held in units of log 2, so that an
// exponential is one special-function instruction in float32; float64 has a polynomial. Scores of
// −Inf have weight zero.
#pragma once
#include "numeric.h"

DEV float ex2(float x) { return ex2_fast(x); }
DEV double ex2(double x) { return exp2_(x); }

constexpr double log2e = 1.4426950408889634, ln2 = 0.6931471805599453;

// Mass is a partial log-sum-exp: Σ 2^score = sum·2^top. top starts at the smallest number, not at
// −Inf, and stops at the largest, not at +Inf, so that differences of tops are never NaN.
template <class T> struct Mass {
  T top, sum;
};
template <class T> DEV Mass<T> nothing() { return {-Real<T>::most, 0}; }
template <class T> DEV Mass<T> both(Mass<T> a, Mass<T> b) {
  T top = larger(a.top, b.top);
  return {top, a.sum * ex2(a.top - top) + b.sum * ex2(b.top - top)};
}

// add takes N scores. The rescaling is a branch that is rarely taken once the largest score has
// been met: the price is one exponential a score.
template <class T, int N> DEV void add(Mass<T>& m, const T (&score)[N]) {
  T top = score[0];
  UNROLL
  for (int k = 1; k < N; k++) top = larger(top, score[k]);
  if (top > m.top) {
    top = smaller(top, Real<T>::most);
    m.sum *= ex2(m.top - top);
    m.top = top;
  }
  UNROLL
  for (int k = 0; k < N; k++) m.sum += ex2(score[k] - m.top);
}

// result is the natural logarithm of a mass.
template <class T> DEV T result(Mass<T> m) { return (T)((double)m.top * ln2 + log_((double)m.sum)); }

// Cost is c(x, y) = square·|x−y|² + abs·|x−y|₁, and the same in scores, by inv·log2e. Mirrored by
// the Go type cost.
struct Cost {
  double square, abs, inv;
};

// Score turns the two distances of a pair into a cost and a score.
template <class T, bool L1> struct Score {
  T square, abs, inv, square2, abs2;
  DEV Score of(const Cost& c) {
    return {(T)c.square, (T)c.abs, (T)c.inv, (T)(c.square * c.inv * log2e), (T)(c.abs * c.inv * log2e)};
  }
  __attribute__((always_inline)) DEVICE T less(T h, T sq, T ab) const { // h − c/ε
    if (!L1) return mad(-square2, sq, h);
    T v = mad(-abs2, ab, h);
    return square2 == 0 ? v : mad(-square2, sq, v);
  }
  __attribute__((always_inline)) DEVICE T cost(T sq, T ab) const {
    if (!L1) return square * sq;
    return square == 0 ? abs * ab : mad(square, sq, abs * ab);
  }
  __attribute__((always_inline)) DEVICE T slope(T diff) const { // ∂c/∂x along one axis
    if (!L1) return 2 * square * diff;
    return mad(2 * square, diff, diff == 0 ? (T)0 : with_sign(abs, diff));
  }
};
