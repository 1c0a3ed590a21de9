// Philox4x32-10 and what package philox makes of it, operation for operation: this file is compiled
// without contraction of products and sums, so that every device draws the same bits. A block of
// four numbers costs 20 wide products and, for normal numbers, two logarithms, roots and angles:
// some 200 operations for 16 bytes, about where a GPU's memory and arithmetic balance.
#include "common.h"

struct Words {
  u32 w[4];
};

DEV Words philox(u64 seed, u64 position) {
  u32 c0 = (u32)position, c1 = (u32)(position >> 32), c2 = 0, c3 = 0;
  u32 k0 = (u32)seed, k1 = (u32)(seed >> 32);
  UNROLL
  for (int round = 0; round < 10; round++) {
    u64 p0 = (u64)0xD2511F53u * c0, p1 = (u64)0xCD9E8D57u * c2;
    u32 h0 = (u32)(p0 >> 32), h1 = (u32)(p1 >> 32);
    c0 = h1 ^ c1 ^ k0;
    c1 = (u32)p1;
    c2 = h0 ^ c3 ^ k1;
    c3 = (u32)p0;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return Words{{c0, c1, c2, c3}};
}

DEV float uniform(u32 word) {
  float u = (float)(i32)(word >> 8 << 1 | 1) * 0x1p-25f;
  return u < 0x1.fffffep-1f ? u : 0x1.fffffep-1f;
}

DEV float log_of(float u) {
  i32 b = (i32)float_bits(u) - 0x3f3504f3;
  float e = (float)(b >> 23);
  float f = bits_float((u32)(b & 0x7fffff) + 0x3f3504f3u) - 1;
  float a = f * f;
  float p = -0x1.38b3e6p-4f;
  p = p * f + 0x1.055b18p-3f;
  p = p * f + -0x1.0d8568p-3f;
  p = p * f + 0x1.22da2ap-3f;
  p = p * f + -0x1.54724p-3f;
  p = p * f + 0x1.99a008p-3f;
  p = p * f + -0x1.000228p-2f;
  p = p * f + 0x1.555554p-2f;
  float y = f * a * p;
  y -= 0.5f * a;
  y += e * 0x1.7f7d1cp-20f;
  y += f;
  y += e * 0x1.62e4p-1f;
  return y;
}

DEV void circle(u32 word, float& cos, float& sin) {
  i32 k = (i32)(word >> 8);
  i32 q = (k + (1 << 21)) >> 22;
  float x = (float)(2 * (k - (q << 22)) + 1) * 0x1p-23f;
  float z = x * x;
  float s = -0x1.2d9bb8p-8f;
  s = s * z + 0x1.465ec6p-4f;
  s = s * z + -0x1.4abbbap-1f;
  s = s * z + 0x1.921fb6p+0f;
  s = x * s;
  float c = 0x1.d9f7bap-11f;
  c = c * z + -0x1.55c664p-6f;
  c = c * z + 0x1.03c1dep-2f;
  c = c * z + -0x1.3bd3ccp+0f;
  c = 1 + z * c;
  bool odd = q & 1;
  float x1 = odd ? s : c, y1 = odd ? c : s;
  q &= 3;
  cos = q == 1 || q == 2 ? -x1 : x1;
  sin = q >= 2 ? -y1 : y1;
}

DEV void normal(u32 a, u32 b, float& z0, float& z1) {
  float r = root(-2 * log_of(uniform(a))), c, s;
  circle(b, c, s);
  z0 = r * c;
  z1 = r * s;
}

DEV u64 word64(In<i32> state, int at) { return (u64)(u32)state[at] | (u64)(u32)state[at + 1] << 32; }

// draw fills y with one block of numbers a thread and turn.
template <class T, bool gauss> DEV void draw(Out<T> y, In<i32> state, i64 n, double shift, double scale) {
  u64 seed = word64(state, 0), start = word64(state, 2);
  float a = (float)shift, b = (float)scale;
  EACH(block, (n + 3) / 4) {
    Words r = philox(seed, start + (u64)block);
    float v[4];
    if (gauss) {
      normal(r.w[0], r.w[1], v[0], v[1]);
      normal(r.w[2], r.w[3], v[2], v[3]);
    } else {
      UNROLL
      for (int k = 0; k < 4; k++) v[k] = uniform(r.w[k]);
    }
    T to[4];
    UNROLL
    for (int k = 0; k < 4; k++) to[k] = (T)(a + b * v[k]);
    store_run(y + 4 * block, to, n - 4 * block);
  }
}

#define MAKE(S, T)                                                                                         \
  KERNEL BOUNDS(256) uniform_##S(Out<T> y, In<i32> state, i64 n, double shift, double scale) {             \
    draw<T, false>(y, state, n, shift, scale);                                                             \
  }                                                                                                        \
  KERNEL BOUNDS(256) normal_##S(Out<T> y, In<i32> state, i64 n, double shift, double scale) {              \
    draw<T, true>(y, state, n, shift, scale);                                                              \
  }
FLOATS(MAKE)
#undef MAKE

// advance moves a stream on. One thread.
KERNEL BOUNDS(32) advance(Out<i32> state, i64 blocks) {
  if (tid() != 0) return;
  u64 at = ((u64)(u32)state[2] | (u64)(u32)state[3] << 32) + (u64)blocks;
  state[2] = (i32)(u32)at;
  state[3] = (i32)(u32)(at >> 32);
}
