// Instructions that touch registers alone. Each is a function of one lane, from whose type its widths follow.
#include <bit>
#include <cmath>
#include <cstring>
#include <utility>

#include "context.h"
#include "options.h"

namespace ptx {

namespace {

template <class T> struct Operand {
  const T* of_lane;
  Operand(Context& c, u32 offset) : of_lane(c.at<T>(offset)) {}
  T operator[](int l) const { return of_lane[l]; }
};
template <> struct Operand<bool> {
  u32 bits;
  Operand(Context& c, u32 offset) : bits(*c.at<u32>(offset)) {}
  bool operator[](int l) const { return bits >> l & 1; }
};

template <class T> constexpr Width width_as = std::is_same_v<T, bool> ? predicate : (Width)sizeof(T);

// put computes f in all lanes and keeps what those that execute get. The destination may be a source too.
template <class D, class F> [[gnu::always_inline]] inline void put(Context& c, u32 to, F f) {
  if constexpr (std::is_same_v<D, bool>) {
    u32 bits = 0;
    for (int l = 0; l < lanes; l++) bits |= (u32)f(l) << l;
    u32& p = *c.at<u32>(to);
    p = (p & ~c.mask) | (bits & c.mask);
  } else {
    D all[lanes], *d = c.at<D>(to);
    for (int l = 0; l < lanes; l++) all[l] = f(l);
    if (c.mask == all_lanes) {
      memcpy(d, all, sizeof all);
      return;
    }
    for (int l = 0; l < lanes; l++) d[l] = c.mask >> l & 1 ? all[l] : d[l];
  }
}

template <class F, class D, class... S> struct Lanewise {
  static void run(Context& c, const Insn& in) { go(c, in, std::index_sequence_for<S...>()); }
  template <size_t... k> static void go(Context& c, const Insn& in, std::index_sequence<k...>) {
    put<D>(c, in.to, [... from = Operand<S>(c, in.from[k])](int l) { return F{}(from[l]...); });
  }
};

template <class F, class D, class... S> Opcode lanewise(Class counts, D (F::*)(S...) const) {
  return {Lanewise<F, D, S...>::run, counts, {width_as<D>, width_as<S>...}};
}
template <class F> Opcode op(Class counts, F) { return lanewise<F>(counts, &F::operator()); }

// Division of integers, which by 0 is a fault. In lanes that do not execute f is called all the same.
template <class F, class T> struct Divided {
  static void run(Context& c, const Insn& in) {
    each(c, [&](int l) {
      if (c.at<T>(in.from[1])[l] == 0) undefined(c, in, l, "division by 0");
    });
    Lanewise<F, T, T, T>::run(c, in);
  }
};
template <class F, class T> Opcode divided(T (F::*)(T, T) const) {
  return {Divided<F, T>::run, Class::div, {width_as<T>, width_as<T>, width_as<T>}};
}
template <class F> Opcode division(F) { return divided<F>(&F::operator()); }

typedef std::map<std::string, Opcode> Table;

// Results of float32 that are not numbers are this one (PTX ISA 7.0, 9.7.3); those of float64 keep their bits.
float canonical(float x) { return x == x ? x : std::bit_cast<float>(0x7fffffffu); }
double canonical(double x) { return x; }
template <class T> using Bits = std::conditional_t<sizeof(T) == 4, u32, u64>;
template <class T> constexpr Bits<T> sign = (Bits<T>)1 << (8 * sizeof(T) - 1);

// Of a number and NaN max and min are the number, and −0 is less than +0.
template <class T> T largest(T a, T b) {
  if (a != a) return canonical(b);
  if (b != b) return a;
  if (a == b) return std::bit_cast<T>(std::bit_cast<Bits<T>>(a) & std::bit_cast<Bits<T>>(b));
  return a > b ? a : b;
}
template <class T> T least(T a, T b) {
  if (a != a) return canonical(b);
  if (b != b) return a;
  if (a == b) return std::bit_cast<T>(std::bit_cast<Bits<T>>(a) | std::bit_cast<Bits<T>>(b));
  return a < b ? a : b;
}

template <class T> void floats(Table& t, const std::string& type, Class counts) {
  t["add" + type] = t["add.rn" + type] = op(counts, [](T a, T b) { return canonical(a + b); });
  t["sub" + type] = t["sub.rn" + type] = op(counts, [](T a, T b) { return canonical(a - b); });
  t["mul" + type] = t["mul.rn" + type] = op(counts, [](T a, T b) { return canonical(a * b); });
  t["fma.rn" + type] = op(counts, [](T a, T b, T c) { return canonical(std::fma(a, b, c)); });
  t["difference" + type] = op(counts, [](T a, T b, T c) { return canonical(std::fma(a, b, -c)); }); // see contract
  t["complement" + type] = op(counts, [](T a, T b, T c) { return canonical(std::fma(-a, b, c)); });
  t["max" + type] = op(counts, [](T a, T b) { return largest(a, b); });
  t["min" + type] = op(counts, [](T a, T b) { return least(a, b); });
  t["abs" + type] = op(counts, [](Bits<T> a) { return (Bits<T>)(a & ~sign<T>); });
  t["neg" + type] = op(counts, [](Bits<T> a) { return (Bits<T>)(a ^ sign<T>); });
  t["div.rn" + type] = op(Class::div, [](T a, T b) { return canonical(a / b); });
  t["rcp.rn" + type] = op(Class::div, [](T a) { return canonical(1 / a); });
  t["sqrt.rn" + type] = op(Class::div, [](T a) { return canonical(std::sqrt(a)); });
  t["cvt.rni" + type + type] = op(Class::cvt, [](T a) { return canonical(std::rint(a)); });
}

// ex2 is ex2.approx.ftz.f32, off by its bound of 2^-22 upwards or downwards, as a hash of x says, unless all is exact.
float ex2(float x) {
  u32 bits = std::bit_cast<u32>(x);
  if ((bits & 0x7f800000u) == 0) x = 0; // denormal
  if (x != x || x == INFINITY) return canonical(x);
  double y = std::exp2((double)x), off = bits * 2654435761u >> 31 ? 0x1p-22 : -0x1p-22;
  if (!options.exact && x != 0) y *= 1 + .99 * off;
  return (float)y < 0x1p-126f ? 0 : (float)y;
}

template <class T> void compare(Table& t, const std::string& type, Class counts) {
  t["setp.eq" + type] = op(counts, [](T a, T b) { return a == b; });
  t["setp.lt" + type] = op(counts, [](T a, T b) { return a < b; });
  t["setp.le" + type] = op(counts, [](T a, T b) { return a <= b; });
  t["setp.gt" + type] = op(counts, [](T a, T b) { return a > b; });
  t["setp.ge" + type] = op(counts, [](T a, T b) { return a >= b; });
  t["setp.ne" + type] = op(counts, [](T a, T b) { return a < b || a > b; }); // false of NaN
}

// unordered are the comparisons that hold of NaN.
template <class T> void unordered(Table& t, const std::string& type, Class counts) {
  t["setp.equ" + type] = op(counts, [](T a, T b) { return !(a < b || a > b); });
  t["setp.neu" + type] = op(counts, [](T a, T b) { return !(a == b); });
  t["setp.ltu" + type] = op(counts, [](T a, T b) { return !(a >= b); });
  t["setp.leu" + type] = op(counts, [](T a, T b) { return !(a > b); });
  t["setp.gtu" + type] = op(counts, [](T a, T b) { return !(a <= b); });
  t["setp.geu" + type] = op(counts, [](T a, T b) { return !(a < b); });
  t["setp.num" + type] = op(counts, [](T a, T b) { return a == a && b == b; });
  t["setp.nan" + type] = op(counts, [](T a, T b) { return a != a || b != b; });
}

// shift amounts beyond the width are the width; 16-bit shifts take 32-bit amounts too.
template <class U> void shifts(Table& t, const std::string& bits, Class counts) {
  typedef std::make_signed_t<U> S;
  constexpr u32 most = 8 * sizeof(U) - 1;
  t["shl.b" + bits] = op(counts, [](U a, u32 b) { return b > most ? (U)0 : (U)(a << b); });
  t["shr.u" + bits] = op(counts, [](U a, u32 b) { return b > most ? (U)0 : (U)(a >> b); });
  t["shr.s" + bits] = op(counts, [](S a, u32 b) { return (S)(a >> (b > most ? most : b)); });
}

template <class U> void integers(Table& t, const std::string& bits, Class counts) {
  typedef std::make_signed_t<U> S;
  t["add.s" + bits] = op(counts, [](U a, U b) { return (U)(a + b); });
  t["sub.s" + bits] = op(counts, [](U a, U b) { return (U)(a - b); });
  t["mul.lo.s" + bits] = op(counts, [](U a, U b) { return (U)(a * b); });
  t["neg.s" + bits] = op(counts, [](U a) { return (U)-a; });
  t["mad.lo.s" + bits] = op(counts, [](U a, U b, U c) { return (U)(a * b + c); });
  t["min.s" + bits] = op(counts, [](S a, S b) { return a < b ? a : b; });
  t["max.s" + bits] = op(counts, [](S a, S b) { return a > b ? a : b; });
  t["min.u" + bits] = op(counts, [](U a, U b) { return a < b ? a : b; });
  t["max.u" + bits] = op(counts, [](U a, U b) { return a > b ? a : b; });
  t["and.b" + bits] = op(counts, [](U a, U b) { return (U)(a & b); });
  t["or.b" + bits] = op(counts, [](U a, U b) { return (U)(a | b); });
  t["xor.b" + bits] = op(counts, [](U a, U b) { return (U)(a ^ b); });
  t["not.b" + bits] = op(counts, [](U a) { return (U)~a; });
  t["div.u" + bits] = division([](U a, U b) { return b ? (U)(a / b) : a; });
  t["rem.u" + bits] = division([](U a, U b) { return b ? (U)(a % b) : a; });
  t["div.s" + bits] = division([](S a, S b) { return b == 0 || b == -1 ? (S)-(U)a : (S)(a / b); });
  t["mov.b" + bits] = t["mov.u" + bits] = t["mov.s" + bits] = op(Class::mov, [](U a) { return a; });
  t["selp.b" + bits] = t["selp.u" + bits] = t["selp.s" + bits] = op(counts, [](U a, U b, bool p) { return p ? a : b; });
  compare<S>(t, ".s" + bits, counts);
  compare<U>(t, ".u" + bits, counts);
  compare<U>(t, ".b" + bits, counts);
  shifts<U>(t, bits, counts);
}

void products(Table& t) {
  t["mul.hi.u16"] = op(Class::i32, [](u16 a, u16 b) { return (u16)((u32)a * b >> 16); });
  t["mul.hi.u32"] = op(Class::i32, [](u32 a, u32 b) { return (u32)((u64)a * b >> 32); });
  t["mul.hi.u64"] = op(Class::i64, [](u64 a, u64 b) { return (u64)((unsigned __int128)a * b >> 64); });
  t["mul.wide.u32"] = op(Class::i32, [](u32 a, u32 b) { return (u64)a * b; });
  t["mul.wide.s32"] = op(Class::i32, [](s32 a, s32 b) { return (s64)a * b; });
}

// to_s32 rounds towards 0, saturates, and makes of NaN what the instruction does.
template <class T> s32 to_s32(T a, s32 of_nan) {
  return a != a ? of_nan : a >= (T)0x1p31 ? INT32_MAX : a <= (T)-0x1p31 ? INT32_MIN : (s32)a;
}

template <class D, class S> void convert(Table& t, const std::string& types, Class counts) {
  t["cvt." + types] = op(counts, [](S a) { return (D)a; });
}
void conversions(Table& t) {
  convert<u64, u32>(t, "u64.u32", Class::i32), convert<s64, s32>(t, "s64.s32", Class::i32);
  convert<u32, u64>(t, "u32.u64", Class::mov), convert<u32, u16>(t, "u32.u16", Class::i32);
  convert<u64, u16>(t, "u64.u16", Class::i32), convert<u16, u32>(t, "u16.u32", Class::i32);
  convert<u16, u64>(t, "u16.u64", Class::i32), convert<double, float>(t, "f64.f32", Class::cvt);
  convert<double, s32>(t, "rn.f64.s32", Class::cvt), convert<double, u32>(t, "rn.f64.u32", Class::cvt);
  convert<double, s64>(t, "rn.f64.s64", Class::cvt), convert<double, u64>(t, "rn.f64.u64", Class::cvt);
  convert<float, s32>(t, "rn.f32.s32", Class::cvt), convert<float, u32>(t, "rn.f32.u32", Class::cvt);
  t["cvt.rn.f32.f64"] = op(Class::cvt, [](double a) { return canonical((float)a); });
  t["cvt.rzi.s32.f64"] = op(Class::cvt, [](double a) { return to_s32(a, INT32_MIN); });
  t["cvt.rzi.s32.f32"] = op(Class::cvt, [](float a) { return to_s32(a, 0); });
}

void bits(Table& t) {
  t["clz.b64"] = op(Class::i32, [](u64 a) { return (u32)std::countl_zero(a); });
  t["bfe.u32"] = op(Class::i32, [](u32 a, u32 b, u32 c) {
    u64 from = b & 0xff, length = c & 0xff;
    return from > 31 ? 0 : length > 31 ? a >> from : (u32)(a >> from & ((1u << length) - 1));
  });
  t["and.pred"] = op(Class::mov, [](bool a, bool b) { return a && b; });
  t["or.pred"] = op(Class::mov, [](bool a, bool b) { return a || b; });
  t["xor.pred"] = op(Class::mov, [](bool a, bool b) { return a != b; });
  t["not.pred"] = op(Class::mov, [](bool a) { return !a; });
  t["mov.pred"] = op(Class::mov, [](bool a) { return a; });
  t["join.b64"] = op(Class::mov, [](u32 a, u32 b) { return (u64)b << 32 | a; }); // mov.b64 x, {a, b}
  t["low.b64"] = op(Class::mov, [](u64 a) { return (u32)a; }); // mov.b64 {x, y}, a is two
  t["high.b64"] = op(Class::mov, [](u64 a) { return (u32)(a >> 32); });
}

} // namespace

const Table& arithmetic() {
  static const Table all = [] {
    Table t;
    integers<u16>(t, "16", Class::i32);
    integers<u32>(t, "32", Class::i32);
    integers<u64>(t, "64", Class::i64);
    floats<float>(t, ".f32", Class::f32);
    floats<double>(t, ".f64", Class::f64);
    compare<float>(t, ".f32", Class::f32), unordered<float>(t, ".f32", Class::f32);
    compare<double>(t, ".f64", Class::f64), unordered<double>(t, ".f64", Class::f64);
    t["ex2.approx.ftz.f32"] = op(Class::sfu, [](float a) { return ex2(a); });
    t["mov.f32"] = t["mov.u32"], t["mov.f64"] = t["mov.u64"];
    t["selp.f32"] = t["selp.b32"], t["selp.f64"] = t["selp.b64"];
    t["cvta.to.global.u64"] = t["cvta.global.u64"] = t["mov.u64"];
    products(t), conversions(t), bits(t);
    return t;
  }();
  return all;
}

} // namespace ptx
