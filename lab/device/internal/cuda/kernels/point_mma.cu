// Log-sum-exps, masses and gradients of the square cost in float32 from d = 9 on, by tensor cores.
// Errors and what they are of: points.h.
//
// |x−y|² = |x|² + |y|² − 2x·y. Coordinates are taken from the middle of a block's targets and cut
// into two numbers of tf32, big and small, 22 digits together; x·y = small·big + big·small +
// big·big, the small products first, so that sums lose digits of the large ones d/8 times. What is
// dropped, small·small, is below 2^-22 of |x||y|.
//
// A warp holds 16·R points x as the first factors of its products; the block stages TILE targets in
// shared memory. Factors need not be in any order of their inner index: column t of the first
// factor is coordinate 4t, column t + 4 is 4t + 1, and the next product has 4t + 2 and 4t + 3, so
// that a lane reads its coordinates at once. Target 2t of eight lies in row t and target 2t + 1 in
// row 4 + (t + 2) % 4, which gives reads of either factor all 32 banks.
//
// Gradients are 2·square·((x−c)·Σ w − Σ w·(y−c)), w_ij = P_ij·(1 + r_i + s_j − c_ij/ε): the second
// sum is a product too, its first factor what the lanes have from the first product, its inner
// index the targets.
//
// Work of a pair: 3d multiply-adds of tensor cores (gradients 6d), about 6 operations and an
// exponential in the lanes.
#include "points.h"

constexpr int BLOCK = 256;
enum Kind { LSE, MASS, GRAD };

template <int D> constexpr int R = D > 32 ? 1 : 2;
template <int D> constexpr int TILE = D > 32 ? 32 : 64;
template <int D> constexpr int P = D + 8;

DEV u32 lane() { return tid() % 32; }
DEV u32 row_of(u32 target) { return target % 2 ? 4 + (target / 2 + 2) % 4 : target / 2; } // among eight

// Split is a factor's fragment in two numbers a word.
struct Split {
  float big[4], small[4];
};
DEV void cut(float v, float& big, float& small) {
  big = tf32(v);
  small = tf32(v - big);
}

// Staged is the targets of a tile: coordinates, squares = |y|²·square/ε in units of log 2, h less
// them (gradients: h), and v or s.
template <int D> struct Staged {
  float big[TILE<D> * P<D>], small[TILE<D> * P<D>], h[TILE<D>], squares[TILE<D>], v[TILE<D>], centre[D];
};

// Input is what a kernel reads.
struct Input {
  In<float> x, y, u, h, v, r, s;
  i64 n, m;
  i32 d;
};

template <int D, int KIND> DEV void stage(Staged<D>& to, const Input& in, i64 j0, i64 end, float by) {
  constexpr int LANES = BLOCK / TILE<D>;
  u32 k = tid() % D;
  float less = to.centre[k];
  UNROLL
  for (u32 j = tid() / D; j < TILE<D>; j += BLOCK / D) {
    float v = j0 + j < end && k < (u32)in.d ? in.y[(j0 + j) * in.d + k] - less : 0;
    u32 at = (j / 8 * 8 + row_of(j % 8)) * P<D> + k;
    cut(v, to.big[at], to.small[at]);
  }
  barrier();
  u32 j = tid() / LANES, at = (j / 8 * 8 + row_of(j % 8)) * P<D> + tid() % LANES;
  float sq = 0;
  UNROLL
  for (int q = 0; q < D; q += LANES) {
    float v = to.big[at + q] + to.small[at + q];
    sq = mad(v, v, sq);
  }
  UNROLL
  for (int mask = 1; mask < LANES; mask *= 2) sq += swap(sq, mask);
  bool far = sq == Real<float>::inf; // its weight is zero
  if (far) {
    UNROLL
    for (int q = 0; q < D; q += LANES) to.big[at + q] = to.small[at + q] = 0;
  }
  if (tid() % LANES == 0) {
    bool there = j0 + j < end;
    float squares = far ? 0 : by * sq;
    to.h[j] = there && !far ? in.h[j0 + j] * (float)log2e - (KIND == GRAD ? 0 : squares) : -Real<float>::inf;
    if (KIND == GRAD) to.squares[j] = squares;
    if (KIND != LSE) to.v[j] = there ? (KIND == GRAD ? in.s : in.v)[j0 + j] : 0;
  }
  barrier();
}

