// Patches, pooling and resampling of planes of H×W. Every kernel gathers: one thread computes one
// element of the result, in a fixed order, so that transposes need no atomics. A launch covers
// fewer than 2^31 elements (the host cuts batches), so indices within it have 32 bits. Floor: what
// is read and written; im2col reads each pixel once from memory and kh·kw times from the cache.
#include "common.h"

// Window is planes of h×w, windows over them that give oh×ow, and the divisors of flat indices. The
// windows that have a pixel under a tap have the next one under the tap th or tw further, and lie
// uh or uw before: stride and dilation over their greatest common divisor. Mirrored by the Go type
// window.
struct Window {
  i32 h, w, oh, ow, kh, kw, sh, sw, ph, pw, dh, dw, th, tw, uh, uw;
  Div by_w, by_hw, by_ow, by_out, by_kw, by_k, by_sh, by_sw;
};

struct Pixel {
  u32 plane;
  i32 y, x;
};
DEV Pixel in_pixel(const Window& g, u32 flat) {
  u32 plane = split(flat, g.by_hw), y = split(flat, g.by_w);
  return {plane, (i32)y, (i32)flat};
}
DEV Pixel out_pixel(const Window& g, u32 flat) {
  u32 plane = split(flat, g.by_out), y = split(flat, g.by_ow);
  return {plane, (i32)y, (i32)flat};
}

// Under is a tap that has a pixel under it, and the window it is of.
struct Under {
  i32 k, o;
};
// under is the first one of a pixel along an axis whose window is one of the first out; o is
// negative where there is none.
DEV Under under(i32 at, i32 dilation, i32 pad, i32 out, const Div& stride, i32 taps, i32 windows) {
  u32 rest = (u32)(at + pad);
  Under u = {0, (i32)split(rest, stride)};
  if (dilation == 1) u.k = (i32)rest;
  else
    for (i32 t = at + pad - dilation; rest != 0; t -= dilation) {
      if (t < 0 || ++u.k == (i32)stride.by) return {0, -1};
      rest = (u32)t;
      u.o = (i32)split(rest, stride);
    }
  for (; u.o >= out; u.o -= windows) {
    if (windows == 0) return {0, -1};
    u.k += taps;
  }
  return u;
}

// each_under calls f(tap, window) for all that are over a pixel, numbers of taps and of windows of
// a plane.
template <class F> DEV void each_under(const Window& g, const Pixel& p, F f) {
  Under first = under(p.x, g.dw, g.pw, g.ow, g.by_sw, g.tw, g.uw);
  for (Under a = under(p.y, g.dh, g.ph, g.oh, g.by_sh, g.th, g.uh); a.k < g.kh && a.o >= 0; a.k += g.th, a.o -= g.uh)
    for (Under b = first; b.k < g.kw && b.o >= 0; b.k += g.tw, b.o -= g.uw)
      f((u32)(a.k * g.kw + b.k), (u32)(a.o * g.ow + b.o));
}

// im2col gives a thread a run of four positions, which an aligned store takes at once; by_sh
// divides by the runs of a plane.
template <class T> DEV void im2col(Out<T> col, In<T> x, const Window& g, i64 n) {
  i32 out = g.oh * g.ow;
  EACH(i, n) {
    u32 l = (u32)i, kj = split(l, g.by_sh), row = kj, plane = split(kj, g.by_k), ki = split(kj, g.by_kw);
    u32 at = 4 * l, ox = at, oy = split(ox, g.by_ow);
    i32 y = (i32)oy * g.sh - g.ph + (i32)ki * g.dh, x0 = (i32)kj * g.dw - g.pw;
    T v[4];
    UNROLL
    for (int k = 0; k < 4; k++) {
      i32 xx = x0 + (i32)ox * g.sw;
      bool in = (u32)y < (u32)g.h && (u32)xx < (u32)g.w;
      v[k] = in ? x[plane * (u32)(g.h * g.w) + (u32)(y * g.w + xx)] : (T)0;
      bool wraps = ++ox == (u32)g.ow;
      ox = wraps ? 0 : ox;
      y += wraps ? g.sh : 0;
    }
    store_run(col + (row * (u32)out + at), v, out - (i32)at);
  }
}

