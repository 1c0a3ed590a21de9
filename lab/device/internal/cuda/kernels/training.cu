// Losses, clipping and steps of optimisers. Optimisers are bound by memory: Adam reads 4 and writes
// 3 elements a parameter (28 bytes in float32), SGD 3 and 2, EMA 2 and 1.
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

// cross_entropy: a block a row. Floor: logits read once from memory (three times from the cache),
// grad written once.
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
    double own = bad ? 0 : (double)x[i * k + label]; // before grad, which may be x, is written
    sum = join_row(sum, held);
    if (tid() == 0) loss[i] = (T)(top - own + log_(sum));
    T over = (T)(1 / sum);
    for (i64 j = tid(); j < k; j += wide)
      grad[i * k + j] = exp_((T)((T)x[i * k + j] - (T)top)) * over - (j == label ? (T)1 : (T)0);
  }
}

// clip_rows: a block a row; x is read twice, the second time from the cache. The factor is rounded
// down so far that rounding the products cannot carry the norm past the bound by more than a few
// units in the last place.
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

// tick counts the step, where there is a count, and leaves 1 − β^t of both moments and the factor
// of the gradients, whose squares are in n sums. One block.
KERNEL BOUNDS(128)
tick(Out<i32> t, i32 counts, Out<double> constants, double beta1, double beta2, Arg<double> sums, i64 n, double clip) {
  SHARED(double, held, [wide]);
  double sum = 0;
  for (i64 i = tid(); i < n; i += wide) sum += sums[i];
  sum = join_row(sum, held);
  if (tid() != 0) return;
  double by = clip / (root(sum) + 1e-6);
  constants[2] = clip > 0 && !(by >= 1) ? by : 1; // NaN is passed on
  if (!counts) return;
  i32 step = t[0] + 1;
  t[0] = step;
  double p[2] = {1, 1}, b[2] = {beta1, beta2};
  for (u32 k = (u32)step; k; k >>= 1)
    for (int m = 0; m < 2; m++) {
      if (k & 1) p[m] *= b[m];
      b[m] *= b[m];
    }
  constants[0] = 1 - p[0];
  constants[1] = 1 - p[1];
}

