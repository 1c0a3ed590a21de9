// The kernels' language on the host: threads of a block are fibres that really wait for one another at barriers, and
// every access through a kernel's pointer is checked against the allocation that it was given.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <cmath>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#define DEV static inline
#define DEVICE
#define KERNEL static void
#define SHARED(T, name, ...)               \
  alignas(16) static T name __VA_ARGS__; \
  fake::shared(&name, sizeof name)
#define BOUNDS(...)
#define UNROLL
#define NOUNROLL
#define TABLE static const

namespace fake {

// Here is the running thread's place, and the grid's size.
struct Here {
  u32 tid, bx, by, bz, threads, gx, gy, gz;
};
extern Here here;

// Range is the memory that an argument may touch.
struct Range {
  uintptr_t lo, hi;
};
Range range_of(uintptr_t p);
[[noreturn]] void out_of_range(const void* p, long long index, size_t size, Range r);
void barrier();
u64 exchange(u64 v, u32 mask);
void shared(void* p, size_t size); // a block's memory; in its first thread it becomes NaN

template <class T> class Ptr {
 public:
  Ptr() = default;
  explicit Ptr(T* at) : p(at), r(range_of((uintptr_t)at)) {}
  Ptr(T* at, Range in) : p(at), r(in) {}
  operator Ptr<const T>() const { return Ptr<const T>(p, r); }
  explicit operator bool() const { return p; }
  T& operator[](long long i) const {
    uintptr_t a = (uintptr_t)p + (uintptr_t)i * sizeof(T);
    if (a < r.lo || a + sizeof(T) > r.hi) out_of_range(p, i, sizeof(T), r);
    return *(T*)a;
  }
  Ptr operator+(long long i) const { return Ptr(p + i, r); }

 private:
  T* p = nullptr;
  Range r = {0, 0};
};

// An Entry is a kernel as the driver knows it: its name, the sizes of its arguments, and how to run one thread.
struct Entry {
  const char* name;
  std::vector<size_t> sizes;
  void* (*bind)(const std::vector<std::vector<char>>& raw); // arguments for a launch
  void (*run)(void* bound);                                 // one thread
  void (*release)(void* bound);
};
void add(Entry e);

template <class T> struct Load {
  static constexpr size_t size = sizeof(T);
  static T from(const char* raw) {
    T v;
    memcpy(&v, raw, sizeof v);
    return v;
  }
};
template <class T> struct Load<Ptr<T>> {
  static constexpr size_t size = 8;
  static Ptr<T> from(const char* raw) {
    u64 v;
    memcpy(&v, raw, 8);
    return Ptr<T>((T*)(uintptr_t)v);
  }
};

template <auto f> struct Thunk;
template <class... A, void (*f)(A...)> struct Thunk<f> {
  using Args = std::tuple<std::decay_t<A>...>;
  template <size_t... k> static Args* load(const std::vector<std::vector<char>>& raw, std::index_sequence<k...>) {
    return new Args(Load<std::decay_t<A>>::from(raw[k].data())...);
  }
  static void* bind(const std::vector<std::vector<char>>& raw) { return load(raw, std::index_sequence_for<A...>{}); }
  static void run(void* bound) { std::apply(f, *(Args*)bound); }
  static void release(void* bound) { delete (Args*)bound; }
  static Entry entry(const char* name) { return Entry{name, {Load<std::decay_t<A>>::size...}, bind, run, release}; }
};

struct Register {
  explicit Register(Entry e) { add(std::move(e)); }
};

} // namespace fake

#define EXPORT(name) static fake::Register registered_##name(fake::Thunk<&name>::entry(#name));

template <class T> using In = fake::Ptr<const T>;
template <class T> using Arg = fake::Ptr<const T>;
template <class T> using Out = fake::Ptr<T>;

DEV u32 tid() { return fake::here.tid; }
DEV u32 bidx() { return fake::here.bx; }
DEV u32 bidy() { return fake::here.by; }
DEV u32 bidz() { return fake::here.bz; }
DEV u32 threads() { return fake::here.threads; }
DEV u32 blocksx() { return fake::here.gx; }
DEV u32 blocksy() { return fake::here.gy; }
DEV u32 blocksz() { return fake::here.gz; }
DEV void barrier() { fake::barrier(); }
DEV bool claim(i32* flag) {
  bool first = *flag == 0;
  *flag = 1;
  return first;
}

template <class T> DEV T swap(T v, u32 mask) {
  u64 b = 0;
  memcpy(&b, &v, sizeof v);
  b = fake::exchange(b, mask);
  memcpy(&v, &b, sizeof v);
  return v;
}

DEV float mad(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
DEV double mad(double a, double b, double c) { return __builtin_fma(a, b, c); }
DEV float root(float a) { return __builtin_sqrtf(a); }
DEV double root(double a) { return __builtin_sqrt(a); }
DEV u64 mulhi(u64 a, u64 b) { return (u64)((unsigned __int128)a * b >> 64); }

// ex2_fast rounds to 22 bits, as coarse as the unit that it stands for.
DEV float ex2_fast(float x) {
  float y = __builtin_exp2f(x);
  if (y < 0x1p-126f) return 0;
  return __builtin_bit_cast(float, (__builtin_bit_cast(u32, y) + 2) & ~3u);
}
