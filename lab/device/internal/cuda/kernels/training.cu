// Losses, clipping and steps of optimisers. Optimisers are bound by memory: Adam reads 4 and writes 3 elements a
// parameter (28 bytes in float32), SGD 3 and 2, EMA 2 and 1.
#include "numeric.h"
#include "fault.h"

constexpr u32 wide = 128; // threads of a row

// join_row adds a number of each thread in a fixed order, and gives everybody the sum.
DEV double join_row(double v, double* held) {
  held[tid()] = v;
  for (u32 half = wide / 2; half > 0; half /= 2) {
    barrier();
    if (tid() < half) held[tid()] += held[tid() + half];
  }
  barrier();
  v = held[0];
  barrier();
  return v;
}
DEV double top_row(double v, double* held) {
  held[tid()] = v;
  for (u32 half = wide / 2; half > 0; half /= 2) {
    barrier();
    if (tid() < half) {
      double o = held[tid() + half];
      if (o > held[tid()] || o != o) held[tid()] = o;
    }
  }
  barrier();
  v = held[0];
  barrier();
  return v;
}

// cross_entropy: a block a row. Floor: logits read once from memory (three times from the cache), grad written once.
template <class T>
DEV void cross_entropy(Out<T> loss, Out<T> grad, Arg<T> x, In<i32> labels, Out<Fault> fault, i64 rows, i64 k) {
  SHARED(double, held, [wide]);
  for (i64 i = bidx(); i < rows; i += blocksx()) {
    i32 label = labels[i];
    bool bad = label < 0 || label >= k;
    if (bad && tid() == 0) tell(fault, 2, label, i);
    double top = -Real<double>::inf, sum = 0;
    for (i64 j = tid(); j < k; j += wide) {
      double v = x[i * k + j];
      if (v > top || v != v) top = v;
    }
    top = top_row(top, held);
    for (i64 j = tid(); j < k; j += wide) sum += (double)exp_((T)((T)x[i * k + j] - (T)top));
    sum = join_row(sum, held);
    double own = bad ? 0 : (double)x[i * k + label];
    if (tid() == 0) loss[i] = (T)(top - own + log_(sum));
    barrier(); // grad may be x: all have read their own label's logit
    T over = (T)(1 / sum);
    for (i64 j = tid(); j < k; j += wide)
      grad[i * k + j] = exp_((T)((T)x[i * k + j] - (T)top)) * over - (j == label ? (T)1 : (T)0);
  }
}

// clip_rows: a block a row; x is read twice, the second time from the cache. The factor is rounded down so far that
// rounding the products cannot carry the norm past the bound by more than a few units in the last place.
template <class T> DEV void clip_rows(Out<T> y, Arg<T> x, i64 rows, i64 d, double bound) {
  SHARED(double, held, [wide]);
  for (i64 i = bidx(); i < rows; i += blocksx()) {
    double top = 0, sum = 0;
    if (sizeof(T) == 8) { // squares of float64 can leave the range
      for (i64 j = tid(); j < d; j += wide) {
        double v = absolute((double)x[i * d + j]);
        if (v > top || v != v) top = v;
      }
      top = top_row(top, held);
    }
    i32 e = 0;
    if (sizeof(T) == 8 && top > 0 && top <= Real<double>::most) e = (i32)(double_bits(top) >> 52) - 1023;
    e = e < -1000 ? -1000 : e > 1000 ? 1000 : e; // both powers are normal
    double down = power_of_two<double>(-e), up = power_of_two<double>(e);
    for (i64 j = tid(); j < d; j += wide) {
      double v = (double)x[i * d + j] * down;
      sum = mad(v, v, sum);
    }
    double norm = root(join_row(sum, held));
    bool over = !(norm * up <= bound); // NaN is over
    double by = bound / norm * (sizeof(T) == 8 ? 1 - 0x1p-50 : 1 - 0x1p-30), last = down;
    if (!(down < 1 && by <= 1)) by *= down, last = 1; // else by·down may be denormal
    for (i64 j = tid(); j < d; j += wide) y[i * d + j] = over ? (T)((double)x[i * d + j] * by * last) : (T)x[i * d + j];
  }
}

// adam_tick counts the step and leaves 1 − β^t of both moments. One thread.
KERNEL BOUNDS(32) adam_tick(Out<i32> t, Out<double> corrections, double beta1, double beta2) {
  if (tid() != 0) return;
  i32 step = t[0] + 1;
  t[0] = step;
  double p[2] = {1, 1}, b[2] = {beta1, beta2};
  for (u32 k = (u32)step; k; k >>= 1)
    for (int m = 0; m < 2; m++) {
      if (k & 1) p[m] *= b[m];
      b[m] *= b[m];
    }
  corrections[0] = 1 - p[0];
  corrections[1] = 1 - p[1];
}
EXPORT(adam_tick)

