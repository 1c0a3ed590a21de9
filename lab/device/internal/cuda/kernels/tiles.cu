// Costs between points of any dimension, and weights of plans made of them, in tiles of 64×64
// pairs: a block of 256 threads stages slices of 16 coordinates, a thread holds the distances of
// 4×4 pairs. For points of more coordinates than the kernels of point_lse.cu and point_sum.cu have
// registers for, a chunk of rows is written here and handed to the kernels for costs that are held,
// or to a matrix product. 2 operations a pair and coordinate (subtract, multiply-add) for 8/16
// words from shared memory: bound by arithmetic. Where such tiles would leave most multiprocessors
// idle, tiles are 16×16 and a thread has one pair.
#include "transport.h"

// What is written of a pair: the cost, P, P·cost, or P·(1 + r_i + s_j − cost/ε), without 1 − cost/ε
// when linear.
enum Pair { COSTS, PLAN, PLAN_COST, BRACKET, LINEAR };

// Slice is 16 coordinates, or weights, of the 64 rows or columns of a tile.
constexpr int SLICE = 16, SIDE = 64, PITCH = SIDE + 4;
template <class T> using Slice = T (&)[SLICE][PITCH];

template <class T, int PER, bool L1>
DEV void pairs(Out<T> w, In<T> x, In<T> y, In<T> u, In<T> h, In<T> r, In<T> s, i64 n, i64 m, i64 d, const Cost& c,
    i32 what,
    T (&sx)[SLICE][16 * PER + 4], T (&sy)[SLICE][16 * PER + 4]) {
  constexpr int SIDE = 16 * PER;
  Score<T, L1> score = Score<T, L1>::of(c);
  u32 tr = tid() / 16 * PER, tc = tid() % 16 * PER;
  i64 j0 = (i64)bidx() * SIDE;
  for (i64 i0 = (i64)bidy() * SIDE; i0 < n; i0 += (i64)blocksy() * SIDE) {
    T sq[PER][PER], ab[PER][PER];
    UNROLL
    for (int a = 0; a < PER; a++)
      UNROLL
      for (int b = 0; b < PER; b++) sq[a][b] = ab[a][b] = 0;
    for (i64 k0 = 0; k0 < d; k0 += SLICE) {
      barrier();
      UNROLL
      for (u32 e = 0; e < SLICE * SIDE / 256; e++) {
        u32 at = tid() + e * 256, k = at % SLICE, p = at / SLICE;
        bool in = k0 + k < d;
        sx[k][p] = in && i0 + p < n ? x[(i0 + p) * d + k0 + k] : (T)0;
        sy[k][p] = in && j0 + p < m ? y[(j0 + p) * d + k0 + k] : (T)0;
      }
      barrier();
      UNROLL
      for (int k = 0; k < SLICE; k++) {
        T px[PER], py[PER];
        copy_run<PER>(px, &sx[k][tr]);
        copy_run<PER>(py, &sy[k][tc]);
        UNROLL
        for (int a = 0; a < PER; a++)
          UNROLL
          for (int b = 0; b < PER; b++) {
            T diff = px[a] - py[b];
            sq[a][b] = mad(diff, diff, sq[a][b]);
            if (L1) ab[a][b] += absolute(diff);
          }
      }
    }
    UNROLL
    for (int a = 0; a < PER; a++)
      UNROLL
      for (int b = 0; b < PER; b++) {
        i64 i = i0 + tr + a, j = j0 + tc + b;
        if (i >= n || j >= m) continue;
        T cost = score.cost(sq[a][b], ab[a][b]), v = cost;
        if (what != COSTS) {
          v = ex2(score.less((u[i] + h[j]) * (T)log2e, sq[a][b], ab[a][b]));
          if (what == PLAN_COST) v = v > 0 ? v * cost : 0;
          if (what >= BRACKET) {
            T bracket = r[i] + s[j];
            if (what == BRACKET) bracket = mad(-cost, score.inv, 1 + bracket);
            v = v > 0 ? v * bracket : 0;
          }
        }
        w[i * m + j] = v;
      }
  }
}

