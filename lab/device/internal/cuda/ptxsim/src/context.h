// What runs: a launch, a block of it, and the lanes of a warp that execute an instruction together.
#pragma once
#include "code.h"

namespace ptx {

// Results of the driver, as CUDA numbers them.
constexpr int ok = 0, invalid_value = 1, out_of_memory = 2, not_initialized = 3, no_device = 100, invalid_device = 101,
              invalid_image = 200, invalid_context = 201, no_binary = 209, invalid_handle = 400, not_found = 500,
              illegal_address = 700, out_of_resources = 701, misaligned_address = 716, launch_failed = 719,
              capture_unsupported = 900, capture_unmatched = 905;

// Count is what an instruction did in a launch: executions by warps and by lanes, bytes that it moved, and sectors of
// 32 bytes in global memory or wavefronts in shared memory.
struct Count {
  u64 warps = 0, lanes = 0, bytes = 0, units = 0;
};

struct Launch {
  std::shared_ptr<Kernel> kernel;
  u32 id, grid[3], threads;
  std::vector<char> params;
  std::vector<Count> counts; // by instruction; empty unless they are traced
};

// SharedCell is who touched a word of shared memory last. Epochs are never used again, also not by another block.
struct SharedCell {
  u64 write_epoch, read_epoch;
  u16 writer, reader;
};

struct Context {
  Launch* launch;
  Kernel* kernel;
  u32 block, place[3];    // number of the block and where it lies in the grid
  u16 epoch;              // barriers that the block has passed
  u64 shared_epoch, first_epoch;
  char* shared;
  SharedCell* shared_cells;

  char* registers;        // of the warp
  u32* set;               // lanes in which a register was set, by number
  u32 mask, first_thread; // lanes that execute, and the thread that is lane 0
  u32 pc;
  int fault = ok;

  template <class T> T* at(u32 offset) { return (T*)(registers + offset); }
};

// each calls f for each lane that executes.
template <class F> inline void each(const Context& c, F f) {
  for (u32 m = c.mask; m; m &= m - 1) f(__builtin_ctz(m));
}

// fail ends the launch with an error, of which what is said is the driver's message. The first one counts. undefined
// does so where hardware would go on, with an outcome that nobody promises.
[[gnu::cold, gnu::noinline, gnu::format(printf, 5, 6)]]
void fail(Context& c, int code, const Insn& in, int lane, const char* format, ...);
#define undefined(c, in, lane, ...) fail(c, launch_failed, in, lane, __VA_ARGS__)
extern std::string last_fault;

// run_launch runs every block of a launch and returns its result.
int run_launch(Launch& l);
void run_block(Context& c);
void seed(u64 s);
u32 draw(); // of the schedule
void trace(const Launch& l);

} // namespace ptx
