// The elementwise functions and their derivatives.
#pragma once
#include "trig.h"

// The numbers of package backend.
enum Unary {
  Identity, Neg, Abs, Square, Sqrt, Rsqrt, Recip, Exp, Log, Sin, Cos, ReLU, LeakyReLU, ELU, Softplus, Tanh, Sigmoid,
  SiLU, AddConst, Clamp, Step
};

// values is f of N numbers, for one choice among the functions.
template <int N, class T> DEV void values(i32 f, T (&v)[N], T p) {
#define OF(name, result)              \
  case name:                          \
    UNROLL for (int k = 0; k < N; k++) { \
      T x = v[k];                     \
      v[k] = result;                  \
    }                                 \
    return;
  switch (f) {
    OF(Identity, x)
    OF(Neg, -x)
    OF(Abs, absolute(x))
    OF(Square, x * x)
    OF(Sqrt, root(x))
    OF(Rsqrt, 1 / root(x))
    OF(Recip, 1 / x)
    OF(Exp, exp_(x))
    OF(Log, log_(x))
    OF(Sin, sin_(x))
    OF(Cos, cos_(x))
    OF(ReLU, x <= 0 ? 0 : x) // NaN passes
    OF(LeakyReLU, x > 0 ? x : p * x)
    OF(ELU, x > 0 ? x : p * expm1_(x))
    OF(Softplus, softplus_(x))
    OF(Tanh, tanh_(x))
    OF(Sigmoid, sigmoid_(x))
    OF(SiLU, x == -Real<T>::inf ? 0 : x * sigmoid_(x))
    OF(AddConst, x + p)
    OF(Clamp, x < -p ? -p : (x > p ? p : x))
    OF(Step, x >= p ? 1 : (x < p ? 0 : x))
  }
#undef OF
  UNROLL
  for (int k = 0; k < N; k++) v[k] = Real<T>::nan;
}

template <class T> DEV T value(i32 f, T x, T p) {
  T v[1] = {x};
  values(f, v, p);
  return v[0];
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