// Parts is arrays that one launch walks as one, in jobs of so many elements: part k has the jobs first[k] ≤ j <
// first[k + 1]. Addresses, not pointers, since structs of both worlds look alike. Mirrored by the Go type parts.
constexpr i32 most_parts = 64, part_job = 2048;
struct Parts {
  i32 count, first[most_parts + 1];
  i64 len[most_parts];
  u64 w[most_parts], g[most_parts], m[most_parts], v[most_parts];
};

// owner is the part that has a job.
DEV i32 owner(const Parts& p, i64 job) {
  i32 lo = 0, hi = p.count;
  while (hi - lo > 1) {
    i32 mid = (lo + hi) / 2;
    if (p.first[mid] <= job) lo = mid;
    else hi = mid;
  }
  return lo;
}

// adam: a block does jobs; the part of a job is the same for all its threads.
template <class T>
DEV void adam(const Parts& p, In<double> corrections, In<T> factor, double rate, double beta1, double beta2, double eps,
    double decay, i32 decoupled) {
  T b1 = (T)beta1, c1 = (T)(1 - beta1), b2 = (T)beta2, c2 = (T)(1 - beta2), l2 = decoupled ? 0 : (T)decay;
  rate *= (double)factor[0];
  T step = (T)(rate / corrections[0]), shrink = (T)(decoupled ? 1 - rate * decay : 1);
  T root2 = (T)(1 / root(corrections[1])), e = (T)eps;
  for (i64 job = bidx(); job < p.first[p.count]; job += blocksx()) {
    i32 k = owner(p, job);
    i64 from = (job - p.first[k]) * part_job, to = smaller(from + part_job, p.len[k]);
    Out<T> w = Out<T>((T*)p.w[k]), m = Out<T>((T*)p.m[k]), v = Out<T>((T*)p.v[k]);
    Arg<T> g = Arg<T>((const T*)p.g[k]);
    for (i64 i = from + tid(); i < to; i += threads()) {
      T x = w[i], d = mad(l2, x, (T)g[i]);
      T m1 = mad(b1, m[i], c1 * d), v1 = mad(b2, v[i], c2 * d * d);
      m[i] = m1;
      v[i] = v1;
      w[i] = shrink * x - step * m1 / mad(root(v1), root2, e);
    }
  }
}

#define MAKE(S, T)                                                                                                   \
  KERNEL BOUNDS(128)                                                                                                 \
  cross_entropy_##S(Out<T> loss, Out<T> grad, Arg<T> x, In<i32> labels, Out<Fault> fault, i64 rows, i64 k) {         \
    cross_entropy<T>(loss, grad, x, labels, fault, rows, k);                                                         \
  }                                                                                                                  \
  EXPORT(cross_entropy_##S)                                                                                          \
  KERNEL BOUNDS(128) clip_rows_##S(Out<T> y, Arg<T> x, i64 rows, i64 d, double bound) {                              \
    clip_rows<T>(y, x, rows, d, bound);                                                                              \
  }                                                                                                                  \
  EXPORT(clip_rows_##S)                                                                                              \
  KERNEL BOUNDS(256)                                                                                                 \
  adam_##S(Parts p, In<double> corrections, In<T> factor, double rate, double beta1, double beta2, double eps,       \
      double decay, i32 decoupled) {                                                                                 \
    adam<T>(p, corrections, factor, rate, beta1, beta2, eps, decay, decoupled);                                      \
  }                                                                                                                  \
  EXPORT(adam_##S)                                                                                                   \
  KERNEL BOUNDS(256)                                                                                                 \
  sgd_##S(Out<T> w, Arg<T> g, Out<T> momentum, In<T> factor, i64 n, double rate, double mu, double decay,            \
      i32 nesterov) {                                                                                                \
    T r = (T)(rate * (double)factor[0]), b = (T)mu, l2 = (T)decay;                                                   \
    EACH(i, n) {                                                                                                     \
      T x = w[i], d = mad(l2, x, (T)g[i]), m1 = mad(b, momentum[i], d);                                              \
      momentum[i] = m1;                                                                                              \
      w[i] = x - r * (nesterov ? mad(b, m1, d) : m1);                                                                \
    }                                                                                                                \
  }                                                                                                                  \
  EXPORT(sgd_##S)                                                                                                    \
  KERNEL BOUNDS(256) ema_##S(Out<T> avg, Arg<T> w, i64 n, double decay) {                                            \
    T a = (T)decay, b = (T)(1 - decay);                                                                              \
    EACH(i, n) avg[i] = mad(a, avg[i], b * (T)w[i]);                                                                 \
  }                                                                                                                  \
  EXPORT(ema_##S)
FLOATS(MAKE)
#undef MAKE
