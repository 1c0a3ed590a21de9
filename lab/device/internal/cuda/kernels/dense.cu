// Transport with costs that are held. Log-sum-exp reads each cost once: the floor is n·m words over
// the bandwidth of memory, since a score costs 4 operations and one exponential for 4 or 8 bytes.
// Problems of a batch are rows of one launch, so that thousands of small ones fill the GPU.
#include "transport.h"

// GROUP scores are taken at a time: one comparison with the largest so far for all of them.
constexpr int GROUP = 4;

// lse_rows gives LANES threads to a row; rows of a batch follow one another, h_j changes with the
// problem.
template <class T, int LANES>
DEV void lse_rows(Out<T> out, Out<T> tops, Out<T> sums, In<T> c, In<T> h, i64 rows, i64 n, i64 m, i64 chunk,
    double inv) {
  SHARED(T, tall, [256]);
  SHARED(T, heavy, [256]);
  u32 lane = tid() % LANES;
  i64 row = (i64)bidx() * (256 / LANES) + tid() / LANES;
  bool in = row < rows;
  Mass<T> mass = nothing<T>();
  if (in) {
    i64 base = row * m, hbase = (rows == n ? 0 : row / n) * m;
    i64 from = (i64)bidy() * chunk, to = smaller(from + chunk, m);
    T by = (T)(inv * log2e);
    i64 j = from + lane;
    for (; j + (GROUP - 1) * LANES < to; j += GROUP * LANES) {
      T score[GROUP];
      UNROLL
      for (int u = 0; u < GROUP; u++) score[u] = mad(-by, c[base + j + u * LANES], h[hbase + j + u * LANES] * (T)log2e);
      add(mass, score);
    }
    for (; j < to; j += LANES) {
      T score[1] = {mad(-by, c[base + j], h[hbase + j] * (T)log2e)};
      add(mass, score);
    }
  }
  if (LANES == 32) {
    UNROLL
    for (u32 mask = 16; mask > 0; mask /= 2) {
      Mass<T> other = {swap(mass.top, mask), swap(mass.sum, mask)};
      mass = both(mass, other);
    }
  } else {
    tall[tid()] = mass.top;
    heavy[tid()] = mass.sum;
    for (u32 half = LANES / 2; half > 0; half /= 2) {
      barrier();
      if (lane < half) {
        Mass<T> a = {tall[tid()], heavy[tid()]}, b = {tall[tid() + half], heavy[tid() + half]};
        a = both(a, b);
        tall[tid()] = a.top;
        heavy[tid()] = a.sum;
      }
    }
    if (lane == 0) mass = {tall[tid()], heavy[tid()]};
  }
  if (lane != 0 || !in) return;
  if (blocksy() == 1) {
    out[row] = result(mass);
  } else {
    tops[(i64)bidy() * rows + row] = mass.top;
    sums[(i64)bidy() * rows + row] = mass.sum;
  }
}

// lse_cols gives a thread to a column, blockIdx.y to a chunk of rows and blockIdx.z to problems.
template <class T>
DEV void lse_cols(Out<T> out, Out<T> tops, Out<T> sums, In<T> c, In<T> g, i64 batch, i64 n, i64 m, i64 chunk,
    double inv) {
  i64 j = (i64)bidx() * threads() + tid();
  if (j >= m) return;
  T by = (T)(inv * log2e);
  i64 from = (i64)bidy() * chunk, to = smaller(from + chunk, n);
  for (i64 b = bidz(); b < batch; b += blocksz()) {
    Mass<T> mass = nothing<T>();
    i64 i = from;
    for (; i + GROUP <= to; i += GROUP) {
      T score[GROUP];
      UNROLL
      for (int u = 0; u < GROUP; u++) score[u] = mad(-by, c[(b * n + i + u) * m + j], g[b * n + i + u] * (T)log2e);
      add(mass, score);
    }
    for (; i < to; i++) {
      T score[1] = {mad(-by, c[(b * n + i) * m + j], g[b * n + i] * (T)log2e)};
      add(mass, score);
    }
    if (blocksy() == 1) {
      out[b * m + j] = result(mass);
    } else {
      tops[((i64)bidy() * batch + b) * m + j] = mass.top;
      sums[((i64)bidy() * batch + b) * m + j] = mass.sum;
    }
  }
}

// lse_join joins the splits of n log-sum-exps, a block 32 rows, whose neighbours are read together:
// a warp takes each eighth split, all of them at once, and the warps meet twice. Of an empty split
// the sum is 0.
template <class T> DEV void lse_join(Out<T> out, In<T> tops, In<T> sums, i64 n, i64 splits) {
  SHARED(T, tall, [8][32]);
  SHARED(double, heavy, [8][32]);
  u32 lane = tid() % 32, warp = tid() / 32;
  for (i64 i0 = (i64)bidx() * 32; i0 < n; i0 += (i64)blocksx() * 32) {
    i64 i = smaller(i0 + lane, n - 1);
    T top = -Real<T>::most;
    for (i64 s = warp; s < splits; s += 8) top = larger(top, tops[s * n + i]);
    tall[warp][lane] = top;
    barrier();
    UNROLL
    for (int w = 0; w < 8; w++) top = larger(top, tall[w][lane]);
    double sum = 0;
    for (i64 s = warp; s < splits; s += 8) sum += (double)(sums[s * n + i] * ex2(tops[s * n + i] - top));
    heavy[warp][lane] = sum;
    barrier();
    if (warp != 0 || i0 + lane >= n) continue;
    UNROLL
    for (int w = 1; w < 8; w++) sum += heavy[w][lane];
    out[i] = (T)((double)top * ln2 + log_(sum));
  }
}

