// Maps, their derivatives, and what broadcasts. All of it is bound by memory: the floor of each kernel is the bytes it
// reads and writes over the memory's bandwidth, two to four elements an output, since even sin costs under 40
// operations an element.
#include "axes.h"
#include "trig.h"

// The numbers of package backend.
enum Unary {
  Identity, Neg, Abs, Square, Sqrt, Rsqrt, Recip, Exp, Log, Sin, Cos, ReLU, LeakyReLU, ELU, Softplus, Tanh, Sigmoid,
  SiLU, AddConst, Clamp, Step
};
enum Binary { Add, Sub, Mul, Div, Max, Min };

template <class T> DEV T value(i32 f, T x, T p) {
  switch (f) {
    case Identity: return x;
    case Neg: return -x;
    case Abs: return absolute(x);
    case Square: return x * x;
    case Sqrt: return root(x);
    case Rsqrt: return 1 / root(x);
    case Recip: return 1 / x;
    case Exp: return exp_(x);
    case Log: return log_(x);
    case Sin: return sin_(x);
    case Cos: return cos_(x);
    case ReLU: return x <= 0 ? 0 : x; // NaN passes
    case LeakyReLU: return x > 0 ? x : p * x;
    case ELU: return x > 0 ? x : p * expm1_(x);
    case Softplus: return softplus_(x);
    case Tanh: return tanh_(x);
    case Sigmoid: return sigmoid_(x);
    case SiLU: return x == -Real<T>::inf ? 0 : x * sigmoid_(x);
    case AddConst: return x + p;
    case Clamp: return x < -p ? -p : (x > p ? p : x);
    case Step: return x >= p ? 1 : (x < p ? 0 : x);
  }
  return Real<T>::nan;
}

// slope is the derivative at x, the one from the left at a kink; y is the value.
template <class T> DEV T slope(i32 f, T x, T y, T p) {
  switch (f) {
    case Identity: return 1;
    case Neg: return -1;
    case Abs: return x > 0 ? 1 : -1;
    case Square: return 2 * x;
    case Sqrt: return (T)0.5 / y;
    case Rsqrt: return (T)-0.5 * y * y * y;
    case Recip: return -(y * y);
    case Exp: return y;
    case Log: return 1 / x;
    case Sin: return cos_(x);
    case Cos: return -sin_(x);
    case ReLU: return x > 0 ? 1 : 0;
    case LeakyReLU: return x > 0 ? 1 : p;
    case ELU: return x > 0 ? 1 : p * exp_(x);
    case Softplus: return sigmoid_(x);
    case Tanh: { // 1 − y² without cancellation
      T e = exp_(-2 * absolute(x));
      return 4 * e / ((1 + e) * (1 + e));
    }
    case Sigmoid: {
      T e = exp_(-absolute(x));
      return e / ((1 + e) * (1 + e));
    }
    case SiLU: {
      T s = sigmoid_(x), e = exp_(-absolute(x));
      return x == -Real<T>::inf ? 0 : s + x * (e / ((1 + e) * (1 + e)));
    }
    case AddConst: return 1;
    case Clamp: return x > -p && x <= p ? 1 : 0;
    case Step: return 0;
  }
  return Real<T>::nan;
}

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
  EXPORT(fill_##S)                                                                                     \
  KERNEL BOUNDS(256) map_##S(Out<T> y, Arg<T> x, i64 n, i32 f, double p) {                             \
    EACH(i, n) y[i] = value(f, (T)x[i], (T)p);                                                         \
  }                                                                                                    \
  EXPORT(map_##S)                                                                                      \
  KERNEL BOUNDS(256) map_vjp_##S(Out<T> dx, Arg<T> x, Arg<T> y, Arg<T> dy, i64 n, i32 f, double p) {   \
    EACH(i, n) {                                                                                       \
      T s = slope(f, (T)x[i], (T)y[i], (T)p);                                                          \
      dx[i] = s == 0 ? 0 : s * (T)dy[i]; /* a closed gate stops Inf and NaN */                         \
    }                                                                                                  \
  }                                                                                                    \
  EXPORT(map_vjp_##S)                                                                                  \
  KERNEL BOUNDS(256) combine_##S(Out<T> y, Arg<T> a, Arg<T> b, Axes at, i32 f) {                       \
    EACH(i, at.len) {                                                                                  \
      i64 o[2];                                                                                        \
      place(at, i, o);                                                                                 \
      y[i] = both(f, (T)a[o[0]], (T)b[o[1]]);                                                          \
    }                                                                                                  \
  }                                                                                                    \
  EXPORT(combine_##S)                                                                                  \
  KERNEL BOUNDS(256) axpby_##S(Out<T> z, double alpha, Arg<T> x, double beta, Arg<T> y, i64 n) {       \
    T a = (T)alpha, b = (T)beta;                                                                       \
    if (b == 0) {                                                                                      \
      EACH(i, n) z[i] = a * (T)x[i];                                                                   \
    } else {                                                                                           \
      EACH(i, n) z[i] = mad(a, (T)x[i], b * (T)y[i]);                                                  \
    }                                                                                                  \
  }                                                                                                    \
  EXPORT(axpby_##S)                                                                                    \
  KERNEL BOUNDS(256) affine_##S(Out<T> y, In<T> a, Arg<T> x, In<T> b, Axes at) {                       \
    EACH(i, at.len) {                                                                                  \
      i64 o[2];                                                                                        \
      place(at, i, o);                                                                                 \
      y[i] = a[o[0]] * (T)x[i] + b[o[1]];                                                              \
    }                                                                                                  \
  }                                                                                                    \
  EXPORT(affine_##S)                                                                                   \
  KERNEL BOUNDS(256)                                                                                   \
  affine_pair_##S(Out<T> dst, In<T> a, Arg<T> x, In<T> b, Arg<T> y, In<T> c, Axes at) {                \
    EACH(i, at.len) {                                                                                  \
      i64 o[3];                                                                                        \
      place(at, i, o);                                                                                 \
      dst[i] = a[o[0]] * (T)x[i] + b[o[1]] * (T)y[i] + c[o[2]];                                        \
    }                                                                                                  \
  }                                                                                                    \
  EXPORT(affine_pair_##S)
FLOATS(MAKE)
#undef MAKE

KERNEL BOUNDS(256) fill_i32(Out<i32> y, i64 n, double v) {
  EACH(i, n) y[i] = (i32)v;
}
EXPORT(fill_i32)
KERNEL BOUNDS(256) narrow(Out<float> y, In<double> x, i64 n) {
  EACH(i, n) y[i] = (float)x[i];
}
EXPORT(narrow)
KERNEL BOUNDS(256) widen(Out<double> y, In<float> x, i64 n) {
  EACH(i, n) y[i] = (double)x[i];
}
EXPORT(widen)
