// What every kernel stands on: the language of the GPU without the CUDA toolkit's headers.
//
//   KERNEL name(...)  a function that is launched.
//   In<T>             memory that nothing writes while the kernel runs.
//   Arg<T>            memory that is read and may be the destination too.
//   Out<T>            memory that is written.
//   SHARED(T, x, [n]) memory of a block, undefined at first; barrier() is a barrier for its threads.
//
// Grids are one-dimensional in x unless a kernel says so; sizes and offsets are 64 bits wide.
#pragma once

typedef int i32;
typedef unsigned u32;
typedef long long i64;
typedef unsigned long long u64;

#define DEV static __attribute__((device, always_inline)) inline
#define DEVICE __attribute__((device))
#define KERNEL extern "C" __attribute__((global)) void
#define SHARED(T, name, ...) static __attribute__((shared, aligned(16))) T name __VA_ARGS__
#define BOUNDS(...) __attribute__((launch_bounds(__VA_ARGS__))) // threads of a block, perhaps blocks a multiprocessor
#define UNROLL _Pragma("unroll")
#define NOUNROLL _Pragma("unroll 1")
#define TABLE static __attribute__((device)) const // in global memory, read through the cache

template <class T> using In = const T* __restrict__;
template <class T> using Arg = const T*;
template <class T> using Out = T*;

DEV u32 tid() { return __nvvm_read_ptx_sreg_tid_x(); }
DEV u32 bidx() { return __nvvm_read_ptx_sreg_ctaid_x(); }
DEV u32 bidy() { return __nvvm_read_ptx_sreg_ctaid_y(); }
DEV u32 bidz() { return __nvvm_read_ptx_sreg_ctaid_z(); }
DEV u32 threads() { return __nvvm_read_ptx_sreg_ntid_x(); }
DEV u32 blocksx() { return __nvvm_read_ptx_sreg_nctaid_x(); }
DEV u32 blocksy() { return __nvvm_read_ptx_sreg_nctaid_y(); }
DEV u32 blocksz() { return __nvvm_read_ptx_sreg_nctaid_z(); }
DEV void barrier() { __syncthreads(); }

// claim sets a flag and is true for the one thread of the grid that found it 0.
DEV bool claim(i32* flag) { return __nvvm_atom_cas_gen_i(flag, 0, 1) == 0; }

// swap is the value of the lane whose number differs by mask (< 32). All lanes of the warp take
// part.
DEV i32 swap(i32 v, u32 mask) { return __nvvm_shfl_sync_bfly_i32(0xffffffffu, v, mask, 31); }
DEV float swap(float v, u32 mask) { return __nvvm_shfl_sync_bfly_f32(0xffffffffu, v, mask, 31); }
DEV double swap(double v, u32 mask) {
  u64 b = __builtin_bit_cast(u64, v);
  u32 lo = (u32)swap((i32)(u32)b, mask), hi = (u32)swap((i32)(u32)(b >> 32), mask);
  return __builtin_bit_cast(double, (u64)hi << 32 | lo);
}

DEV float mad(float a, float b, float c) { return __nvvm_fma_rn_f(a, b, c); }
DEV double mad(double a, double b, double c) { return __nvvm_fma_rn_d(a, b, c); }
DEV float root(float a) { return __nvvm_sqrt_rn_f(a); }
DEV double root(double a) { return __nvvm_sqrt_rn_d(a); }
DEV u64 mulhi(u64 a, u64 b) { return __nvvm_mulhi_ull(a, b); }

// 2^x and log2 x by the special-function units: relative error below 2^-22 for 2^x (denormal
// results are 0), absolute error below 2^-22 on [1/2, 2] and relative error below 2^-22 elsewhere
// for log2 x. Only the float32 transport kernels use them.
DEV float ex2_fast(float x) { return __nvvm_ex2_approx_ftz_f(x); }

// A grid-stride loop visits first(), first() + stride(), ….
DEV i64 first() { return (i64)bidx() * threads() + tid(); }
DEV i64 stride() { return (i64)blocksx() * threads(); }
#define EACH(i, n) for (i64 i = first(), step_ = stride(); i < (n); i += step_)

DEV float bits_float(u32 b) { return __builtin_bit_cast(float, b); }
DEV double bits_double(u64 b) { return __builtin_bit_cast(double, b); }
DEV u32 float_bits(float x) { return __builtin_bit_cast(u32, x); }
DEV u64 double_bits(double x) { return __builtin_bit_cast(u64, x); }

