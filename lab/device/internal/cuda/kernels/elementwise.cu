// Maps, their derivatives, and what broadcasts. The floor of each kernel is the bytes it reads and
// writes over the memory's bandwidth, two to four elements an output; instructions an element:
// GPU.md.
#include "axes.h"
#include "unary.h"

// The numbers of package backend.
enum Binary { Add, Sub, Mul, Div, Max, Min };

// both is a op b. Max and Min pass NaN.
template <class T> DEV T both(i32 f, T a, T b) {
  switch (f) {
    case Add: return a + b;
    case Sub: return a - b;
    case Mul: return a * b;
    case Div: return a / b;
    case Max: return a != a || a > b ? a : b;
    case Min: return a != a || a < b ? a : b;
  }
  return Real<T>::nan;
}

#define MAKE(S, T)                                                                                     \
  KERNEL BOUNDS(256) fill_##S(Out<T> y, i64 n, double v) {                                             \
    EACH(i, n) y[i] = (T)v;                                                                            \
  }                                                                                                    \
  KERNEL BOUNDS(256) map_##S(Out<T> y, Arg<T> x, i64 n, i32 f, double p) {                             \
    for (i64 i = first(), step = stride(); i < n; i += 4 * step) { /* four elements for one switch */  \
      T v[4] = {};                                                                                     \
      UNROLL for (int k = 0; k < 4; k++) if (i + k * step < n) v[k] = x[i + k * step];                 \
      values(f, v, (T)p);                                                                              \
      UNROLL for (int k = 0; k < 4; k++) if (i + k * step < n) y[i + k * step] = v[k];                 \
    }                                                                                                  \
  }                                                                                                    \
  KERNEL BOUNDS(256) map_vjp_##S(Out<T> dx, Arg<T> x, Arg<T> y, Arg<T> dy, i64 n, i32 f, double p) {   \
    EACH(i, n) {                                                                                       \
      T s = slope(f, (T)x[i], (T)y[i], (T)p);                                                          \
      dx[i] = s == 0 ? 0 : s * (T)dy[i]; /* a closed gate stops Inf and NaN */                         \
    }                                                                                                  \
  }                                                                                                    \
  KERNEL BOUNDS(256) combine_##S(Out<T> y, Arg<T> a, Arg<T> b, Axes at, i32 f) {                       \
    EACH(i, at.len) {                                                                                  \
      i64 o[2];                                                                                        \
      place(at, i, o);                                                                                 \
      y[i] = both(f, (T)a[o[0]], (T)b[o[1]]);                                                          \
    }                                                                                                  \
  }                                                                                                    \
  KERNEL BOUNDS(256) axpby_##S(Out<T> z, double alpha, Arg<T> x, double beta, Arg<T> y, i64 n) {       \
    T a = (T)alpha, b = (T)beta;                                                                       \
    if (b == 0) {                                                                                      \
      EACH(i, n) z[i] = a * (T)x[i];                                                                   \
    } else {                                                                                           \
      EACH(i, n) z[i] = mad(a, (T)x[i], b * (T)y[i]);                                                  \
    }                                                                                                  \
  }
FLOATS(MAKE)
#undef MAKE

KERNEL BOUNDS(256) fill_i32(Out<i32> y, i64 n, double v) {
  EACH(i, n) y[i] = (i32)v;
}
KERNEL BOUNDS(256) narrow(Out<float> y, In<double> x, i64 n) {
  EACH(i, n) y[i] = (float)x[i];
}
KERNEL BOUNDS(256) widen(Out<double> y, In<float> x, i64 n) {
  EACH(i, n) y[i] = (double)x[i];
}
