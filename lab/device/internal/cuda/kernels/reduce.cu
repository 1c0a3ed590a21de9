// Reductions over any axes. A block of 256 threads serves 256/lanes outputs with lanes threads each; long reductions
// are split over blockIdx.y as well, and a second kernel joins the parts. lanes and splits are functions of shapes, so
// the order of summation is. Floor: one read of x; the arithmetic (in float64, for float32 too) is below it except on
// GPUs whose float64 units are few.
#include "axes.h"
#include "numeric.h"

constexpr u32 width = 256;

// Part is what is known of a part of a reduction: up to three numbers.
struct Part {
  double a, b, c;
};

// Each reduction says what an empty part is, how an element and another part join it, and what the result is.

// Total is Σ x: plain for float32, whose error in float64 is below 2^-29 of Σ|x| to 2^24 elements a lane;
// Neumaier's compensated sum for float64.
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

// Length is √Σ x². Squares of float32 cannot leave the range of float64; for float64 there are three sums, of numbers
// that are small, middling and big, each scaled (Blue 1978).
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
    if (p.c > 0) return p.a > 0x1p-800 ? root(p.a + p.c * 0x1p-600 * 0x1p-600) : root(p.c + p.a * 0x1p600 * 0x1p600) * 0x1p-600;
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

// LogSum is log Σ eˣ: a is the largest x so far, b = Σ e^(x−a). Equal arguments, infinities among them, count 1.
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

// Job is where elements lie: kept axes in out, reduced axes in over, and how the work is cut.
struct Job {
  Axes out, over;
  i64 chunk;           // elements of a split
  i32 lanes, columns;  // columns: neighbours in x belong to neighbouring outputs
};

template <class F, class T, bool dot>
DEV void reduce(Out<T> y, Out<Part> parts, Arg<T> x, Arg<T> x2, const Job& job) {
  SHARED(Part, held, [width]);
  u32 lanes = (u32)job.lanes, outs = width / lanes;
  u32 lane = job.columns ? tid() / outs : tid() % lanes;
  u32 local = job.columns ? tid() % outs : tid() / lanes;
  i64 o = (i64)bidx() * outs + local;
  Part p = F::empty();
  if (o < job.out.len) {
    i64 base[1], off[1];
    place(job.out, o, base);
    i64 from = (i64)bidy() * job.chunk, to = smaller(from + job.chunk, job.over.len);
    for (i64 r = from + lane; r < to; r += lanes) {
      place(job.over, r, off);
      i64 at = base[0] + off[0];
      if constexpr (dot) F::term(p, (double)x[at] * (double)x2[at]);
      else F::take(p, x[at]);
    }
  }
  u32 me = lane * outs + local;
  held[me] = p;
  for (u32 half = lanes / 2; half > 0; half /= 2) {
    barrier();
    if (lane < half) F::join(held[me], held[me + half * outs]);
  }
  if (lane == 0 && o < job.out.len) {
    if (blocksy() == 1) y[o] = (T)F::result(held[me], job.over.len);
    else parts[(i64)bidy() * job.out.len + o] = held[me];
  }
}

// finish joins the splits, a thread an output.
template <class F, class T> DEV void finish(Out<T> y, In<Part> parts, i64 outs, i64 splits, i64 count) {
  EACH(o, outs) {
    Part p = F::empty();
    for (i64 s = 0; s < splits; s++) F::join(p, parts[s * outs + o]);
    y[o] = (T)F::result(p, count);
  }
}

#define REDUCTION(name, F, S, T)                                                                     \
  KERNEL BOUNDS(256) name##_##S(Out<T> y, Out<Part> parts, Arg<T> x, Job job) {                      \
    reduce<F<T>, T, false>(y, parts, x, x, job);                                                     \
  }                                                                                                  \
  EXPORT(name##_##S)                                                                                 \
  KERNEL BOUNDS(128) name##_finish_##S(Out<T> y, In<Part> parts, i64 outs, i64 splits, i64 count) {  \
    finish<F<T>, T>(y, parts, outs, splits, count);                                                  \
  }                                                                                                  \
  EXPORT(name##_finish_##S)
#define MAKE(S, T)                                                                                   \
  REDUCTION(sum, Total, S, T)                                                                        \
  REDUCTION(mean, Average, S, T)                                                                     \
  REDUCTION(squares, Squares, S, T)                                                                  \
  REDUCTION(norm, Length, S, T)                                                                      \
  REDUCTION(largest, Greatest, S, T)                                                                 \
  REDUCTION(logsumexp, LogSum, S, T)                                                                 \
  KERNEL BOUNDS(256) dot_##S(Out<T> y, Out<Part> parts, Arg<T> x, Arg<T> x2, Job job) {              \
    reduce<Total<T>, T, true>(y, parts, x, x2, job);                                                 \
  }                                                                                                  \
  EXPORT(dot_##S)
FLOATS(MAKE)
#undef MAKE
