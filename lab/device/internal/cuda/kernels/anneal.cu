// Symmetrised Sinkhorn updates of small problems while ε falls, a block a problem: potentials and
// sums in shared memory, the costs in the caches after the first update, four threads a row, then
// four a column. An update of a problem is 2·n·m exponentials, n + m logarithms, a thread each, and
// two barriers; n, m ≤ MOST.
#include "transport.h"

constexpr int MOST = 1024, STEPS = 128, LANES = 4, GROUP = 4;

// Schedule is some values of ε. Mirrored by the Go type schedule.
struct Schedule {
  i32 count, first, last, pad; // first: the potentials start here; last: those without the mean are written
  double eps[STEPS];
};

// soft sums Σ_k exp((h_k − c_k)/ε) of each of some lines of costs, the next of which lies next
// further, and their elements a step apart. All lanes of a warp go through as many lines.
template <class T>
DEV void soft(Mass<T>* to, i32 lines, In<T> c, i32 next, i32 step, const T* h, i32 count, T by) {
  i32 lane = tid() % LANES;
  for (i32 first = tid() / 32 * (32 / LANES); first < lines; first += 256 / LANES) {
    i32 line = first + tid() % 32 / LANES, k = lane;
    In<T> from = c + (smaller(line, lines - 1) * next + lane * step);
    Mass<T> mass = nothing<T>();
    for (; k + (GROUP - 1) * LANES < count; k += GROUP * LANES, from += GROUP * LANES * step) {
      T score[GROUP];
      UNROLL
      for (int u = 0; u < GROUP; u++) score[u] = (h[k + u * LANES] - from[u * LANES * step]) * by;
      add(mass, score);
    }
    for (; k < count; k += LANES, from += LANES * step) {
      T score[1] = {(h[k] - *from) * by};
      add(mass, score);
    }
    UNROLL
    for (u32 mask = 1; mask < LANES; mask *= 2) mass = both(mass, Mass<T>{swap(mass.top, mask), swap(mass.sum, mask)});
    if (lane == 0 && line < lines) to[line] = mass;
  }
}

// Pair is two arrays, the second of which follows the first's n numbers.
template <class T> struct Pair {
  Out<T> f, g;
  i32 n;
  __attribute__((always_inline)) DEVICE T& operator[](i32 k) const { return k < n ? f[k] : g[k - n]; }
};

template <class T>
DEV void anneal(Out<T> f, Out<T> g, Out<T> last_f, Out<T> last_g, In<T> c, i32 n, i32 m, const Schedule& s) {
  SHARED(T, potential, [2 * MOST]);
  SHARED(Mass<T>, mass, [2 * MOST]);
  i64 b = bidx();
  Pair<T> now{f + b * n, g + b * m, n}, last{last_f + b * n, last_g + b * m, n};
  T log_n = log_((T)n), log_m = log_((T)m);
  for (i32 k = tid(); k < n + m; k += 256) potential[k] = s.first ? (T)0 : now[k];
  for (i32 e = s.first ? -1 : 0; e < s.count + s.last; e++) { // −1 sets, the one after the others is written apart
    double eps = s.eps[e < 0 ? 0 : (e < s.count ? e : s.count - 1)];
    T by = (T)(log2e / eps);
    barrier();
    soft(mass, n, c + b * n * m, m, 1, potential + n, m, by);
    soft(mass + n, m, c + b * n * m, 1, m, potential, n, by);
    barrier();
    for (i32 k = tid(); k < n + m; k += 256) {
      T v = (T)-eps * (result(mass[k]) - (k < n ? log_m : log_n));
      if (e == s.count) last[k] = v;
      else potential[k] = e < 0 ? v : (T)0.5 * (potential[k] + v);
    }
  }
  for (i32 k = tid(); k < n + m; k += 256) now[k] = potential[k];
}

#define MAKE(S, T) \
  KERNEL BOUNDS(256, sizeof(T) == 4 ? 4 : 2) \
  anneal_##S(Out<T> f, Out<T> g, Out<T> last_f, Out<T> last_g, In<T> c, i32 n, i32 m, Schedule s) { \
    anneal<T>(f, g, last_f, last_g, c, n, m, s); \
  }
FLOATS(MAKE)
#undef MAKE