// weights writes P_ij = exp(u_i + h_j − c_ij·inv) of some rows.
template <class T> DEV void weights(Out<T> w, In<T> c, In<T> u, In<T> h, i64 rows, i64 m, double inv) {
  T by = (T)(inv * log2e);
  for (i64 i = bidy(); i < rows; i += blocksy()) {
    T pu = u[i] * (T)log2e;
    EACH(j, m) w[i * m + j] = ex2(mad(-by, c[i * m + j], mad(h[j], (T)log2e, pu)));
  }
}

// row_mass is Σ_j P_ij v_j, a block a row: PlanRows for one column of v.
template <class T> DEV void row_mass(Out<T> out, In<T> c, In<T> u, In<T> h, In<T> v, i64 n, i64 m, double inv) {
  SHARED(double, held, [256]);
  T by = (T)(inv * log2e);
  for (i64 i = bidx(); i < n; i += blocksx()) {
    T pu = u[i] * (T)log2e;
    double sum = 0;
    for (i64 j = tid(); j < m; j += 256) sum += (double)(ex2(mad(-by, c[i * m + j], mad(h[j], (T)log2e, pu))) * v[j]);
    held[tid()] = sum;
    for (u32 half = 128; half > 0; half /= 2) {
      barrier();
      if (tid() < half) held[tid()] += held[tid() + half];
    }
    if (tid() == 0) out[i] = (T)held[0];
    barrier();
  }
}

// col_mass is Σ_i P_ij v_i of a chunk of rows, a thread a column; join_sums adds the chunks.
template <class T>
DEV void col_mass(Out<double> parts, In<T> c, In<T> u, In<T> h, In<T> v, i64 n, i64 m, i64 chunk, double inv) {
  i64 j = (i64)bidx() * threads() + tid();
  if (j >= m) return;
  T by = (T)(inv * log2e), ph = h[j] * (T)log2e;
  double sum = 0;
  i64 from = (i64)bidy() * chunk, to = smaller(from + chunk, n);
  for (i64 i = from; i < to; i++) sum += (double)(ex2(mad(-by, c[i * m + j], mad(u[i], (T)log2e, ph))) * v[i]);
  parts[(i64)bidy() * m + j] = sum;
}

// join_sums adds splits of n sums, first to last.
template <class T, class P> DEV void join_sums(Out<T> out, In<P> parts, i64 n, i64 splits) {
  EACH(i, n) {
    double sum = 0;
    for (i64 s = 0; s < splits; s++) sum += (double)parts[s * n + i];
    out[i] = (T)sum;
  }
}

#define MAKE(S, T)                                                                                                     \
  KERNEL BOUNDS(256) lse_rows32_##S(Out<T> out, Out<T> tops, Out<T> sums, In<T> c, In<T> h, i64 rows, i64 n, i64 m,    \
      i64 chunk, double inv) {                                                                                         \
    lse_rows<T, 32>(out, tops, sums, c, h, rows, n, m, chunk, inv);                                                    \
  }                                                                                                                    \
  KERNEL BOUNDS(256) lse_rows256_##S(Out<T> out, Out<T> tops, Out<T> sums, In<T> c, In<T> h, i64 rows, i64 n, i64 m,   \
      i64 chunk, double inv) {                                                                                         \
    lse_rows<T, 256>(out, tops, sums, c, h, rows, n, m, chunk, inv);                                                   \
  }                                                                                                                    \
  KERNEL BOUNDS(128) lse_cols_##S(Out<T> out, Out<T> tops, Out<T> sums, In<T> c, In<T> g, i64 batch, i64 n, i64 m,     \
      i64 chunk, double inv) {                                                                                         \
    lse_cols<T>(out, tops, sums, c, g, batch, n, m, chunk, inv);                                                       \
  }                                                                                                                    \
  KERNEL BOUNDS(256) lse_join_##S(Out<T> out, In<T> tops, In<T> sums, i64 n, i64 splits) {                             \
    lse_join<T>(out, tops, sums, n, splits);                                                                           \
  }                                                                                                                    \
  KERNEL BOUNDS(256) weights_##S(Out<T> w, In<T> c, In<T> u, In<T> h, i64 rows, i64 m, double inv) {                   \
    weights<T>(w, c, u, h, rows, m, inv);                                                                              \
  }                                                                                                                    \
  KERNEL BOUNDS(256) row_mass_##S(Out<T> out, In<T> c, In<T> u, In<T> h, In<T> v, i64 n, i64 m, double inv) {          \
    row_mass<T>(out, c, u, h, v, n, m, inv);                                                                           \
  }                                                                                                                    \
  KERNEL BOUNDS(128)                                                                                                   \
  col_mass_##S(Out<double> parts, In<T> c, In<T> u, In<T> h, In<T> v, i64 n, i64 m, i64 chunk, double inv) {           \
    col_mass<T>(parts, c, u, h, v, n, m, chunk, inv);                                                                  \
  }                                                                                                                    \
  KERNEL BOUNDS(128) join_sums_##S(Out<T> out, In<T> parts, i64 n, i64 splits) {                                       \
    join_sums<T, T>(out, parts, n, splits);                                                                            \
  }                                                                                                                    \
  KERNEL BOUNDS(128) join_wide_##S(Out<T> out, In<double> parts, i64 n, i64 splits) {                                  \
    join_sums<T, double>(out, parts, n, splits);                                                                       \
  }
FLOATS(MAKE)
#undef MAKE
