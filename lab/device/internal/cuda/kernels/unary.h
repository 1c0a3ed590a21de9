// The elementwise functions and their derivatives.
#pragma once
#include "trig.h"

// The numbers of package backend.
enum Unary {
  Identity, Neg, Abs, Square, Sqrt, Rsqrt, Recip, Exp, Log, Sin, Cos, ReLU, LeakyReLU, ELU, Softplus, Tanh, Sigmoid,
  SiLU, AddConst, Clamp, Step
};

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
