// Matrix products where there is no cuBLAS: c = alpha·op(a)·op(b) + beta·c, row-major. A block of 256 threads makes a
// tile of c from slices of a and b in shared memory, each thread TM×TN elements in registers; the next slice is
// fetched into registers while this one is multiplied. Long products of few tiles are split along k and joined in a
// fixed order by gemm_join.
//
// Operations: 2·m·n·k. In shared memory a thread reads TM + TN words for TM·TN multiply-adds: 16 for 64 with the big
// float32 tile, so the arithmetic units are the limit, not shared memory. From memory, (m·n·k/BN + m·n·k/BM)·size
// bytes, most of them from the cache.
#include "common.h"

// Product is sizes, row lengths and distances between the matrices of a batch. Mirrored by the Go type product.
struct Product {
  i64 m, n, k, lda, ldb, ldc, step_a, step_b, step_c;
  i64 chunk;  // of k, for a split
  i32 trans_a, trans_b, splits, batch;
  Div tiles_n;
  double alpha, beta;
};

// fetch reads a slice of rows×BK of op(x) into registers: element (r, l) is x[r·ld + l], or x[l·ld + r] for a
// transpose; neighbouring threads read neighbouring addresses.
template <class T, int ROWS, int BK, int EACH_, int COUNT>
DEV void fetch(T (&held)[COUNT], Arg<T> x, i64 ld, bool turned, i64 r0, i64 l0, i64 rows, i64 depth) {
  UNROLL
  for (int e = 0; e < COUNT; e++) {
    u32 at = tid() + e * 256;
    u32 r = turned ? at % ROWS : at / BK, l = turned ? at / ROWS : at % BK;
    i64 row = r0 + r, deep = l0 + l;
    held[e] = row < rows && deep < depth ? x[turned ? deep * ld + row : row * ld + deep] : (T)0;
  }
}
template <class T, int ROWS, int BK, int PITCH, int COUNT>
DEV void stow(T (&slice)[BK][PITCH], const T (&held)[COUNT], bool turned) {
  UNROLL
  for (int e = 0; e < COUNT; e++) {
    u32 at = tid() + e * 256;
    u32 r = turned ? at % ROWS : at / BK, l = turned ? at / ROWS : at % BK;
    slice[l][r] = held[e];
  }
}

