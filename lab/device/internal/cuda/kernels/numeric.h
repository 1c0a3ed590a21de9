// Elementary functions, since the library that CUDA links for them belongs to its toolkit. The same
// code for float and double: argument reduction, a Taylor polynomial whose first dropped term is
// below half an ulp on the reduced interval, reconstruction. Errors against 200-bit references stay
// below 2 ulp (3 for tanh, log1p and softplus); see numeric_test.go.
#pragma once
#include "common.h"

template <class T> struct Constants;
template <> struct Constants<float> {
  static constexpr float ln2_hi = 0x1.62e400p-1f, ln2_lo = 0x1.7f7d1cp-20f; // ln2_hi·n is exact for |n| < 2^9
  static constexpr float overflow = 88.72284f, underflow = -104.0f;
  static constexpr int exp_terms = 7, log_terms = 5, sin_terms = 4, cos_terms = 5;
};
template <> struct Constants<double> {
  static constexpr double ln2_hi = 0x1.62e42fee00000p-1, ln2_lo = 0x1.a39ef35793c76p-33; // exact for |n| < 2^20
  static constexpr double overflow = 709.782712893384, underflow = -746.0;
  static constexpr int exp_terms = 13, log_terms = 11, sin_terms = 8, cos_terms = 8;
};

// power_of_two is 2^n for a normal result.
template <class T> DEV T power_of_two(i32 n) {
  if constexpr (sizeof(T) == 4) return bits_float((u32)(n + 127) << 23);
  else return bits_double((u64)(n + 1023) << 52);
}

// scale is p·2^n with one rounding, for n that may lie beyond the exponents of T by a factor of
// two.
template <class T> DEV T scale(T p, i32 n) {
  i32 half = n >> 1;
  return p * power_of_two<T>(half) * power_of_two<T>(n - half);
}

// exp_tail is (e^r − 1 − r)/r² by its Taylor series: 1/2 + r/6 + …
template <class T> DEV T exp_tail(T r) {
  constexpr double inverse[15] = {1, 1, 1. / 2, 1. / 6, 1. / 24, 1. / 120, 1. / 720, 1. / 5040, 1. / 40320, 1. / 362880,
      1. / 3628800, 1. / 39916800, 1. / 479001600, 1. / 6227020800., 1. / 87178291200.};
  T p = (T)inverse[Constants<T>::exp_terms];
  UNROLL
  for (int k = Constants<T>::exp_terms - 1; k >= 2; k--) p = mad(p, r, (T)inverse[k]);
  return p;
}

template <class T> DEV T exp_(T x) {
  using C = Constants<T>;
  if (!(x <= C::overflow)) return x + Real<T>::inf; // NaN passes
  if (x < C::underflow) return 0;
  T n = nearest(x * (T)1.4426950408889634);
  T r = mad(n, -C::ln2_hi, x);
  r = mad(n, -C::ln2_lo, r);
  T p = mad(r * r, exp_tail(r), r) + 1;
  return scale(p, (i32)n);
}

// exp2_ is 2^x without a branch, 0 where that is below the smallest normal number: adding 3·2^51
// rounds x to an integer, which lies in the low bits of the sum and is added to the exponent.
DEV double exp2_(double x) {
  constexpr double big = 0x1.8p52;
  double shifted = x + big, r = (x - (shifted - big)) * 0.6931471805599453;
  double p = mad(r * r, exp_tail(r), r) + 1, y = bits_double(double_bits(p) + (double_bits(shifted) << 52));
  y = x >= -1022 ? y : 0;
  y = x < 1024 ? y : Real<double>::inf;
  return x != x ? x : y;
}

template <class T> DEV T expm1_(T x) {
  using C = Constants<T>;
  if (x != x) return x;
  if (x > C::overflow - 8) return exp_(x);
  if (x < (T)(sizeof(T) == 4 ? -18 : -40)) return -1;
  T n = nearest(x * (T)1.4426950408889634);
  T r = mad(n, -C::ln2_hi, x);
  r = mad(n, -C::ln2_lo, r);
  T q = mad(r * r, exp_tail(r), r), s = power_of_two<T>((i32)n);
  return n == 0 ? q : mad(s, q, s - 1);
}

// log_series is log((1+f)) from s = f/(2+f): f − (f²/2 − s·(f²/2 + R(s²))), R(z) = Σ 2 z^k/(2k+1).
template <class T> DEV T log_series(T f, T exponent) {
  using C = Constants<T>;
  T s = f / (2 + f), z = s * s, half = (T)0.5 * f * f;
  T r = (T)(2.0 / (2 * C::log_terms + 1));
  UNROLL
  for (int k = C::log_terms - 1; k >= 1; k--) r = mad(r, z, (T)(2.0 / (2 * k + 1)));
  r *= z;
  return mad(exponent, C::ln2_hi, f - (half - mad(s, half + r, exponent * C::ln2_lo)));
}

DEV float log_(float x) {
  if (!(x > 0)) return x == 0 ? -Real<float>::inf : Real<float>::nan;
  if (x == Real<float>::inf) return x;
  i32 e = 0;
  if (x < 0x1p-126f) x *= 0x1p25f, e = -25;
  u32 b = float_bits(x) + (0x3f800000u - 0x3f3504f3u); // the mantissa goes to [√½, √2)
  e += (i32)(b >> 23) - 127;
  return log_series(bits_float((b & 0x007fffffu) + 0x3f3504f3u) - 1, (float)e);
}
DEV double log_(double x) {
  if (!(x > 0)) return x == 0 ? -Real<double>::inf : Real<double>::nan;
  if (x == Real<double>::inf) return x;
  i32 e = 0;
  if (x < 0x1p-1022) x *= 0x1p54, e = -54;
  u64 b = double_bits(x) + (0x3ff0000000000000ull - 0x3fe6a09e667f3bcdull);
  e += (i32)(b >> 52) - 1023;
  return log_series(bits_double((b & 0x000fffffffffffffull) + 0x3fe6a09e667f3bcdull) - 1, (double)e);
}

// log1p_ is log(1+x) for x ≥ 0.
template <class T> DEV T log1p_(T x) {
  T u = 1 + x;
  if (u == 1) return x;
  if (u == Real<T>::inf) return u;
  return log_(u) + (x - (u - 1)) / u;
}

template <class T> DEV T tanh_(T x) {
  T a = absolute(x);
  if (a > 22) return x > 0 ? 1 : -1;
  T e = expm1_(2 * a), t = e / (e + 2);
  return x < 0 ? -t : t; // NaN passes
}

template <class T> DEV T sigmoid_(T x) {
  T e = exp_(-absolute(x));
  return (x < 0 ? e : 1) / (1 + e);
}

template <class T> DEV T softplus_(T x) { return (x <= 0 ? 0 : x) + log1p_(exp_(-absolute(x))); }

