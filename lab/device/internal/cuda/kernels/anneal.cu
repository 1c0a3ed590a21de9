// Symmetrised Sinkhorn updates of small problems while ε falls, a block a problem: the potentials
// in shared memory, the costs in the caches after the first update, a warp a row, then a warp a
// column. An update of a problem is 2·n·m exponentials and two barriers; n, m ≤ MOST.
#include "transport.h"

constexpr int MOST = 1024, STEPS = 128;

// Schedule is some values of ε. Mirrored by the Go type schedule.
struct Schedule {
  i32 count, first, last, pad; // first: the potentials start here; last: those without the mean are written
  double eps[STEPS];
};

// soft writes −ε (log Σ_k exp((h_k − c_k)/ε) − log count) of each of some lines of costs, the next
// of which lies next further, and their elements a step apart: a warp a line, and the logarithms of
// 32 lines at once, a lane each.
template <class T>
DEV void soft(T* to, i32 lines, In<T> c, i32 next, i32 step, const T* h, i32 count, double eps, T by, T log_count) {
  i32 lane = tid() % 32;
  for (i32 first = tid() / 32; first < lines; first += 8 * 32) {
    Mass<T> mine = {0, 1};
    i32 done = 0;
    for (i32 line = first; done < 32 && line < lines; line += 8, done++) {
      Mass<T> mass = nothing<T>();
      i32 at = line * next + lane * step;
      for (i32 k = lane; k < count; k += 64, at += 64 * step) {
        T score[2] = {(h[k] - c[at]) * by, k + 32 < count ? (h[k + 32] - c[at + 32 * step]) * by : -Real<T>::inf};
        add(mass, score);
      }
      T top = mass.top;
      UNROLL
      for (u32 mask = 16; mask > 0; mask /= 2) top = larger(top, swap(top, mask));
      T sum = mass.sum * ex2(mass.top - top);
      UNROLL
      for (u32 mask = 16; mask > 0; mask /= 2) sum += swap(sum, mask);
      if (lane == done) mine = {top, sum};
    }
    T v = (T)-eps * (result(mine) - log_count);
    if (lane < done) to[first + 8 * lane] = v;
  }
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
    T by = (T)(log2e / eps);
    barrier();
    soft(nf, n, c + b * n * m, m, 1, og, m, eps, by, log_m);
    soft(ng, m, c + b * n * m, 1, m, of, n, eps, by, log_n);
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

#define MAKE(S, T) \
  KERNEL BOUNDS(256, sizeof(T) == 4 ? 4 : 2) \
  anneal_##S(Out<T> f, Out<T> g, Out<T> last_f, Out<T> last_g, In<T> c, i32 n, i32 m, Schedule s) { \
    anneal<T>(f, g, last_f, last_g, c, n, m, s); \
  }
FLOATS(MAKE)
#undef MAKE
