// Symmetrised Sinkhorn updates of small problems while ε falls, a block a problem: the potentials in shared memory, the
// costs in the caches after the first update, a warp a row, then a warp a column. An update of a problem is 2·n·m
// exponentials and two barriers; n, m ≤ MOST.
#include "transport.h"

constexpr int MOST = 1024, STEPS = 128;

// Schedule is some values of ε. Mirrored by the Go type schedule.
struct Schedule {
  i32 count, first, last, pad; // first: the potentials start here; last: those without the mean are written
  double eps[STEPS];
};

// soft is −ε (log Σ_k exp((h_k − c_k)/ε) − log count), c_k a step apart, by all lanes of a warp.
template <class T> DEV T soft(In<T> c, i64 at, i64 step, const T* h, i32 count, double eps, T log_count) {
  T by = (T)(log2e / eps);
  Mass<T> mass = nothing<T>();
  for (i32 k = tid() % 32; k < count; k += 32) {
    T score[1] = {(h[k] - c[at + k * step]) * by};
    add(mass, score);
  }
  UNROLL
  for (u32 mask = 16; mask > 0; mask /= 2) {
    Mass<T> other = {swap(mass.top, mask), swap(mass.sum, mask)};
    mass = both(mass, other);
  }
  return (T)-eps * (result(mass) - log_count);
}

template <class T>
DEV void anneal(Out<T> f, Out<T> g, Out<T> last_f, Out<T> last_g, In<T> c, i32 n, i32 m, const Schedule& s) {
  SHARED(T, held, [4 * MOST]);
  T *of = held, *og = held + MOST, *nf = held + 2 * MOST, *ng = held + 3 * MOST;
  i64 b = bidx();
  T log_n = log_((T)n), log_m = log_((T)m);
  for (i32 k = tid(); k < n; k += 256) of[k] = s.first ? (T)0 : f[b * n + k];
  for (i32 k = tid(); k < m; k += 256) og[k] = s.first ? (T)0 : g[b * m + k];
  for (i32 e = s.first ? -1 : 0; e < s.count + s.last; e++) { // −1 sets, the one after the others is written apart
    double eps = s.eps[e < 0 ? 0 : (e < s.count ? e : s.count - 1)];
    barrier();
    for (i32 i = tid() / 32; i < n; i += 8) {
      T v = soft<T>(c, (b * n + i) * m, 1, og, m, eps, log_m);
      if (tid() % 32 == 0) nf[i] = v;
    }
    for (i32 j = tid() / 32; j < m; j += 8) {
      T v = soft<T>(c, b * n * m + j, m, of, n, eps, log_n);
      if (tid() % 32 == 0) ng[j] = v;
    }
    barrier();
    if (e == s.count) break;
    for (i32 k = tid(); k < n; k += 256) of[k] = e < 0 ? nf[k] : (T)0.5 * (of[k] + nf[k]);
    for (i32 k = tid(); k < m; k += 256) og[k] = e < 0 ? ng[k] : (T)0.5 * (og[k] + ng[k]);
  }
  for (i32 k = tid(); k < n; k += 256) {
    f[b * n + k] = of[k];
    if (s.last) last_f[b * n + k] = nf[k];
  }
  for (i32 k = tid(); k < m; k += 256) {
    g[b * m + k] = og[k];
    if (s.last) last_g[b * m + k] = ng[k];
  }
}

#define MAKE(S, T)                                                                                                    \
  KERNEL BOUNDS(256, sizeof(T) == 4 ? 4 : 2)                                                                                                \
  anneal_##S(Out<T> f, Out<T> g, Out<T> last_f, Out<T> last_g, In<T> c, i32 n, i32 m, Schedule s) {                   \
    anneal<T>(f, g, last_f, last_g, c, n, m, s);                                                                      \
  }
FLOATS(MAKE)
#undef MAKE
