// Memory of the device: allocations whose addresses are never given out again, and beside each four bytes who read and
// wrote them last.
#pragma once
#include "code.h"

namespace ptx {

struct Allocation {
  u64 from, to;
  bool live;
  u32 launch; // the latest with an argument that points into it
};

// Access is the last thread that touched a word: by launch, block, and the barriers that its block had passed.
struct Access {
  u32 launch, block;
  u16 epoch, thread;
};
constexpr u32 several_blocks = ~0u;
constexpr u16 several_threads = 0xffff;

struct Cell {
  Access write, read;
  u32 read_only; // the latest launch that read it by ld.global.nc
};

void open_memory();
Allocation* allocation_of(u64 address);
size_t number_of(const Allocation* a);
bool inside(u64 address, u64 size);   // whether all of it is in a live allocation
Cell& cell(u64 address);
bool written(u64 address);
void mark_written(u64 address, u64 size);
u64 first_unwritten(u64 address, u64 size); // 0 if there is none
void copy_marks(u64 to, u64 from, u64 size);

u64 memory_used();
u64 allocate(u64 size, bool touch); // 0 if there is no room. Contents are undefined; those that are touched are NaN
bool release(u64 address);
void release_all();

} // namespace ptx
