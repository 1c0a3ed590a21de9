// Matrix products where there is no cuBLAS: c = alpha·op(a)·op(b) + beta·c, row-major. A block of
// 256 threads makes a tile of c from slices of a and b in shared memory, each thread TM×TN elements
// in registers; the next slice is fetched into registers while this one is multiplied. Long
// products of few tiles are split along k and joined in a fixed order by gemm_join.
//
// Operations: 2·m·n·k. In shared memory a thread reads TM + TN words for TM·TN multiply-adds: 16
// for 64 with the big float32 tile, so the arithmetic units are the limit, not shared memory. From
// memory, (m·n·k/BN + m·n·k/BM)·size bytes, most of them from the cache.
#include "common.h"

// Product is sizes, row lengths and distances between the matrices of a batch. Mirrored by the Go
// type product.
struct Product {
  i64 m, n, k, lda, ldb, ldc, step_a, step_b, step_c;
  i64 chunk;  // of k, for a split
  i32 trans_a, trans_b, splits, batch;
  Div tiles_n;
  double alpha, beta;
};

// Slices walks over slices of ROWS×BK of op(x): element (r, l) is x[r·ld + l], or x[l·ld + r] for a
// transpose. A thread has every 256th element, in the order in which neighbouring threads read
// neighbouring addresses, so that one element lies a constant step from the next: down the rows or,
// in a transpose, along them.
template <class T, int ROWS, int BK> struct Slices {
  static constexpr int COUNT = ROWS * BK / 256, PITCH = ROWS + 4;
  T held[COUNT];
  i64 at; // of the thread's first element
  i32 row, deep, down, along, rows;

  DEV Slices of(i64 ld, bool turned, i64 r0, i64 l0, i64 rows) {
    Slices s;
    s.row = turned ? tid() % ROWS : tid() / BK, s.deep = turned ? tid() / ROWS : tid() % BK;
    s.down = turned ? 0 : 256 / BK, s.along = turned ? 256 / ROWS : 0;
    s.rows = (i32)smaller(rows - r0, (i64)ROWS);
    s.at = turned ? (l0 + s.deep) * ld + r0 + s.row : (r0 + s.row) * ld + l0 + s.deep;
    return s;
  }
  // fetch reads the slice, of which depth columns are there, and moves on.
  __attribute__((always_inline)) DEVICE void fetch(Arg<T> x, i64 ld, i64 left) {
    i32 depth = (i32)smaller(left, (i64)BK);
    i64 step = (down + along) * ld;
    UNROLL
    for (int e = 0; e < COUNT; e++)
      held[e] = row + e * down < rows && deep + e * along < depth ? x[at + e * step] : (T)0;
    at += along ? BK * ld : BK;
  }
  __attribute__((always_inline)) DEVICE void stow(T* slice) const {
    UNROLL
    for (int e = 0; e < COUNT; e++) slice[deep * PITCH + row + e * (along * PITCH + down)] = held[e];
  }
};

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
    Slices<T, BM, BK> ra = Slices<T, BM, BK>::of(g.lda, g.trans_a, m0, k0, g.m);
    Slices<T, BN, BK> rb = Slices<T, BN, BK>::of(g.ldb, !g.trans_b, n0, k0, g.n);
    T acc[TM][TN];
    UNROLL
    for (int i = 0; i < TM; i++)
      UNROLL
      for (int j = 0; j < TN; j++) acc[i][j] = 0;
    i64 left = k1 - k0;
    ra.fetch(pa, g.lda, left);
    rb.fetch(pb, g.ldb, left);
    NOUNROLL
    for (; left > 0; left -= BK) {
      barrier();
      ra.stow(&sa[0][0]);
      rb.stow(&sb[0][0]);
      barrier();
      if (left > BK) {
        ra.fetch(pa, g.lda, left - BK);
        rb.fetch(pb, g.ldb, left - BK);
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
    // Else what follows is computed before the products, and has no registers there.
    asm volatile("" : "+r"(tm), "+r"(tn));
    bool part_of = g.splits > 1; // what gemm_join scales
    T alpha = part_of ? (T)1 : (T)g.alpha, beta = part_of ? (T)0 : (T)g.beta;
    Out<T> to = part_of ? parts + (job * g.m + m0) * g.n + n0 : c + (batch * g.step_c + m0 * g.ldc + n0);
    i64 ld = part_of ? g.n : g.ldc;
    i32 rows = (i32)smaller(g.m - m0, (i64)BM), cols = (i32)smaller(g.n - n0, (i64)BN);
    to = to + ((i64)tm * vm * ld + tn * vn);
    rows -= tm * vm, cols -= tn * vn;
    UNROLL
    for (int i = 0; i < TM; i++) {
      i32 row = i / vm * (BM / TM * vm) + i % vm;
      UNROLL
      for (int j = 0; j < TN; j++) {
        i32 col = j / vn * (across * vn) + j % vn;
        if (row < rows && col < cols) to[col] = beta == 0 ? alpha * acc[i][j] : mad(alpha, acc[i][j], beta * to[col]);
      }
      to = to + (i % vm == vm - 1 ? (BM / TM * vm - vm + 1) * ld : ld);
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

KERNEL BOUNDS(256, 2) gemm_big_f32(Out<float> c, Arg<float> a, Arg<float> b, Out<float> parts, Product g) {
  gemm<float, 128, 128, 8, 8, 8>(c, a, b, parts, g);
}
KERNEL BOUNDS(256, 4) gemm_small_f32(Out<float> c, Arg<float> a, Arg<float> b, Out<float> parts, Product g) {
  gemm<float, 64, 64, 8, 4, 4>(c, a, b, parts, g);
}
KERNEL BOUNDS(256, 2) gemm_big_f64(Out<double> c, Arg<double> a, Arg<double> b, Out<double> parts, Product g) {
  gemm<double, 64, 64, 16, 4, 4>(c, a, b, parts, g);
}
KERNEL BOUNDS(256, 4) gemm_small_f64(Out<double> c, Arg<double> a, Arg<double> b, Out<double> parts, Product g) {
  gemm<double, 32, 32, 16, 2, 2>(c, a, b, parts, g);
}
#define MAKE(S, T)                                                                                                    \
  KERNEL BOUNDS(256) gemm_join_##S(Out<T> c, In<T> parts, i64 batch, i64 each, i64 splits, double al, double be) {    \
    join<T>(c, parts, batch, each, splits, al, be);                                                                   \
  }
FLOATS(MAKE)
#undef MAKE
