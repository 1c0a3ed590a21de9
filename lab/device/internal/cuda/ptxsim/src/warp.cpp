#include "warp.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "context.h"

namespace ptx {

void exchange(Context& c, const Insn& in) {
  u32 values[lanes], *to = c.at<u32>(in.to);
  memcpy(values, c.at<u32>(in.from[0]), sizeof values);
  for (int l = 0; l < lanes; l++) to[l] = values[l ^ in.number];
}

namespace {

constexpr int depth = 8;

// towards_zero is x without the digits below a unit, which is a power of two.
double towards_zero(double x, double unit) { return std::trunc(x / unit) * unit; }

// dot is c + Σ a_k b_k. PTX promises exact products and sums of at least single precision, in no order and with no
// rounding that it names. Here all terms lose what is below the last digit of the largest, as the first tensor cores
// did, whose sums have no further digits (Fasi, Higham, Mikaitis and Pranesh 2021).
float dot(float c, const float (&a)[depth], const float (&b)[depth]) {
  double terms[depth + 1], most = 0, sum = 0, plain = c;
  for (int k = 0; k < depth; k++) plain += terms[k] = (double)a[k] * b[k];
  terms[depth] = c;
  if (!std::isfinite(plain)) return (float)plain;
  for (double t : terms) most = std::max(most, std::fabs(t));
  if (most == 0) return 0;
  double unit = std::ldexp(1, std::max(std::ilogb(most), -126) - 23);
  for (double t : terms) sum += towards_zero(t, unit);
  if (sum == 0) return 0;
  return (float)towards_zero(sum, std::ldexp(1, std::max(std::ilogb(sum), -126) - 23));
}

} // namespace

// Where the fragments of m16n8k8 lie (PTX ISA 7.0, 9.7.13.4.7, .tf32): lane 4g + t has rows g and g + 8 of a and of c,
// columns t and t + 4 of a, column g and rows t and t + 4 of b, and columns 2t and 2t + 1 of c.
void multiply(Context& c, const Insn& in) {
  float a[16][depth], b[8][depth], d[16][8];
  for (int l = 0; l < lanes; l++) {
    int g = l / 4, t = l % 4;
    for (int k = 0; k < 6; k++) {
      float v = c.at<float>(in.factors[k])[l];
      if (c.at<u32>(in.factors[k])[l] & 0x1fff && std::isfinite(v))
        return undefined(c, in, l, "mma: %g has more digits than tf32", v);
      if (k < 4) a[g + k % 2 * 8][t + k / 2 * 4] = v;
      else b[g][t + (k - 4) * 4] = v;
    }
  }
  for (int l = 0; l < lanes; l++)
    for (int k = 0; k < 4; k++) {
      int row = l / 4 + k / 2 * 8, column = l % 4 * 2 + k % 2;
      d[row][column] = dot(c.at<float>(in.factors[6 + k])[l], a[row], b[column]);
    }
  for (int l = 0; l < lanes; l++)
    for (int k = 0; k < 4; k++) c.at<float>(in.parts[k])[l] = d[l / 4 + k / 2 * 8][l % 4 * 2 + k % 2];
}

} // namespace ptx