// differences is grad_ik = Σ_j w_ij·∂c(x_i, y_j)/∂x_ik: a matrix product whose second factor is a
// difference, which is taken before it is weighed, so that nothing cancels. Tiles of 64 rows and 64
// coordinates, 3 operations a term.
template <class T, bool L1>
DEV void differences(Out<T> grad, In<T> w, In<T> x, In<T> y, i64 n, i64 m, i64 d, const Cost& c, Slice<T> sw,
    Slice<T> sy) {
  Score<T, L1> score = Score<T, L1>::of(c);
  u32 tr = tid() / 16 * 4, tc = tid() % 16 * 4;
  i64 k0 = (i64)bidx() * SIDE;
  for (i64 i0 = (i64)bidy() * SIDE; i0 < n; i0 += (i64)blocksy() * SIDE) {
    T sum[4][4], px[4][4];
    UNROLL
    for (int a = 0; a < 4; a++)
      UNROLL
      for (int b = 0; b < 4; b++) {
        i64 i = i0 + tr + a, k = k0 + tc + b;
        px[a][b] = i < n && k < d ? x[i * d + k] : (T)0;
        sum[a][b] = 0;
      }
    for (i64 j0 = 0; j0 < m; j0 += SLICE) {
      barrier();
      UNROLL
      for (u32 e = 0; e < SLICE * SIDE / 256; e++) {
        u32 at = tid() + e * 256;
        u32 jw = at % SLICE, i = at / SLICE, k = at % SIDE, jy = at / SIDE;
        sw[jw][i] = i0 + i < n && j0 + jw < m ? w[(i0 + i) * m + j0 + jw] : (T)0;
        sy[jy][k] = k0 + k < d && j0 + jy < m ? y[(j0 + jy) * d + k0 + k] : (T)0;
      }
      barrier();
      _Pragma("unroll 4")
      for (int j = 0; j < SLICE; j++) {
        T pw[4], py[4];
        copy_run<4>(pw, &sw[j][tr]);
        copy_run<4>(py, &sy[j][tc]);
        UNROLL
        for (int a = 0; a < 4; a++)
          UNROLL
          for (int b = 0; b < 4; b++) sum[a][b] = mad(pw[a], score.slope(px[a][b] - py[b]), sum[a][b]);
      }
    }
    UNROLL
    for (int a = 0; a < 4; a++)
      UNROLL
      for (int b = 0; b < 4; b++) {
        i64 i = i0 + tr + a, k = k0 + tc + b;
        if (i < n && k < d) grad[i * d + k] = sum[a][b];
      }
  }
}

#define PAIRS(S, T, PER, name)                                                                                        \
  KERNEL BOUNDS(256, sizeof(T) == 4 ? 2 : 1) name##S(Out<T> w, In<T> x, In<T> y, In<T> u, In<T> h, In<T> r, In<T> s,  \
      i64 n, i64 m, i64 d, Cost c, i32 what) {                                                                        \
    SHARED(T, sx, [SLICE][16 * PER + 4]);                                                                             \
    SHARED(T, sy, [SLICE][16 * PER + 4]);                                                                             \
    if (c.abs == 0) pairs<T, PER, false>(w, x, y, u, h, r, s, n, m, d, c, what, sx, sy);                              \
    else pairs<T, PER, true>(w, x, y, u, h, r, s, n, m, d, c, what, sx, sy);                                          \
  }
#define MAKE(S, T)                                                                                                    \
  PAIRS(S, T, 4, pairs_)                                                                                              \
  PAIRS(S, T, 1, pairs_small_)                                                                                        \
  KERNEL BOUNDS(256, sizeof(T) == 4 ? 2 : 1)                                                                          \
  differences_##S(Out<T> grad, In<T> w, In<T> x, In<T> y, i64 n, i64 m, i64 d, Cost c) {                              \
    SHARED(T, sw, [SLICE][PITCH]);                                                                                    \
    SHARED(T, sy, [SLICE][PITCH]);                                                                                    \
    if (c.abs == 0) differences<T, false>(grad, w, x, y, n, m, d, c, sw, sy);                                         \
    else differences<T, true>(grad, w, x, y, n, m, d, c, sw, sy);                                                     \
  }
FLOATS(MAKE)
#undef MAKE
#undef PAIRS
