// out_i = log Σ_j exp(h_j − c(x_i, y_j)/ε), matrix-free. Design, work and floor: points.h.
#include "points.h"

// tile is points that are staged at a time, pitch the words of one; scores are taken in runs of JU.
template <int D> constexpr int tile = D <= 8 ? 128 : 32;
template <class T, int D> constexpr int pitch = padded<T>(D + 1);
constexpr int JU = 8;

constexpr int BLOCK = 128;

template <class T, int D> DEV T norm2(const T (&x)[D]) {
  T sq = 0;
  UNROLL
  for (int k = 0; k < D; k++) sq = mad(x[k], x[k], sq);
  return sq;
}

// less_norms subtracts by·|y|² from the h of staged points; a few neighbouring threads share a
// point.
template <class T, int D> DEV void less_norms(T* held, T by) {
  constexpr int TILE = tile<D>, P = pitch<T, D>, LANES = BLOCK / TILE;
  T* y = held + tid() / LANES * P;
  T sq = 0;
  UNROLL
  for (int k = 0; k < D; k += LANES) {
    T v = y[k + tid() % LANES];
    sq = mad(v, v, sq);
  }
  UNROLL
  for (int mask = 1; mask < LANES; mask *= 2) sq += swap(sq, mask);
  if (tid() % LANES == 0) y[D] -= by * sq;
}

template <class T, int D, int ROWS, bool L1, bool PRODUCTS>
DEV void point_lse(Out<T> out, Out<T> tops, Out<T> sums, In<T> x, In<T> y, In<T> h, i64 n, i64 m, i32 d, i64 chunk,
    const Cost& c, T* held, T* centre) {
  constexpr int TILE = tile<D>, P = pitch<T, D>;
  Score<T, L1> score = Score<T, L1>::of(c);
  i64 i0 = (i64)bidx() * (BLOCK * ROWS) + tid();
  i64 from = (i64)bidy() * chunk, to = smaller(from + chunk, m);
  if constexpr (PRODUCTS) {
    middle<D>(centre, y, from, to, d);
    barrier();
  }
  T px[ROWS][D];
  UNROLL
  for (int r = 0; r < ROWS; r++) {
    load_row<T, D>(px[r], x, i0 + r * BLOCK, n, d);
    if (PRODUCTS) {
      UNROLL
      for (int k = 0; k < D; k++) px[r][k] = k < d ? 2 * score.square2 * (px[r][k] - centre[k]) : (T)0;
    }
  }
  Mass<T> part[ROWS], all[ROWS];
  T lost[ROWS];
  UNROLL
  for (int r = 0; r < ROWS; r++) part[r] = all[r] = nothing<T>(), lost[r] = 0;
  for (i64 j0 = from; j0 < to; j0 += TILE) {
    barrier();
    for (u32 t = tid(); t < TILE * P; t += BLOCK) {
      u32 j = t / P, k = t % P;
      bool in = j0 + j < to;
      T v = k == D ? -Real<T>::inf : (T)0;
      if (in && k == D) v = h[j0 + j] * (T)log2e;
      if (in && k < (u32)d) v = y[(j0 + j) * d + k] - (PRODUCTS ? centre[k] : (T)0);
      held[t] = v;
    }
    barrier();
    if (PRODUCTS) {
      less_norms<T, D>(held, score.square2);
      barrier();
    }
    int taken = (int)smaller(to - j0, (i64)TILE); // a short tile is not worth a whole one
    NOUNROLL
    for (int jj = 0; jj < taken; jj += JU) {
      T sc[ROWS][JU];
      UNROLL
      for (int u = 0; u < JU; u++) {
        T py[P];
        copy_run<P>(py, held + (jj + u) * P);
        UNROLL
        for (int r = 0; r < ROWS; r++) {
          if (PRODUCTS) {
            sc[r][u] = py[D];
            UNROLL
            for (int k = 0; k < D; k++) sc[r][u] = mad(px[r][k], py[k], sc[r][u]);
            continue;
          }
          T sq, ab;
          measure<T, D, L1>(px[r], py, sq, ab);
          sc[r][u] = score.less(py[D], sq, ab);
        }
      }
      UNROLL
      for (int r = 0; r < ROWS; r++) add(part[r], sc[r]);
    }
    UNROLL
    for (int r = 0; r < ROWS; r++) settle(all[r], lost[r], part[r]);
  }
  UNROLL
  for (int r = 0; r < ROWS; r++) {
    i64 i = i0 + r * BLOCK;
    if (i >= n) continue;
    if (PRODUCTS && score.square2 != 0) all[r].top -= norm2(px[r]) / (4 * score.square2);
    if (blocksy() == 1) {
      out[i] = result(all[r]);
    } else {
      tops[(i64)bidy() * n + i] = all[r].top;
      sums[(i64)bidy() * n + i] = all[r].sum;
    }
  }
}

// choose leaves the square cost in float32 beyond d = 8 to point_mma.cu; where products are taken:
// points.h.
template <class T, int D, int ROWS>
DEV void choose(Out<T> out, Out<T> tops, Out<T> sums, In<T> x, In<T> y, In<T> h, i64 n, i64 m, i32 d, i64 chunk,
    const Cost& c, T* held, T* centre) {
  constexpr bool narrow = sizeof(T) == 4;
  if (c.abs != 0) point_lse<T, D, ROWS, true, false>(out, tops, sums, x, y, h, n, m, d, chunk, c, held, centre);
  else if constexpr (narrow && D > 8) return;
  else if (narrow && D == 8 && d >= 7)
    point_lse<T, D, ROWS, false, narrow && D == 8>(out, tops, sums, x, y, h, n, m, d, chunk, c, held, centre);
  else point_lse<T, D, ROWS, false, false>(out, tops, sums, x, y, h, n, m, d, chunk, c, held, centre);
}

// What middle writes lies behind the tile.
template <class T, int D> constexpr int held_size = tile<D> * pitch<T, D> + (sizeof(T) == 4 && D == 8 ? D : 0);

#define NAMED(D, S) point_lse##D##_##S
#define LSE(S, T, D, ROWS)                                                                           \
  KERNEL BOUNDS(BLOCK, D == 3 ? 4 : D == 16 ? 3 : 0)                                                 \
  NAMED(D, S)(Out<T> out, Out<T> tops, Out<T> sums, In<T> x, In<T> y, In<T> h, i64 n,                \
      i64 m, i32 d, i64 chunk, Cost c) {                                                             \
    SHARED(T, held, [held_size<T, D>]);                                                                          \
    choose<T, D, ROWS>(out, tops, sums, x, y, h, n, m, d, chunk, c, held, held + tile<D> * pitch<T, D>); \
  }

// One module a dimension (DIM), so that the driver compiles what is used. The rows of a thread are
// as many as leave registers, since each word from shared memory serves all of them: mirrored by
// lseRowsOf of the Go side.
LSE(f32, float, DIM, DIM < 4 || DIM == 16 ? 4 : 2)
LSE(f64, double, DIM, DIM < 4 ? 2 : 1)