// Points is 16·R points as first factors, 2·square/ε·(x−c), and square/ε·|x−c|² of rows g and g +
// 8, in units of log 2.
template <int D> struct Points {
  Split of[R<D>][D / 8];
  float squares[R<D>][2];
};
template <int D> DEV void load(Points<D>& p, const float* centre, const Input& in, i64 i0, float by) {
  u32 t = lane() % 4;
  UNROLL
  for (int r = 0; r < 2 * R<D>; r++) {
    i64 i = i0 + r * 8;
    float v[D / 4], sq = 0;
    UNROLL
    for (int k = 0; k < D / 4; k++) {
      u32 at = k / 4 * 16 + 4 * t + k % 4;
      v[k] = i < in.n && at < (u32)in.d ? in.x[i * in.d + at] - centre[at] : 0;
      sq = mad(v[k], v[k], sq);
    }
    sq += swap(sq, 1);
    sq += swap(sq, 2);
    p.squares[r / 2][r % 2] = by == 0 ? 0 : by * sq;
    UNROLL
    for (int k = 0; k < D / 4; k++) {
      Split& s = p.of[r / 2][k / 2];
      cut(sq == Real<float>::inf ? 0 : 2 * by * v[k], s.big[r % 2 + k % 2 * 2], s.small[r % 2 + k % 2 * 2]);
    }
  }
}

// dots is the products of the points with eight targets, whose first row in memory is given.
template <int D> DEV void dots(float (&sum)[R<D>][4], const Points<D>& p, const float* big, const float* small) {
  u32 at = row_of(lane() / 4) * P<D> + lane() % 4 * 4;
  float b[D / 4];
  UNROLL
  for (int r = 0; r < R<D>; r++)
    UNROLL
    for (int k = 0; k < 4; k++) sum[r][k] = 0;
  UNROLL
  for (int k = 0; k < D / 4; k += 4) {
    float c[4];
    copy_run<4>(b + k, big + at + k * 4);
    copy_run<4>(c, small + at + k * 4);
    UNROLL
    for (int e = 0; e < 4; e += 2)
      UNROLL
      for (int r = 0; r < R<D>; r++) {
        const Split& a = p.of[r][(k + e) / 2];
        multiply(sum[r], a.small, b[k + e], b[k + e + 1]);
        multiply(sum[r], a.big, c[e], c[e + 1]);
      }
  }
  UNROLL
  for (int k = 0; k < D / 8; k++)
    UNROLL
    for (int r = 0; r < R<D>; r++) multiply(sum[r], p.of[r][k].big, b[2 * k], b[2 * k + 1]);
}

// weigh adds w·(y−c) of eight targets to sums over coordinates, w as dots gives its sums. Columns
// e, e + 4, … of a run of coordinates are one product.
template <int D> DEV void weigh(float (&sum)[R<D>][D / 8][4], const float (&w)[R<D>][4], const float* big,
    const float* small) {
  constexpr int RUN = D < 32 ? 2 : 4;
  u32 g = lane() / 4, t = lane() % 4;
  Split a[R<D>];
  UNROLL
  for (int r = 0; r < R<D>; r++)
    UNROLL
    for (int k = 0; k < 4; k++) cut(w[r][k / 2 + k % 2 * 2], a[r].big[k], a[r].small[k]);
  UNROLL
  for (int run = 0; run < D / 8; run += RUN) {
    float b[2][RUN], c[2][RUN];
    UNROLL
    for (int k = 0; k < 2; k++) {
      u32 at = row_of(2 * t + k) * P<D> + run * 8 + g * RUN;
      copy_run<RUN>(b[k], big + at);
      copy_run<RUN>(c[k], small + at);
    }
    UNROLL
    for (int e = 0; e < RUN; e++)
      UNROLL
      for (int r = 0; r < R<D>; r++) {
        multiply(sum[r][run + e], a[r].small, b[0][e], b[1][e]);
        multiply(sum[r][run + e], a[r].big, c[0][e], c[1][e]);
        multiply(sum[r][run + e], a[r].big, b[0][e], b[1][e]);
      }
  }
}

