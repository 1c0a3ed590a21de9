// Biases, normalisations and the activations after them. Floors, in elements read and written for
// each of x: affine 2, affine_vjp 4, moments 1, moments_vjp 3; the arithmetic of a function or its
// slope is below that.
#include "reduce.h"
#include "unary.h"

// Bent is f(scale·(x − center) + shift); what is absent is null.
template <class T> struct Bent {
  In<T> scale, center, shift;
  i32 f;
  T p;
};
template <class T> DEV T centered(const Bent<T>& b, T x, const i64 (&o)[3]) { return b.center
    ? x - b.center[o[1]] : x; }
template <class T> DEV T argument(const Bent<T>& b, T d, const i64 (&o)[3]) {
  return mad(b.scale ? b.scale[o[0]] : (T)1, d, b.shift ? b.shift[o[2]] : (T)0);
}

template <class T>
DEV void affine_vjp(Out<T> sum, Out<T> along, Out<Part> parts, Out<T> dz, Arg<T> x, Arg<T> y, Arg<T> dy,
    const Bent<T>& b,
    const Axes& at, const Job& job) {
  auto take = [&](Part& p, i64 o, i64 i, i64, bool) {
    i64 where[3];
    place(at, o, where);
    T d = centered(b, (T)x[i], where), s = slope(b.f, argument(b, d, where), (T)y[i], b.p);
    T v = s == 0 ? 0 : s * (T)dy[i]; // a closed gate stops Inf and NaN
    dz[i] = v;
    p.a += (double)v;
    p.b = mad((double)v, (double)d, p.b);
  };
  reduce_parts(parts, job, Part{0, 0, 0}, take, [](Part&, i64) {}, [](Part& p, const Part& q) { p.a += q.a,
      p.b += q.b; },
      [&](i64 o, const Part& p) {
        sum[o] = (T)p.a;
        if (along) along[o] = (T)p.b;
      });
}

// Moments of float32 are sums of deviations from the output's first element (b and a of their
// squares, c that element), whose squares float64 holds however far it lies out. Of float64 a part
// is count, mean and squared deviations, a thread taking them from its own first element; parts
// join as Chan, Golub and LeVeque have it (1979).
template <class T> DEV void merge(Part& p, const Part& q) {
  if constexpr (sizeof(T) == 4) {
    p.a += q.a, p.b += q.b, p.c = p.c == 0 ? q.c : p.c; // of an empty part c is 0
    return;
  }
  if (q.a == 0) return;
  double n = p.a + q.a, d = q.b - p.b, share = q.a / n;
  p.c += q.c + d * d * (p.a * share);
  p.b = p.a == 0 ? q.b : mad(d, share, p.b);
  p.a = n;
}

// Spread writes the moments of a part.
template <class T> struct Spread {
  Out<T> mean, variance, rstd;
  double eps, lost, count;
};
template <class T> DEV void put(const Spread<T>& to, i64 o, const Part& p) {
  double mean = p.b, squares = p.c;
  if (sizeof(T) == 4) {
    mean = p.b / larger(1.0, to.count);
    squares = larger(p.a - p.b * mean, 0.0);
    mean += p.c;
  }
  double v = squares / larger(1.0, to.count - to.lost);
  to.mean[o] = (T)mean;
  to.variance[o] = (T)v;
  to.rstd[o] = (T)(1 / root(v + to.eps));
}

template <class T> DEV void moments(const Spread<T>& to, Out<Part> parts, Arg<T> x, const Job& job) {
  auto take = [&](Part& p, i64, i64 i, i64 origin, bool first) __attribute__((always_inline)) {
    if (first) p.c = (double)x[sizeof(T) == 4 ? origin : i];
    double d = (double)x[i] - p.c;
    p.a = mad(d, d, p.a);
    p.b += d;
  };
  auto close = [](Part& p, i64 n) {
    if (sizeof(T) == 8 && n > 0) p = Part{(double)n, p.c + p.b / (double)n, p.a - p.b * p.b / (double)n};
  };
  reduce_parts(parts, job, Part{0, 0, 0}, take, close, [](Part& p, const Part& q) { merge<T>(p, q); },
      [&](i64 o, const Part& p) { put(to, o, p); });
}

#define MAKE(S, T) \
  KERNEL BOUNDS(256) \
  affine_##S(Out<T> y, Arg<T> x, In<T> scale, In<T> center, In<T> shift, Axes at, i32 f, double p) { \
    Bent<T> b{scale, center, shift, f, (T)p}; \
    EACH(i, at.len) { \
      i64 o[3]; \
      place(at, i, o); \
      y[i] = value(f, argument(b, centered(b, (T)x[i], o), o), b.p); \
    } \
  } \
  KERNEL BOUNDS(256) \
  affine_vjp_##S(Out<T> sum, Out<T> along, Out<Part> parts, Out<T> dz, Arg<T> x, Arg<T> y, Arg<T> dy, In<T> scale, \
      In<T> center, In<T> shift, Axes at, i32 f, double p, Job job) { \
    affine_vjp<T>(sum, along, parts, dz, x, y, dy, Bent<T>{scale, center, shift, f, (T)p}, at, job); \
  } \
  KERNEL BOUNDS(128) affine_vjp_finish_##S(Out<T> sum, Out<T> along, In<Part> parts, i64 outs, i64 splits) { \
    finish_parts(parts, outs, splits, Part{0, 0, 0}, [](Part& p, const Part& q) { p.a += q.a, p.b += q.b; }, \
        [&](i64 o, const Part& p) { \
          sum[o] = (T)p.a; \
          if (along) along[o] = (T)p.b; \
        }); \
  } \
  KERNEL BOUNDS(256) \
  moments_##S(Out<T> mean, Out<T> variance, Out<T> rstd, Out<Part> parts, Arg<T> x, double eps, double lost, \
      Job job) { \
    moments<T>(Spread<T>{mean, variance, rstd, eps, lost, (double)job.over.len}, parts, x, job); \
  } \
  KERNEL BOUNDS(128) \
  moments_finish_##S(Out<T> mean, Out<T> variance, Out<T> rstd, In<Part> parts, i64 outs, i64 splits, double eps, \
      double lost, i64 count) { \
    Spread<T> to{mean, variance, rstd, eps, lost, (double)count}; \
    finish_parts(parts, outs, splits, Part{0, 0, 0}, [](Part& p, const Part& q) { merge<T>(p, q); }, \
        [&](i64 o, const Part& p) { put(to, o, p); }); \
  } \
  KERNEL BOUNDS(256) \
  moments_vjp_##S(Out<T> dx, Arg<T> dz, Arg<T> x, In<T> mean, In<T> rstd, In<T> scale, In<T> sum, In<T> along, \
      In<T> more, Axes at, double share, double squares) { \
    EACH(i, at.len) { \
      i64 o[1]; \
      place(at, i, o); \
      T s = scale[o[0]], r = rstd[o[0]], by = s * r * r * along[o[0]] * (T)squares, d = (T)x[i] - mean[o[0]]; \
      T plus = mad(-s * sum[o[0]], (T)share, more ? more[o[0]] : (T)0); \
      dx[i] = mad(s, (T)dz[i], mad(-by, d, plus)); \
    } \
  }
FLOATS(MAKE)
#undef MAKE