template <class T> DEV void col2im(Out<T> x, In<T> col, const Window& g, i64 n) {
  u32 out = g.oh * g.ow, per = out * g.kh * g.kw;
  EACH(i, n) {
    Pixel p = in_pixel(g, (u32)i);
    T sum = 0;
    u32 base = p.plane * per;
    each_under(g, p, [&](u32 k, u32 o) { sum += col[base + k * out + o]; });
    x[i] = sum;
  }
}

template <class T> DEV void max_pool(Out<T> y, Out<i32> index, In<T> x, const Window& g, i64 n) {
  EACH(i, n) {
    Pixel p = out_pixel(g, (u32)i);
    i64 base = (i64)p.plane * g.h * g.w;
    T best = -Real<T>::inf;
    i32 at = -1;
    for (i32 ki = 0; ki < g.kh; ki++) {
      i32 yy = p.y * g.sh - g.ph + ki * g.dh;
      if (yy < 0 || yy >= g.h) continue;
      for (i32 kj = 0; kj < g.kw; kj++) {
        i32 xx = p.x * g.sw - g.pw + kj * g.dw;
        if (xx < 0 || xx >= g.w) continue;
        T v = x[base + yy * g.w + xx];
        if (at < 0 || v > best || (v != v && best == best)) best = v, at = yy * g.w + xx;
      }
    }
    y[i] = best;
    index[i] = at;
  }
}

template <class T> DEV void max_pool_vjp(Out<T> dx, In<T> dy, In<i32> index, const Window& g, i64 n) {
  EACH(i, n) {
    Pixel p = in_pixel(g, (u32)i);
    u32 base = p.plane * (u32)(g.oh * g.ow);
    i32 me = p.y * g.w + p.x;
    T sum = 0;
    each_under(g, p, [&](u32, u32 o) {
      if (index[base + o] == me) sum += dy[base + o];
    });
    dx[i] = sum;
  }
}

template <class T> DEV void avg_pool(Out<T> y, In<T> x, const Window& g, i64 n) {
  T by = (T)(1.0 / (g.kh * g.kw));
  EACH(i, n) {
    Pixel p = out_pixel(g, (u32)i);
    i64 base = (i64)p.plane * g.h * g.w;
    T sum = 0;
    for (i32 ki = 0; ki < g.kh; ki++) {
      i32 yy = p.y * g.sh - g.ph + ki * g.dh;
      if (yy < 0 || yy >= g.h) continue;
      for (i32 kj = 0; kj < g.kw; kj++) {
        i32 xx = p.x * g.sw - g.pw + kj * g.dw;
        if (xx >= 0 && xx < g.w) sum += x[base + yy * g.w + xx];
      }
    }
    y[i] = sum * by;
  }
}

template <class T> DEV void avg_pool_vjp(Out<T> dx, In<T> dy, const Window& g, i64 n) {
  T by = (T)(1.0 / (g.kh * g.kw));
  EACH(i, n) {
    Pixel p = in_pixel(g, (u32)i);
    u32 base = p.plane * (u32)(g.oh * g.ow);
    T sum = 0;
    each_under(g, p, [&](u32, u32 o) { sum += dy[base + o]; });
    dx[i] = sum * by;
  }
}

// below is ⌊o·n/by⌋, above ⌈o·n/by⌉.
DEV i32 below(i32 o, i32 n, const Div& by) {
  u64 p = (u64)(u32)o * (u32)n;
  return (i32)(p < 0x7fffffff ? quotient((u32)p, by) : (u32)(p / by.by));
}

