// Moving elements. Bound by memory: each element is read and written once.
#include "axes.h"
#include "fault.h"

typedef u32 Quad __attribute__((vector_size(16)));

// permute reads at strides, where it can runs of 16 bytes; the writes are contiguous. Where the last
// axis moves, transpose is faster.
#define MAKE(S, T) \
  KERNEL BOUNDS(256) permute_##S(Out<T> y, In<T> x, Axes at) { \
    EACH(i, at.len) { \
      i64 o[1]; \
      place(at, i, o); \
      y[i] = x[o[0]]; \
    } \
  } \
  /* paste copies count blocks of len elements, from every sfrom-th on to every sto-th on. */ \
  KERNEL BOUNDS(256) paste_##S(Out<T> y, In<T> x, i64 count, i64 len, i64 sto, i64 sfrom) { \
    if (count * len < 0x7fffffff) { \
      EACH(i, count * len) { \
        u32 block = (u32)i / (u32)len; \
        i64 in = i - (i64)block * len; \
        y[block * sto + in] = x[block * sfrom + in]; \
      } \
    } else { \
      EACH(i, count * len) { \
        i64 block = i / len, in = i - block * len; \
        y[block * sto + in] = x[block * sfrom + in]; \
      } \
    } \
  }
MAKE(b32, u32)
MAKE(b64, u64)
MAKE(b128, Quad)
#undef MAKE

// transpose turns batches of rows×cols around through tiles of 32×32, so that reads and writes are
// both contiguous. The grid is tiles of columns in x, of rows and batches folded into y.
#define MAKE(S, T) \
  KERNEL BOUNDS(256) transpose_##S(Out<T> y, In<T> x, i64 batch, i64 rows, i64 cols) { \
    SHARED(T, tile, [32][33]); \
    u32 tx = tid() & 31, ty = tid() >> 5; \
    u32 down = (u32)((rows + 31) / 32); \
    for (i64 job = bidy(); job < batch * down; job += blocksy()) { \
      i64 b = (i64)((u32)job / down), r0 = (job - b * down) * 32, c0 = (i64)bidx() * 32; \
      for (u32 k = ty; k < 32; k += 8) \
        if (r0 + k < rows && c0 + tx < cols) tile[k][tx] = x[(b * rows + r0 + k) * cols + c0 + tx]; \
      barrier(); \
      for (u32 k = ty; k < 32; k += 8) \
        if (c0 + k < cols && r0 + tx < rows) y[(b * cols + c0 + k) * rows + r0 + tx] = tile[tx][k]; \
      barrier(); \
    } \
  }
MAKE(b32, u32)
MAKE(b64, u64)
#undef MAKE

// gather copies rows of d elements, which may be runs of 16 bytes: a bad index leaves zeros and a
// fault. base is the number of the first row.
#define MAKE(S, T) \
  KERNEL BOUNDS(256) gather_##S(Out<T> y, In<T> table, In<i32> index, Out<Fault> fault, i64 count, Div d, i64 rows, \
      i64 base) { \
    EACH(i, count) { \
      u32 at = (u32)i, row = split(at, d); \
      i32 k = index[row]; \
      bool bad = k < 0 || k >= rows; \
      if (bad && at == 0) tell(fault, 0, k, base + row); \
      y[i] = bad ? T{} : table[(i64)k * d.by + at]; \
    } \
  }
MAKE(b32, u32)
MAKE(b64, u64)
MAKE(b128, Quad)
#undef MAKE

#define MAKE(S, T) \
  /* scatter adds rows in the order of i without atomics: the block of the first i with an index  \
     adds all that share it. Finding out costs n reads of 4 bytes a block, from the cache. */      \
  KERNEL BOUNDS(128) \
  scatter_##S(Out<T> table, In<T> x, In<i32> index, Out<Fault> fault, i64 n, i64 d, i64 rows) { \
    SHARED(i32, same, [128]); \
    SHARED(i32, earlier, [4]); \
    for (i64 i = bidx(); i < n; i += blocksx()) { \
      i32 k = index[i]; \
      if (k < 0 || k >= rows) { \
        if (tid() == 0) tell(fault, 1, k, i); \
        continue; \
      } \
      i32 seen = 0; \
      for (i64 j = tid(); j < i; j += 128) seen |= index[j] == k; \
      for (u32 mask = 16; mask > 0; mask /= 2) seen |= swap(seen, mask); \
      barrier(); \
      if (tid() % 32 == 0) earlier[tid() / 32] = seen; \
      barrier(); \
      if (earlier[0] | earlier[1] | earlier[2] | earlier[3]) continue; \
      for (i64 c0 = 0; c0 < d; c0 += 128) { \
        i64 c = c0 + tid(); \
        T sum = c < d ? table[(i64)k * d + c] : (T)0; \
        for (i64 j0 = i; j0 < n; j0 += 128) { \
          barrier(); \
          same[tid()] = j0 + tid() < n && index[j0 + tid()] == k; \
          barrier(); \
          if (c < d) \
            for (u32 j = 0; j < 128; j++) \
              if (same[j]) sum += x[(j0 + j) * d + c]; \
        } \
        if (c < d) table[(i64)k * d + c] = sum; \
      } \
    } \
  }
FLOATS(MAKE)
#undef MAKE
