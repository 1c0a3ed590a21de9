// Log-sum-exp and sums over plans whose costs are made on the way: P_ij = exp(u_i + h_j − c(x_i, y_j)/ε).
//
// A thread holds ROWS points x_i in registers; the block stages TILE points y_j with their h_j in shared memory, where all
// threads read the same words. Points of fewer than D coordinates are padded with zeros. With few rows the columns are
// split over blockIdx.y and joined by point_join or point_sum.
//
// Work of a pair at dimension d, square cost: 2d operations for the distance (subtract, multiply-add), 1 for the score,
// 1 for the largest, 2 for the sum, and one special-function operation. An SM does 128 float32 operations or 16
// exponentials a cycle: the exponential is the limit while 2d + 4 ≤ 8, that is to d = 2, the arithmetic from d = 3 on
// (2d + 4)/128 cycles. Log-sum-exps in float32 at d ≥ 4 take products, d operations for the distance (by_products). |x|₁ adds 1
// operation a coordinate. Memory: n·d + n·m/(128·ROWS)·(d + 1) words, the second from
// the cache. Sums over plans cost 2 operations more for each column of v, gradients 3 for each coordinate.
#pragma once
#include "transport.h"

constexpr int BLOCK = 128;

// pitch is words of a staged point: its coordinates, then h, s and v where there are, in runs of 16 bytes.
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