// Nearest: by_kw and by_k hold the divisors oh and h here, by_sh and by_sw those of the columns, ow
// and w.
template <class T> DEV void nearest_(Out<T> y, In<T> x, const Window& g, i64 n) {
  EACH(i, n) {
    Pixel p = out_pixel(g, (u32)i);
    y[i] = x[(i64)p.plane * g.h * g.w + below(p.y, g.h, g.by_kw) * g.w + below(p.x, g.w, g.by_sh)];
  }
}
// start is the first output that reads input at: ⌈at·out/in⌉.
DEV i32 start(i32 at, i32 out, const Div& in) {
  u64 p = (u64)(u32)at * (u32)out + in.by - 1;
  return (i32)(p < 0x7fffffff ? quotient((u32)p, in) : (u32)(p / in.by));
}
template <class T> DEV void nearest_vjp(Out<T> dx, In<T> dy, const Window& g, i64 n) {
  EACH(i, n) {
    Pixel p = in_pixel(g, (u32)i);
    i64 base = (i64)p.plane * g.oh * g.ow;
    i32 y1 = start(p.y + 1, g.oh, g.by_k), x0 = start(p.x, g.ow, g.by_sw), x1 = start(p.x + 1, g.ow, g.by_sw);
    T sum = 0;
    for (i32 oy = start(p.y, g.oh, g.by_k); oy < y1; oy++)
      for (i32 ox = x0; ox < x1; ox++) sum += dy[base + oy * g.ow + ox];
    dx[i] = sum;
  }
}

// Tap is where an output reads along one axis: pixels lo and hi with weights 1 − w and w.
template <class T> struct Tap {
  i32 lo, hi;
  T w;
};
// tap is of output o at o·(in−1)/(out−1), or at (2o+1)·in/2out − 1/2: by divides by the
// denominator, inverse is one over it. The host holds 2·in·out below 2^31.
template <class T> DEV Tap<T> tap(i32 o, i32 in, i32 out, i32 align, const Div& by, double inverse) {
  i32 place = align ? o * (in - 1) : (2 * o + 1) * in - out;
  u32 rest = (u32)(place < 0 ? 0 : place);
  i32 lo = (i32)split(rest, by), last = in - 1;
  return {smaller(lo, last), smaller(lo + 1, last), lo < last ? (T)rest * (T)inverse : 0};
}
// span is outputs among which are all that read pixel at.
DEV void span(i32 at, i32 in, i32 out, i32 align, i32& from, i32& to) {
  from = 0, to = out;
  if (in == 1 || (align && out == 1)) return;
  double per = align ? (double)(out - 1) / (in - 1) : (double)out / in, half = align ? 0 : 0.5;
  if (at > 0) from = (i32)larger(((double)at - 1 + half) * per - half - 1, 0.0);
  if (at < in - 1) to = (i32)smaller(((double)at + 1 + half) * per - half + 2, (double)out);
}
DEV double weight(const Tap<double>& t, i32 at) { return (t.lo == at ? 1 - t.w : 0) + (t.hi == at ? t.w : 0); }