// Parts is arrays that one launch walks as one, in jobs of so many elements: part k has the jobs
// first[k] ≤ j < first[k + 1]. Addresses, not pointers, since structs of both worlds look alike.
// Mirrored by the Go type parts.
constexpr i32 most_parts = 64, part_job = 2048;
struct Parts {
  i32 count, first[most_parts + 1];
  i64 len[most_parts];
  u64 w[most_parts], g[most_parts], m[most_parts], v[most_parts], a[most_parts];
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

// Job is a run of elements of one part.
template <class T> struct Job {
  Out<T> w, m, v, a;
  Arg<T> g;
  i64 from, to;
};
template <class T> DEV Job<T> job_of(const Parts& p, i64 job) {
  i32 k = owner(p, job);
  i64 from = (job - p.first[k]) * part_job;
  return {Out<T>((T*)p.w[k]), Out<T>((T*)p.m[k]), Out<T>((T*)p.v[k]), Out<T>((T*)p.a[k]), Arg<T>((const T*)p.g[k]),
      from,
      smaller(from + part_job, p.len[k])};
}

// update_squares: a block sums those of a job's gradients.
template <class T> DEV void update_squares(const Parts& p, Out<double> sums, i64 at) {
  SHARED(double, held, [wide]);
  for (i64 job = bidx(); job < p.first[p.count]; job += blocksx()) {
    Job<T> j = job_of<T>(p, job);
    double sum = 0;
    for (i64 i = j.from + tid(); i < j.to; i += wide) sum = mad((double)j.g[i], (double)j.g[i], sum);
    sum = join_row(sum, held);
    if (tid() == 0) sums[at + job] = sum;
  }
}

// average moves that of w.
template <class T> DEV void average(Job<T>& j, i64 i, T w, T decay) {
  j.a[i] = mad(decay, j.a[i], (1 - decay) * w);
}

// adam: a block does jobs; the part of a job is the same for all its threads.
template <class T>
DEV void adam(const Parts& p, In<double> constants, In<T> factor, In<T> decays, i32 averages, double rate,
    double beta1, double beta2,
    double eps, double decay, i32 decoupled) {
  T b1 = (T)beta1, c1 = (T)(1 - beta1), b2 = (T)beta2, c2 = (T)(1 - beta2), l2 = decoupled ? 0 : (T)decay;
  rate *= (double)factor[0];
  T step = (T)(rate / constants[0]), shrink = (T)(decoupled ? 1 - rate * decay : 1);
  T root2 = (T)(1 / root(constants[1])), e = (T)eps, clip = (T)constants[2], keep = averages ? (T)decays[0] : (T)0;
  for (i64 job = bidx(); job < p.first[p.count]; job += blocksx()) {
    Job<T> j = job_of<T>(p, job);
    for (i64 i = j.from + tid(); i < j.to; i += threads()) {
      T x = j.w[i], d = mad(l2, x, clip * (T)j.g[i]);
      T m1 = mad(b1, j.m[i], c1 * d), v1 = mad(b2, j.v[i], c2 * d * d);
      j.m[i] = m1;
      j.v[i] = v1;
      j.w[i] = x = shrink * x - step * m1 / mad(root(v1), root2, e);
      if (averages) average(j, i, x, keep);
    }
  }
}

template <class T>
DEV void sgd(const Parts& p, In<double> constants, In<T> factor, In<T> decays, i32 averages, double rate,
    double mu, double decay,
    i32 nesterov) {
  T r = (T)(rate * (double)factor[0]), b = (T)mu, l2 = (T)decay, clip = (T)constants[2], keep = averages
      ? (T)decays[0] : (T)0;
  for (i64 job = bidx(); job < p.first[p.count]; job += blocksx()) {
    Job<T> j = job_of<T>(p, job);
    for (i64 i = j.from + tid(); i < j.to; i += threads()) {
      T x = j.w[i], d = mad(l2, x, clip * (T)j.g[i]), m1 = mad(b, j.m[i], d);
      j.m[i] = m1;
      j.w[i] = x -= r * (nesterov ? mad(b, m1, d) : m1);
      if (averages) average(j, i, x, keep);
    }
  }
}

#define MAKE(S, T) \
  KERNEL BOUNDS(128) \
  cross_entropy_##S(Out<T> loss, Out<T> grad, Arg<T> x, In<i32> labels, Out<Fault> fault, i64 rows, i64 k) { \
    cross_entropy<T>(loss, grad, x, labels, fault, rows, k); \
  } \
  KERNEL BOUNDS(128) clip_rows_##S(Out<T> y, Arg<T> x, i64 rows, i64 d, double bound) { \
    clip_rows<T>(y, x, rows, d, bound); \
  } \
  KERNEL BOUNDS(128) update_squares_##S(Parts p, Out<double> sums, i64 at) { update_squares<T>(p, sums, at); } \
  KERNEL BOUNDS(256) \
  adam_##S(Parts p, In<double> constants, In<T> factor, In<T> decays, i32 averages, double rate, double beta1, \
      double beta2, double eps, double decay, i32 decoupled) { \
    adam<T>(p, constants, factor, decays, averages, rate, beta1, beta2, eps, decay, decoupled); \
  } \
  KERNEL BOUNDS(256) \
  sgd_##S(Parts p, In<double> constants, In<T> factor, In<T> decays, i32 averages, double rate, double mu, \
      double decay, i32 nesterov) { \
    sgd<T>(p, constants, factor, decays, averages, rate, mu, decay, nesterov); \
  }
FLOATS(MAKE)
#undef MAKE
