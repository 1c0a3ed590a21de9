// Broadcasting: where an element of a tensor lies in tensors of fewer or permuted axes.
#pragma once
#include "common.h"

// Axes is up to six axes and, for up to three tensors, how many elements apart the indices of each
// axis are (0 for an axis that is broadcast). Mirrored by the Go type axes. wide is set when a flat
// index needs 31 bits or more; only then are there divisions of 64 bits.
struct Axes {
  i64 len;
  i32 rank, wide;
  i64 size[6];
  i64 step[3][6];
  Div div[6];
};

// place is where the element with the given flat index lies in each of N tensors.
template <int N> DEV void place(const Axes& a, i64 flat, i64 (&at)[N]) {
  UNROLL
  for (int t = 0; t < N; t++) at[t] = 0;
  if (a.wide) {
    NOUNROLL
    for (int k = a.rank - 1; k > 0; k--) {
      i64 up = flat / a.size[k], here = flat - up * a.size[k];
      UNROLL
      for (int t = 0; t < N; t++) at[t] += here * a.step[t][k];
      flat = up;
    }
  } else {
    NOUNROLL
    for (int k = a.rank - 1; k > 0; k--) {
      u32 here = (u32)flat;
      flat = split(here, a.div[k]);
      UNROLL
      for (int t = 0; t < N; t++) at[t] += here * a.step[t][k];
    }
  }
  UNROLL
  for (int t = 0; t < N; t++) at[t] += flat * a.step[t][0];
}
