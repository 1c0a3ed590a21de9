#include "memory.h"

#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace ptx {

namespace {

constexpr u64 space = 256ull << 30, page = 4096, alignment = 256;

char* base;        // of the device's addresses, which are the host's
u32* owner;        // of each page, an index into allocations
Cell* cells;       // of each word
u8* marks;         // of each word: something was written to it
u64 next = 0, used = 0;
std::vector<Allocation> allocations(1);
std::map<u64, u32> live;

// reserve takes addresses; memory comes where they are touched.
template <class T> void reserve(T*& p, u64 count) {
  int how = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  void* at = mmap(nullptr, count * sizeof(T), PROT_READ | PROT_WRITE, how, -1, 0);
  if (at == MAP_FAILED) {
    perror("ptxsim: address space");
    abort();
  }
  p = (T*)at;
}

// forget gives whole pages of a table back, which are 0 afterwards.
template <class T> void forget(T* from, T* to) {
  u64 first = ((u64)from + page - 1) / page * page, last = (u64)to / page * page;
  if (first < last) madvise((void*)first, last - first, MADV_DONTNEED);
}

u64 offset_of(u64 address) { return address - (u64)base; }

} // namespace

void open_memory() {
  if (base) return;
  reserve(base, space);
  reserve(owner, space / page);
  reserve(cells, space / 4);
  reserve(marks, space / 4);
}

Allocation* allocation_of(u64 address) {
  u64 offset = offset_of(address);
  if (offset >= space) return nullptr;
  u32 k = owner[offset / page];
  return k ? &allocations[k] : nullptr;
}

size_t number_of(const Allocation* a) { return a - allocations.data(); }

bool inside(u64 address, u64 size) {
  Allocation* a = allocation_of(address);
  return size == 0 || (a && a->live && address >= a->from && address + size <= a->to);
}

Cell& cell(u64 address) { return cells[offset_of(address) / 4]; }
bool written(u64 address) { return marks[offset_of(address) / 4]; }

void mark_written(u64 address, u64 size) {
  if (size == 0) return;
  u64 first = offset_of(address) / 4, last = offset_of(address + size - 1) / 4;
  memset(marks + first, 1, last - first + 1);
}

u64 first_unwritten(u64 address, u64 size) {
  for (u64 at = address; at < address + size; at += 4)
    if (!written(at)) return at;
  return 0;
}

void copy_marks(u64 to, u64 from, u64 size) {
  if (((to ^ from) & 3) == 0) memmove(marks + offset_of(to) / 4, marks + offset_of(from) / 4, (size + 3) / 4);
  else mark_written(to, size);
}

u64 memory_used() { return used; }

u64 allocate(u64 size, bool touch) {
  u64 first = next + page, pages = (alignment + size + page - 1) / page; // a page before and after is nobody's
  if (first + (pages + 1) * page > space) return 0;
  next = first + pages * page;
  u64 at = (u64)base + first + alignment; // no better aligned than the driver promises
  for (u64 k = 0; k < pages; k++) owner[first / page + k] = allocations.size();
  live[at] = allocations.size();
  allocations.push_back({at, at + size, true, 0});
  used += size;
  if (touch) memset((void*)at, 0xff, size);
  return at;
}

bool release(u64 address) {
  auto it = live.find(address);
  if (it == live.end()) return false;
  Allocation& a = allocations[it->second];
  a.live = false;
  used -= a.to - a.from;
  u64 first = offset_of(a.from), last = offset_of(a.to);
  forget(base + first, base + last);
  forget(cells + first / 4, cells + last / 4);
  forget(marks + first / 4, marks + last / 4);
  live.erase(it);
  return true;
}

void release_all() {
  while (!live.empty()) release(live.begin()->first);
}

} // namespace ptx