template <class T, int BM, int BN, int BK, int TM, int TN>
DEV void gemm(Out<T> c, Arg<T> a, Arg<T> b, Out<T> parts, const Product& g) {
  constexpr int across = BN / TN, vm = TM < 4 ? TM : 4, vn = TN < 4 ? TN : 4; // rows and columns come in runs of 4
  static_assert((BM / TM) * across == 256, "256 threads");
  SHARED(T, sa, [BK][BM + 4]);
  SHARED(T, sb, [BK][BN + 4]);
  u32 tile_n = bidx(), tile_m = split(tile_n, g.tiles_n);
  i64 m0 = (i64)tile_m * BM, n0 = (i64)tile_n * BN;
  u32 tm = tid() / across, tn = tid() % across;
  for (i64 job = bidz(); job < (i64)g.batch * g.splits; job += blocksz()) {
    i64 batch = (u32)job / (u32)g.splits, part = job - batch * g.splits;
    Arg<T> pa = a + batch * g.step_a;
    Arg<T> pb = b + batch * g.step_b;
    i64 k0 = part * g.chunk, k1 = smaller(k0 + g.chunk, g.k);
    T ra[BM * BK / 256], rb[BN * BK / 256], acc[TM][TN];
    UNROLL
    for (int i = 0; i < TM; i++)
      UNROLL
      for (int j = 0; j < TN; j++) acc[i][j] = 0;
    fetch<T, BM, BK, 256>(ra, pa, g.lda, g.trans_a, m0, k0, g.m, k1);
    fetch<T, BN, BK, 256>(rb, pb, g.ldb, !g.trans_b, n0, k0, g.n, k1);
    for (i64 l0 = k0; l0 < k1; l0 += BK) {
      barrier();
      stow<T, BM, BK>(sa, ra, g.trans_a);
      stow<T, BN, BK>(sb, rb, !g.trans_b);
      barrier();
      if (l0 + BK < k1) {
        fetch<T, BM, BK, 256>(ra, pa, g.lda, g.trans_a, m0, l0 + BK, g.m, k1);
        fetch<T, BN, BK, 256>(rb, pb, g.ldb, !g.trans_b, n0, l0 + BK, g.n, k1);
      }
      UNROLL
      for (int l = 0; l < BK; l++) {
        T va[TM], vb[TN];
        UNROLL
        for (int i = 0; i < TM; i += vm) copy_run<vm>(va + i, &sa[l][i / vm * (BM / TM * vm) + tm * vm]);
        UNROLL
        for (int j = 0; j < TN; j += vn) copy_run<vn>(vb + j, &sb[l][j / vn * (across * vn) + tn * vn]);
        UNROLL
        for (int i = 0; i < TM; i++)
          UNROLL
          for (int j = 0; j < TN; j++) acc[i][j] = mad(va[i], vb[j], acc[i][j]);
      }
    }
    T alpha = (T)g.alpha, beta = (T)g.beta;
    UNROLL
    for (int i = 0; i < TM; i++) {
      i64 row = m0 + i / vm * (BM / TM * vm) + tm * vm + i % vm;
      UNROLL
      for (int j = 0; j < TN; j++) {
        i64 col = n0 + j / vn * (across * vn) + tn * vn + j % vn;
        if (row >= g.m || col >= g.n) continue;
        if (g.splits > 1) {
          parts[(job * g.m + row) * g.n + col] = acc[i][j];
        } else {
          i64 at = batch * g.step_c + row * g.ldc + col;
          c[at] = beta == 0 ? alpha * acc[i][j] : mad(alpha, acc[i][j], beta * c[at]);
        }
      }
    }
  }
}

// join adds the splits of each element, first to last.
template <class T> DEV void join(Out<T> c, In<T> parts, i64 batch, i64 each, i64 splits, double alpha, double beta) {
  T al = (T)alpha, be = (T)beta;
  for (i64 g = bidy(); g < batch; g += blocksy())
    EACH(i, each) {
      T sum = 0;
      for (i64 s = 0; s < splits; s++) sum += parts[(g * splits + s) * each + i];
      i64 at = g * each + i;
      c[at] = be == 0 ? al * sum : mad(al, sum, be * c[at]);
    }
}

KERNEL BOUNDS(256) gemm_big_f32(Out<float> c, Arg<float> a, Arg<float> b, Out<float> parts, Product g) {
  gemm<float, 128, 128, 16, 8, 8>(c, a, b, parts, g);
}
EXPORT(gemm_big_f32)
KERNEL BOUNDS(256) gemm_small_f32(Out<float> c, Arg<float> a, Arg<float> b, Out<float> parts, Product g) {
  gemm<float, 64, 64, 16, 4, 4>(c, a, b, parts, g);
}
EXPORT(gemm_small_f32)
KERNEL BOUNDS(256) gemm_big_f64(Out<double> c, Arg<double> a, Arg<double> b, Out<double> parts, Product g) {
  gemm<double, 64, 64, 16, 4, 4>(c, a, b, parts, g);
}
EXPORT(gemm_big_f64)
KERNEL BOUNDS(256) gemm_small_f64(Out<double> c, Arg<double> a, Arg<double> b, Out<double> parts, Product g) {
  gemm<double, 32, 32, 16, 2, 2>(c, a, b, parts, g);
}
EXPORT(gemm_small_f64)
#define MAKE(S, T)                                                                                                    \
  KERNEL BOUNDS(256) gemm_join_##S(Out<T> c, In<T> parts, i64 batch, i64 each, i64 splits, double al, double be) {    \
    join<T>(c, parts, batch, each, splits, al, be);                                                                   \
  }                                                                                                                   \
  EXPORT(gemm_join_##S)
FLOATS(MAKE)
#undef MAKE