// Split of the targets that a block has.
struct Range {
  i64 from, to, i0; // i0: the row of the lane's first point
};
template <int D> DEV Range begin(Staged<D>& held, Points<D>& p, const Input& in, i64 chunk, float by) {
  i64 from = (i64)bidy() * chunk, to = smaller(from + chunk, in.m);
  i64 i0 = (i64)bidx() * (BLOCK / 2 * R<D>) + tid() / 32 * (16 * R<D>) + lane() / 4;
  middle<D>(held.centre, in.y, from, to, in.d);
  barrier();
  load(p, held.centre, in, i0, by);
  return {from, to, i0};
}

template <int D>
DEV void lse(Staged<D>& held, Out<float> out, Out<float> tops, Out<float> sums, const Input& in, i64 chunk,
    const Cost& c) {
  float by = Score<float, false>::of(c).square2;
  Points<D> p;
  Range at = begin(held, p, in, chunk, by);
  Mass<float> part[2 * R<D>], all[2 * R<D>];
  float lost[2 * R<D>];
  UNROLL
  for (int r = 0; r < 2 * R<D>; r++) part[r] = all[r] = nothing<float>(), lost[r] = 0;
  for (i64 j0 = at.from; j0 < at.to; j0 += TILE<D>) {
    barrier();
    stage<D, LSE>(held, in, j0, at.to, by);
    int taken = (int)smaller(at.to - j0, (i64)TILE<D>);
    NOUNROLL
    for (int jj = 0; jj < taken; jj += 32) {
      float score[2 * R<D>][8];
      UNROLL
      for (int q = 0; q < 4; q++) {
        float sum[R<D>][4], h[2];
        int first = jj + 8 * q;
        dots<D>(sum, p, held.big + first * P<D>, held.small + first * P<D>);
        copy_run<2>(h, held.h + first + lane() % 4 * 2);
        UNROLL
        for (int r = 0; r < 2 * R<D>; r++)
          UNROLL
          for (int k = 0; k < 2; k++) score[r][2 * q + k] = sum[r / 2][r % 2 * 2 + k] + h[k];
      }
      UNROLL
      for (int r = 0; r < 2 * R<D>; r++) add(part[r], score[r]);
    }
    UNROLL
    for (int r = 0; r < 2 * R<D>; r++) settle(all[r], lost[r], part[r]);
  }
  UNROLL
  for (int r = 0; r < 2 * R<D>; r++) {
    Mass<float> mass = {all[r].top, all[r].sum - lost[r]};
    UNROLL
    for (u32 mask = 1; mask < 4; mask *= 2) mass = both(mass, Mass<float>{swap(mass.top, mask), swap(mass.sum, mask)});
    mass.top -= p.squares[r / 2][r % 2];
    i64 i = at.i0 + r * 8;
    if (i >= in.n || lane() % 4 != 0) continue;
    if (blocksy() == 1) {
      out[i] = result(mass);
    } else {
      tops[(i64)bidy() * in.n + i] = mass.top;
      sums[(i64)bidy() * in.n + i] = mass.sum;
    }
  }
}

