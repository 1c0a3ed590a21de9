// Σ_j P_ij v_j, Σ_j P_ij c_ij and gradients of plans, matrix-free. Design, work and floor:
// points.h.
#include "points.h"

constexpr int BLOCK = 128;

// What a sum over a plan adds up: p·v_j, p·c_ij, or p·(1 + r_i + s_j − c_ij/ε)·∂c/∂x_i.
enum Sum { APPLY, COST, GRAD, LINEAR_GRAD };

// staged is what is staged of v, or of s, with a point; tile is points that are staged at a time,
// pitch words of one.
template <int K, int MODE> constexpr int staged = MODE == APPLY ? K : (MODE == GRAD ? 1 : 0);
template <int D, int K, int MODE> constexpr int tile = D + staged<K, MODE> <= 16 ? 128 : 32;
template <class T, int D, int K, int MODE> constexpr int pitch = padded<T>(D + 1 + staged<K, MODE>);

// by_tensor_cores is what point_mma.cu does for the square cost.
template <class T, int D, int K, int MODE>
constexpr bool by_tensor_cores = sizeof(T) == 4 && D > 8 && (MODE == GRAD || (MODE == APPLY && K == 1));

template <class T, int D, int K, bool L1, int MODE>
DEV void point_sum(Out<T> out, In<T> x, In<T> y, In<T> u, In<T> h, In<T> v, In<T> r, In<T> s, i64 n, i64 m, i32 d,
    i32 k,
    i64 chunk, const Cost& c, bool linear, T* held) {
  constexpr int TILE = tile<D, K, MODE>, P = pitch<T, D, K, MODE>;
  Score<T, L1> score = Score<T, L1>::of(c);
  i64 i = (i64)bidx() * BLOCK + tid();
  T px[D], sum[K], total[K], lost[K];
  load_row<T, D>(px, x, i, n, d);
  UNROLL
  for (int q = 0; q < K; q++) sum[q] = total[q] = lost[q] = 0;
  T pu = i < n ? u[i] * (T)log2e : (T)0, pr = MODE == GRAD && i < n ? r[i] : (T)0;
  i64 from = (i64)bidy() * chunk, to = smaller(from + chunk, m);
  for (i64 j0 = from; j0 < to; j0 += TILE) {
    barrier();
    for (u32 t = tid(); t < TILE * P; t += BLOCK) {
      u32 j = t / P, q = t % P;
      bool in = j0 + j < to;
      T w = 0;
      if (q == D) w = in ? h[j0 + j] * (T)log2e : -Real<T>::inf;
      else if (in && q < (u32)d) w = y[(j0 + j) * d + q];
      else if (MODE == APPLY && in && q > D && q - D - 1 < (u32)k) w = v[(j0 + j) * k + (q - D - 1)];
      else if (MODE == GRAD && in && q == D + 1) w = s[j0 + j];
      held[t] = w;
    }
    barrier();
    int taken = (int)smaller(to - j0, (i64)TILE); // a short tile is not worth a whole one
    _Pragma("unroll 2")
    for (int jj = 0; jj < taken; jj++) {
      T py[P], sq, ab;
      copy_run<P>(py, held + jj * P);
      measure<T, D, L1>(px, py, sq, ab);
      T p = ex2(score.less(py[D] + pu, sq, ab));
      if (MODE == APPLY) {
        UNROLL
        for (int q = 0; q < K; q++) sum[q] = mad(p, py[D + 1 + q], sum[q]);
      } else {
        T cost = score.cost(sq, ab);
        if (MODE == COST) {
          sum[0] += p > 0 ? p * cost : 0; // an infinite cost has weight zero
        } else {
          T bracket = pr + py[D + 1];
          if (!linear) bracket = mad(-cost, score.inv, 1 + bracket);
          T w = p > 0 ? p * bracket : 0;
          UNROLL
          for (int q = 0; q < K; q++) sum[q] = mad(w, score.slope(px[q] - py[q]), sum[q]);
        }
      }
    }
    if (K <= 16) { // compensated over tiles; wider rows have no registers left for it
      UNROLL
      for (int q = 0; q < K; q++) settle(total[q], lost[q], sum[q]);
    }
  }
  if (i >= n) return;
  i32 width = MODE == COST ? 1 : (MODE == APPLY ? k : d);
  UNROLL
  for (int q = 0; q < K; q++)
    if (q < width) out[((i64)bidy() * n + i) * width + q] = K <= 16 ? total[q] : sum[q];
}

#define NAMED(name, D, S) point_##name##D##_##S
#define SUM(S, T, D, K, name, MODE)                                                                                  \
  KERNEL BOUNDS(BLOCK) NAMED(name, D, S)(Out<T> out, In<T> x, In<T> y, In<T> u, In<T> h, In<T> v, In<T> r,           \
      In<T> s, i64 n, i64 m, i32 d, i32 k, i64 chunk, Cost c, i32 linear) {                                          \
    SHARED(T, held, [tile<D, K, MODE> * pitch<T, D, K, MODE>]);                                                      \
    if (c.abs != 0) point_sum<T, D, K, true, MODE>(out, x, y, u, h, v, r, s, n, m, d, k, chunk, c, linear, held);    \
    else if constexpr (!by_tensor_cores<T, D, K, MODE>)                                                              \
      point_sum<T, D, K, false, MODE>(out, x, y, u, h, v, r, s, n, m, d, k, chunk, c, linear, held);                 \
  }

// One module a dimension (DIM). Sums with a row of K ≥ 32 numbers in float64 have no registers, and
// of one coordinate apply is mass.
SUM(f32, float, DIM, 1, mass, APPLY)
SUM(f64, double, DIM, 1, mass, APPLY)
SUM(f32, float, DIM, 1, cost, COST)
SUM(f64, double, DIM, 1, cost, COST)
SUM(f32, float, DIM, DIM, grad, GRAD)
#if DIM > 1
SUM(f32, float, DIM, DIM, apply, APPLY)
#endif
#if DIM < 32
SUM(f64, double, DIM, DIM, grad, GRAD)
#endif
#if DIM > 1 && DIM < 32
SUM(f64, double, DIM, DIM, apply, APPLY)
#endif