// tf32 rounds to the digits that tensor cores read, ties away from 0. NaN may become a number.
DEV float tf32(float x) { return __builtin_bit_cast(float, (__builtin_bit_cast(u32, x) + 0x1000u) & 0xffffe000u); }

// multiply adds a·b to c on tensor cores: 16×8 by 8×8 numbers of tf32, shared by the lanes of a
// warp. Lane 4g + t has of a rows g and g + 8 in columns t (a[0], a[1]) and t + 4, of b rows t and
// t + 4 in column g, of c columns 2t and 2t + 1 in rows g (c[0], c[1]) and g + 8.
DEV void multiply(float (&c)[4], const float (&a)[4], float b0, float b1) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(float_bits(a[0])), "r"(float_bits(a[1])), "r"(float_bits(a[2])), "r"(float_bits(a[3])), "r"(float_bits(b0)),
        "r"(float_bits(b1)));
}

DEV float absolute(float x) { return __builtin_fabsf(x); }
DEV double absolute(double x) { return __builtin_fabs(x); }
// with_sign is a with its sign turned where b's is set.
DEV float with_sign(float a, float b) { return bits_float(float_bits(a) ^ (float_bits(b) & 0x80000000u)); }
DEV double with_sign(double a,
    double b) { return bits_double(double_bits(a) ^ (double_bits(b) & 0x8000000000000000ull)); }
DEV float nearest(float x) { return __builtin_rintf(x); }
DEV double nearest(double x) { return __builtin_rint(x); }

template <class T> DEV T smaller(T a, T b) { return a < b ? a : b; }
template <class T> DEV T larger(T a, T b) { return a > b ? a : b; }
// One instruction; of a number and NaN it is the number.
DEV float larger(float a, float b) { return __nvvm_fmax_f(a, b); }
DEV double larger(double a, double b) { return __nvvm_fmax_d(a, b); }

// copy_run copies n neighbours from shared memory that is aligned to all of them (16 bytes at
// most), in one or two loads.
template <int n, class T> DEV void copy_run(T* to, const T* from) {
  constexpr int lanes = n * sizeof(T) > 16 ? 16 / sizeof(T) : n;
  typedef T Run __attribute__((vector_size(lanes * sizeof(T)), may_alias));
  UNROLL
  for (int k = 0; k < n; k += lanes) {
    Run r = *(const Run*)(from + k);
    UNROLL
    for (int j = 0; j < lanes; j++) to[k + j] = r[j];
  }
}

// store_run writes v[0] and what follows to four neighbours, of which left are there: at once where
// they are aligned.
template <class T> DEV void store_run(T* to, const T (&v)[4], i64 left) {
  constexpr int lanes = 16 / sizeof(T);
  typedef T Run __attribute__((vector_size(16), may_alias));
  bool whole = left >= 4 && (u64)to % 16 == 0;
  UNROLL
  for (int k = 0; k < 4; k++) {
    if (!whole && k < left) to[k] = v[k];
    if (!whole || k % lanes != 0) continue;
    Run run;
    UNROLL
    for (int j = 0; j < lanes; j++) run[j] = v[k + j];
    *(Run*)(to + k) = run;
  }
}

template <class T> struct Real;
template <> struct Real<float> {
  static constexpr float inf = __builtin_inff(), nan = __builtin_nanf(""), most = 3.402823466e38f;
};
template <> struct Real<double> {
  static constexpr double inf = __builtin_inf(), nan = __builtin_nan(""), most = 1.7976931348623157e308;
};

// Div divides numbers below 2^31 by a constant of the launch with a product and a shift: mul =
// ⌈2^(31+shift)/by⌉, shift = ⌈log2 by⌉ (Granlund and Montgomery 1994). Mirrored by the Go type div.
struct Div {
  u32 by, mul, shift;
};
DEV u32 quotient(u32 n, const Div& d) { return (u32)((u64)n * d.mul >> (31 + d.shift)); }
DEV u32 split(u32& n, const Div& d) { // n becomes the remainder
  u32 q = quotient(n, d);
  n -= q * d.by;
  return q;
}

// FLOATS makes a kernel for each float type.
#define FLOATS(make) make(f32, float) make(f64, double)
