// Log-sum-exp and sums over plans whose costs are made on the way: P_ij = exp(u_i + h_j − c(x_i,
// y_j)/ε).
//
// A thread holds ROWS points x_i in registers; the block stages TILE points y_j with their h_j in
// shared memory, where all threads read the same words. Points of fewer than D coordinates are
// padded with zeros. With few rows the columns are split over blockIdx.y and joined by point_join
// or point_sum.
//
// Work of a pair at dimension d, square cost: 2d operations for the distance (subtract,
// multiply-add), 1 for the score, 1 for the largest, 2 for the sum, and one special-function
// operation. An SM does 128 float32 operations or 16 exponentials a cycle: the exponential is the
// limit while 2d + 4 ≤ 8, that is to d = 2, the arithmetic from d = 3 on (2d + 4)/128 cycles. |x|₁
// adds 1 operation a coordinate. Memory: n·d + n·m/(128·ROWS)·(d + 1) words, the second from the
// cache. Sums over plans cost 2 operations more for each column of v, gradients 3 for each
// coordinate.
//
// In float32 |x−y|² is |x|² + |y|² − 2x·y where d is large enough: log-sum-exps at d = 7 and 8 in
// the lanes, from d = 9 on all by tensor cores (point_mma.cu). Its rounding is that of the squared
// distance to the middle of the clouds, in place of that of the cost: the fewer the dimensions, the
// nearer the nearest target is to a point, and the more that is.
#pragma once
#include "transport.h"


// pitch is words of a staged point: its coordinates, then h, s and v where there are, in runs of 16
// bytes.
template <class T> constexpr int padded(int words) { return (words * (int)sizeof(T) + 15) / 16 * 16 / (int)sizeof(T); }

// load_row reads a point, with zeros beyond its d coordinates.
template <class T, int D> DEV void load_row(T (&x)[D], In<T> from, i64 i, i64 n, i32 d) {
  UNROLL
  for (int k = 0; k < D; k++) x[k] = i < n && k < d ? from[i * d + k] : (T)0;
}

// measure is |x−y|² and, where it is asked for, |x−y|₁.
template <class T, int D, bool L1> DEV void measure(const T (&x)[D], const T* y, T& sq, T& ab) {
  sq = 0, ab = 0;
  UNROLL
  for (int k = 0; k < D; k++) {
    T diff = x[k] - y[k];
    sq = mad(diff, diff, sq);
    if (L1) ab += absolute(diff);
  }
}

// middle writes the mean of the first targets to centre, from which points are measured. Threads
// must wait after it.
template <int D> DEV void middle(float* centre, In<float> y, i64 from, i64 to, i32 d) {
  u32 k = tid();
  if (k >= D) return;
  i32 count = (i32)smaller(to - from, (i64)32);
  float sum = 0;
  if (k < (u32)d)
    for (i32 j = 0; j < count; j++) sum += y[(from + j) * d + k];
  float mean = sum / (float)count;
  centre[k] = absolute(mean) < Real<float>::inf ? mean : 0;
}

// settle adds the sum of a tile to what earlier tiles gave: all − lost, compensated (Kahan 1965).
template <class T> DEV void settle(T& all, T& lost, T& part) {
  T more = part - lost, total = all + more;
  lost = absolute(total) < Real<T>::inf ? (total - all) - more : 0;
  all = total;
  part = 0;
}
// Of log-sum-exps the largest may be another now.
template <class T> DEV void settle(Mass<T>& all, T& lost, Mass<T>& part) {
  if (part.top > all.top) {
    T by = ex2(all.top - part.top);
    all.sum *= by;
    lost *= by;
    all.top = part.top;
  }
  settle(all.sum, lost, part.sum);
}