// bilinear gives a thread a run of four outputs, as im2col does; by_kw and by_k divide by the
// denominators of taps along y and x.
template <class T> DEV void bilinear(Out<T> y, In<T> x, const Window& g, i64 n, i32 align, double inv_y, double inv_x) {
  i32 out = g.oh * g.ow;
  EACH(i, n) {
    u32 l = (u32)i, plane = split(l, g.by_sh), at = 4 * l, ox = at, oy = split(ox, g.by_ow);
    In<T> from = x + plane * (u32)(g.h * g.w);
    Tap<T> ty = tap<T>(oy, g.h, g.oh, align, g.by_kw, inv_y);
    T v[4];
    UNROLL
    for (int k = 0; k < 4; k++) {
      Tap<T> tx = tap<T>(ox, g.w, g.ow, align, g.by_k, inv_x);
      In<T> high = from + ty.lo * g.w, low = from + ty.hi * g.w;
      T top = (1 - tx.w) * high[tx.lo] + tx.w * high[tx.hi], end = (1 - tx.w) * low[tx.lo] + tx.w * low[tx.hi];
      v[k] = (1 - ty.w) * top + ty.w * end;
      if (++ox == (u32)g.ow) ox = 0, ty = tap<T>(++oy, g.h, g.oh, align, g.by_kw, inv_y);
    }
    store_run(y + (plane * (u32)out + at), v, out - (i32)at);
  }
}
template <class T> DEV void bilinear_vjp(Out<T> dx, In<T> dy, const Window& g, i64 n, i32 align, double inv_y,
    double inv_x) {
  EACH(i, n) {
    Pixel p = in_pixel(g, (u32)i);
    i64 base = (i64)p.plane * g.oh * g.ow;
    i32 y0, y1, x0, x1;
    span(p.y, g.h, g.oh, align, y0, y1);
    span(p.x, g.w, g.ow, align, x0, x1);
    double sum = 0;
    for (i32 oy = y0; oy < y1; oy++) {
      double wy = weight(tap<double>(oy, g.h, g.oh, align, g.by_kw, inv_y), p.y);
      if (wy == 0) continue;
      for (i32 ox = x0; ox < x1; ox++) {
        double wx = weight(tap<double>(ox, g.w, g.ow, align, g.by_k, inv_x), p.x);
        if (wx != 0) sum += wy * wx * (double)dy[base + oy * g.ow + ox];
      }
    }
    dx[i] = (T)sum;
  }
}

#define MAKE(S, T)                                                                                              \
  KERNEL BOUNDS(256) im2col_##S(Out<T> col, In<T> x, Window g, i64 n) { im2col<T>(col, x, g, n); }              \
  KERNEL BOUNDS(256) col2im_##S(Out<T> x, In<T> col, Window g, i64 n) { col2im<T>(x, col, g, n); }              \
  KERNEL BOUNDS(256) max_pool_##S(Out<T> y, Out<i32> index, In<T> x, Window g, i64 n) {                         \
    max_pool<T>(y, index, x, g, n);                                                                             \
  }                                                                                                             \
  KERNEL BOUNDS(256) max_pool_vjp_##S(Out<T> dx, In<T> dy, In<i32> index, Window g, i64 n) {                    \
    max_pool_vjp<T>(dx, dy, index, g, n);                                                                       \
  }                                                                                                             \
  KERNEL BOUNDS(256) avg_pool_##S(Out<T> y, In<T> x, Window g, i64 n) { avg_pool<T>(y, x, g, n); }              \
  KERNEL BOUNDS(256) avg_pool_vjp_##S(Out<T> dx, In<T> dy, Window g, i64 n) { avg_pool_vjp<T>(dx, dy, g, n); }  \
  KERNEL BOUNDS(256) nearest_##S(Out<T> y, In<T> x, Window g, i64 n) { nearest_<T>(y, x, g, n); }               \
  KERNEL BOUNDS(256) nearest_vjp_##S(Out<T> dx, In<T> dy, Window g, i64 n) { nearest_vjp<T>(dx, dy, g, n); }    \
  KERNEL BOUNDS(256) bilinear_##S(Out<T> y, In<T> x, Window g, i64 n, i32 align, double inv_y, double inv_x) {  \
    bilinear<T>(y, x, g, n, align, inv_y, inv_x);                                                               \
  }                                                                                                             \
  KERNEL BOUNDS(256)                                                                                            \
  bilinear_vjp_##S(Out<T> dx, In<T> dy, Window g, i64 n, i32 align, double inv_y, double inv_x) {               \
    bilinear_vjp<T>(dx, dy, g, n, align, inv_y, inv_x);                                                         \
  }
FLOATS(MAKE)
#undef MAKE