template <int D, int KIND>
DEV void sum(Staged<D>& held, Out<float> out, const Input& in, i64 chunk, const Cost& c, bool linear) {
  Score<float, false> score = Score<float, false>::of(c);
  Points<D> p;
  Range at = begin(held, p, in, chunk, score.square2);
  float mass[2 * R<D>], total[2 * R<D>], lost[2 * R<D>], pu[2 * R<D>], pr[2 * R<D>];
  float part[R<D>][D / 8][4], grad[R<D>][D / 8][4];
  UNROLL
  for (int r = 0; r < 2 * R<D>; r++) {
    i64 i = at.i0 + r * 8;
    mass[r] = total[r] = lost[r] = 0;
    pu[r] = i < in.n ? in.u[i] * (float)log2e : 0;
    pr[r] = KIND == GRAD && i < in.n ? in.r[i] + (linear ? 0 : 1) : 0;
    if (KIND == MASS) pu[r] -= p.squares[r / 2][r % 2];
    UNROLL
    for (int k = 0; k < D / 4; k++) part[r / 2][k / 2][r % 2 * 2 + k % 2] = grad[r / 2][k / 2][r % 2 * 2 + k % 2] = 0;
  }
  for (i64 j0 = at.from; j0 < at.to; j0 += TILE<D>) {
    barrier();
    stage<D, KIND>(held, in, j0, at.to, score.square2);
    int taken = (int)smaller(at.to - j0, (i64)TILE<D>);
    NOUNROLL
    for (int jj = 0; jj < taken; jj += 8) {
      float w[R<D>][4], h[2], v[2], squares[2];
      dots<D>(w, p, held.big + jj * P<D>, held.small + jj * P<D>);
      copy_run<2>(h, held.h + jj + lane() % 4 * 2);
      copy_run<2>(v, held.v + jj + lane() % 4 * 2);
      if (KIND == GRAD) copy_run<2>(squares, held.squares + jj + lane() % 4 * 2);
      UNROLL
      for (int r = 0; r < 2 * R<D>; r++)
        UNROLL
        for (int k = 0; k < 2; k++) {
          float& to = w[r / 2][r % 2 * 2 + k];
          if (KIND == MASS) {
            mass[r] = mad(ex2(to + h[k] + pu[r]), v[k], mass[r]);
            continue;
          }
          float cost = p.squares[r / 2][r % 2] - (to - squares[k]); // over ε, in units of log 2
          float weight = ex2(h[k] + pu[r] - cost), bracket = pr[r] + v[k];
          if (!linear) bracket = mad(-cost, (float)ln2, bracket);
          to = weight > 0 ? weight * bracket : 0;
          mass[r] += to;
        }
      if constexpr (KIND == GRAD) weigh<D>(part, w, held.big + jj * P<D>, held.small + jj * P<D>);
    }
    UNROLL
    for (int r = 0; r < 2 * R<D>; r++) {
      settle(total[r], lost[r], mass[r]);
      if (KIND != GRAD) continue;
      UNROLL
      for (int k = 0; k < D / 4; k++) {
        float& tile = part[r / 2][k / 2][r % 2 * 2 + k % 2];
        grad[r / 2][k / 2][r % 2 * 2 + k % 2] += tile;
        tile = 0;
      }
    }
  }
  constexpr int RUN = D < 32 ? 2 : 4;
  UNROLL
  for (int r = 0; r < 2 * R<D>; r++) {
    total[r] += swap(total[r], 1);
    total[r] += swap(total[r], 2);
    i64 i = at.i0 + r * 8;
    if (i >= in.n) continue;
    if (KIND == MASS) {
      if (lane() % 4 == 0) out[(i64)bidy() * in.n + i] = total[r];
      continue;
    }
    UNROLL
    for (int k = 0; k < D / 4; k++) {
      u32 product = k / 2, axis = product / RUN * (8 * RUN) + (lane() % 4 * 2 + k % 2) * RUN + product % RUN;
      if (axis >= (u32)in.d) continue;
      float x = in.x[i * in.d + axis] - held.centre[axis];
      out[((i64)bidy() * in.n + i) * in.d + axis] =
          2 * score.square * (x * total[r] - grad[r / 2][product][r % 2 * 2 + k % 2]);
    }
  }
}

#define NAMED(name, D) point_mma_##name##D##_f32
#define MAKE(D)                                                                                              \
  KERNEL BOUNDS(BLOCK) NAMED(lse, D)(Out<float> out, Out<float> tops, Out<float> sums, In<float> x,          \
      In<float> y, In<float> h, i64 n, i64 m, i32 d, i64 chunk, Cost c) {                                    \
    SHARED(Staged<D>, held);                                                                                 \
    lse<D>(held, out, tops, sums, Input{x, y, 0, h, 0, 0, 0, n, m, d}, chunk, c);                            \
  }                                                                                                          \
  SUM(D, mass, MASS)                                                                                         \
  SUM(D, grad, GRAD)
#define SUM(D, name, KIND)                                                                                   \
  KERNEL BOUNDS(BLOCK) NAMED(name, D)(Out<float> out, In<float> x, In<float> y, In<float> u, In<float> h,    \
      In<float> v, In<float> r, In<float> s, i64 n, i64 m, i32 d, i32, i64 chunk, Cost c, i32 linear) {      \
    SHARED(Staged<D>, held);                                                                                 \
    sum<D, KIND>(held, out, Input{x, y, u, h, v, r, s, n, m, d}, chunk, c, linear);                          \
  }
MAKE(DIM)
