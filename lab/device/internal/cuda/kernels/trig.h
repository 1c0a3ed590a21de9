// Sine and cosine for every argument, below 2 ulp.
#pragma once
#include "numeric.h"

// A zero word and then the binary digits of 2/π after the point.
TABLE u64 two_over_pi[19] = {0, 0xa2f9836e4e441529ull, 0xfc2757d1f534ddc0ull, 0xdb6295993c439041ull,
    0xfe5163abdebbc561ull,
    0xb7246e3a424dd2e0ull, 0x06492eea09d1921cull, 0xfe1deb1cb129a73eull, 0xe88235f52ebb4484ull, 0xe99c7026b45f7e41ull,
    0x3991d639835339f4ull, 0x9c845f8bbdf9283bull, 0x1ff897ffde05980full, 0xef2f118b5a0a6d1full, 0x6d367ecf27cb09b7ull,
    0x4f463f669e5fea2dull, 0x7527bac7ebe5f17bull, 0x3d0739f78a5292eaull, 0x6bfb5fb11f8d5d08ull};

// reduce_large writes x = quadrant·π/2 + r, |r| ≤ π/4, for 2^20 ≤ |x| < ∞, and returns the quadrant
// modulo 4 (Payne and Hanek 1983). With |x| = m·2^e, m an integer of 64 bits, digits of 2/π that
// make multiples of 4 are left out, and the next 192 decide.
DEV i32 reduce_large(double x, double& r) {
  u64 b = double_bits(x) & 0x7fffffffffffffffull;
  i32 e = (i32)(b >> 52) - 1075 - 11;
  u64 m = ((b & 0x000fffffffffffffull) | 0x0010000000000000ull) << 11;
  i32 at = e + 62, word = at >> 6, shift = at & 63; // the first bit there weighs 2
  u64 w[3];
  UNROLL
  for (int k = 0; k < 3; k++)
    w[k] = shift ? two_over_pi[word + k] << shift | two_over_pi[word + k + 1] >> (64 - shift) : two_over_pi[word + k];
  u64 middle = m * w[1], carried = middle + mulhi(m, w[2]);
  u64 top = m * w[0] + mulhi(m, w[1]) + (carried < middle);
  i32 quadrant = (i32)(top >> 62);
  u64 f = top << 2 | carried >> 62, g = carried << 2; // the fraction is f·2^-64 + g·2^-128
  bool above = f >> 63;
  if (above) { // to [−½, ½)
    quadrant++;
    g = 0 - g;
    f = ~f + (g == 0);
  }
  i32 zeros = f ? __builtin_clzll(f) : 63;
  f = zeros ? f << zeros | g >> (64 - zeros) : f;
  double v = (double)f * 0x1p-64 * power_of_two<double>(-zeros) * 1.5707963267948966;
  bool negative = double_bits(x) >> 63;
  r = above != negative ? -v : v;
  return (negative ? -quadrant : quadrant) & 3;
}

DEV i32 reduce_angle(double x, double& r) {
  if (absolute(x) >= 0x1p20) return reduce_large(x, r);
  double n = nearest(x * 0.6366197723675814);
  r = mad(n, -0x1.921fb54442d18p+0, x);
  r = mad(n, -0x1.1a62633145c07p-54, r);
  r = mad(n, 0x1.f1976b7ed8fbcp-110, r);
  return (i32)n & 3;
}

template <class T> DEV T sin_series(T r) {
  constexpr double inverse[9] = {1, -1. / 6, 1. / 120, -1. / 5040, 1. / 362880, -1. / 39916800, 1. / 6227020800.,
      -1. / 1307674368000., 1. / 355687428096000.};
  T z = r * r, p = (T)inverse[Constants<T>::sin_terms];
  UNROLL
  for (int k = Constants<T>::sin_terms - 1; k >= 1; k--) p = mad(p, z, (T)inverse[k]);
  return mad(r * z, p, r);
}

template <class T> DEV T cos_series(T r) {
  constexpr double inverse[9] = {1, -1. / 2, 1. / 24, -1. / 720, 1. / 40320, -1. / 3628800, 1. / 479001600,
      -1. / 87178291200., 1. / 20922789888000.};
  T z = r * r, p = (T)inverse[Constants<T>::cos_terms];
  UNROLL
  for (int k = Constants<T>::cos_terms - 1; k >= 2; k--) p = mad(p, z, (T)inverse[k]);
  T half = (T)0.5 * z, w = 1 - half;
  return w + mad(z * z, p, (1 - w) - half);
}

// turned is sin(x + shift·π/2).
template <class T> DEV T turned(T x, i32 shift) {
  if (!(absolute(x) <= Real<T>::most)) return Real<T>::nan;
  double wide;
  i32 quadrant = reduce_angle((double)x, wide) + shift;
  T r = (T)wide, v = quadrant & 1 ? cos_series(r) : sin_series(r);
  return quadrant & 2 ? -v : v;
}

template <class T> DEV T sin_(T x) { return turned(x, 0); }
template <class T> DEV T cos_(T x) { return turned(x, 1); }
