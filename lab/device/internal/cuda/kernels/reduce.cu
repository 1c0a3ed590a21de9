// Reductions over any axes. Floor: one read of x; the arithmetic (in float64, for float32 too) is
// below it except on GPUs whose float64 units are few.
#include "numeric.h"
#include "reduce.h"

// Each reduction says what an empty part is, how an element and another part join it, and what the
// result is.

// Total is Σ x: plain for float32, whose error in float64 is below 2^-29 of Σ|x| to 2^24 elements a
// lane; Neumaier's compensated sum for float64.
template <class T> struct Total {
  DEV Part empty() { return {0, 0, 0}; }
  DEV void term(Part& p, double x) {
    if constexpr (sizeof(T) == 4) {
      p.a += x;
    } else {
      double t = p.a + x;
      p.b += absolute(p.a) >= absolute(x) ? (p.a - t) + x : (x - t) + p.a;
      p.a = t;
    }
  }
  DEV void take(Part& p, T x) { term(p, (double)x); }
  DEV void join(Part& p, const Part& q) {
    term(p, q.a);
    p.b += q.b;
  }
  DEV double result(const Part& p, i64) {
    double s = p.a + p.b;
    return s == s ? s : p.a;
  }
};
template <class T> struct Average : Total<T> {
  DEV double result(const Part& p, i64 count) { return Total<T>::result(p, count) / (double)count; }
};
template <class T> struct Squares : Total<T> {
  DEV void take(Part& p, T x) { Total<T>::term(p, (double)x * (double)x); }
};

// Length is √Σ x². Squares of float32 cannot leave the range of float64; for float64 there are
// three sums, of numbers that are small, middling and big, each scaled (Blue 1978).
template <class T> struct Length {
  DEV Part empty() { return {0, 0, 0}; }
  DEV void take(Part& p, T v) {
    double x = absolute((double)v);
    if (sizeof(T) == 4) {
      p.a += x * x;
    } else if (x > 0x1p500) {
      x *= 0x1p-700;
      p.b += x * x;
    } else if (x < 0x1p-450) {
      x *= 0x1p600;
      p.c += x * x;
    } else {
      p.a += x * x; // NaN too
    }
  }
  DEV void join(Part& p, const Part& q) {
    p.a += q.a;
    p.b += q.b;
    p.c += q.c;
  }
  DEV double result(const Part& p, i64) {
    if (p.a != p.a) return p.a;
    if (p.b > 0) return root(p.b + p.a * 0x1p-700 * 0x1p-700) * 0x1p700;
    if (p.c > 0) return p.a > 0x1p-800
        ? root(p.a + p.c * 0x1p-600 * 0x1p-600) : root(p.c + p.a * 0x1p600 * 0x1p600) * 0x1p-600;
    return root(p.a);
  }
};

template <class T> struct Greatest {
  DEV Part empty() { return {-Real<double>::inf, 0, 0}; }
  DEV void term(Part& p, double x) {
    if (x > p.a || x != x) p.a = x;
  }
  DEV void take(Part& p, T x) { term(p, (double)x); }
  DEV void join(Part& p, const Part& q) { term(p, q.a); }
  DEV double result(const Part& p, i64) { return p.a; }
};

// LogSum is log Σ eˣ: a is the largest x so far, b = Σ e^(x−a). Equal arguments, infinities among
// them, count 1.
template <class T> struct LogSum {
  DEV Part empty() { return {-Real<double>::inf, 0, 0}; }
  DEV void take(Part& p, T x) {
    T a = (T)p.a;
    if (x == a) p.b += 1;
    else if (x > a) {
      p.b = p.b * (double)exp_(a - x) + 1;
      p.a = (double)x;
    } else p.b += (double)exp_(x - a);
  }
  DEV void join(Part& p, const Part& q) {
    if (q.a == p.a) p.b += q.b;
    else if (q.a > p.a) {
      p.b = p.b * exp_(p.a - q.a) + q.b;
      p.a = q.a;
    } else p.b += q.b * exp_(q.a - p.a);
  }
  DEV double result(const Part& p, i64) { return p.a + log_(p.b); }
};

template <class F, class T, bool dot>
DEV void reduce(Out<T> y, Out<Part> parts, Arg<T> x, Arg<T> x2, const Job& job) {
  auto take = [&](Part& p, i64, i64 at, i64, bool) __attribute__((always_inline)) {
    if constexpr (dot) F::term(p, (double)x[at] * (double)x2[at]);
    else F::take(p, x[at]);
  };
  reduce_parts(parts, job, F::empty(), take, [](Part&, i64) {}, [](Part& p,
      const Part& q) __attribute__((always_inline)) { F::join(p, q); },
      [&](i64 o, const Part& p) { y[o] = (T)F::result(p, job.over.len); });
}

// finish joins the splits, a thread an output.
template <class F, class T> DEV void finish(Out<T> y, In<Part> parts, i64 outs, i64 splits, i64 count) {
  finish_parts(parts, outs, splits, F::empty(), [](Part& p, const Part& q) { F::join(p, q); },
      [&](i64 o, const Part& p) { y[o] = (T)F::result(p, count); });
}

#define REDUCTION(name, F, S, T)                                                                     \
  KERNEL BOUNDS(256) name##_##S(Out<T> y, Out<Part> parts, Arg<T> x, Job job) {                      \
    reduce<F<T>, T, false>(y, parts, x, x, job);                                                     \
  }                                                                                                  \
  KERNEL BOUNDS(128) name##_finish_##S(Out<T> y, In<Part> parts, i64 outs, i64 splits, i64 count) {  \
    finish<F<T>, T>(y, parts, outs, splits, count);                                                  \
  }
#define MAKE(S, T)                                                                                   \
  REDUCTION(sum, Total, S, T)                                                                        \
  REDUCTION(mean, Average, S, T)                                                                     \
  REDUCTION(squares, Squares, S, T)                                                                  \
  REDUCTION(norm, Length, S, T)                                                                      \
  REDUCTION(largest, Greatest, S, T)                                                                 \
  REDUCTION(logsumexp, LogSum, S, T)                                                                 \
  KERNEL BOUNDS(256) dot_##S(Out<T> y, Out<Part> parts, Arg<T> x, Arg<T> x2, Job job) {              \
    reduce<Total<T>, T, true>(y, parts, x, x2, job);                                                 \
  }
FLOATS(MAKE)
#undef MAKE
