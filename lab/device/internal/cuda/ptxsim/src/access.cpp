// Every access is held to its allocation and alignment, and to who touched the words since the last barrier. Errors:
//
//   bounds    outside of allocations, in freed memory, or in an allocation that no argument points into
//   race      another thread wrote or read it since the last barrier, or another block did in this launch
//   read-only ld.global.nc of what the launch writes, whoever does it: the hardware may read it at another time
//   unset     nothing wrote what is read
#include "access.h"

#include <cstring>

#include "context.h"
#include "memory.h"

namespace ptx {

namespace {

bool misaligned(Context& c, const Insn& in, int lane, u64 at, u32 size) {
  if (at & (size - 1)) fail(c, misaligned_address, in, lane, "%u bytes at %#lx are not aligned", size, at);
  return c.fault;
}

// Global is memory of the device, at the host's addresses.
struct Global {
  static bool refused(Context& c, const Insn& in, int lane, u64 at, u32 size) {
    if (misaligned(c, in, lane, at, size)) return true;
    Allocation* a = allocation_of(at);
    if (!a || !a->live) {
      fail(c, illegal_address, in, lane, "bounds: %u bytes at %#lx are in no live allocation", size, at);
    } else if (at < a->from || at + size > a->to) {
      fail(c, illegal_address, in, lane, "bounds: %u bytes at %ld of an allocation of %ld", size, (s64)(at - a->from),
          (s64)(a->to - a->from));
    } else if (a->launch != c.launch->id) {
      undefined(c, in, lane, "bounds: allocation %zu, which no argument points into", number_of(a));
    }
    return c.fault;
  }

  static void read(Context& c, const Insn& in, int lane, u64 at, u32 size) {
    if (refused(c, in, lane, at, size)) return;
    for (u64 word = at; word < at + size; word += 4) read_word(c, in, lane, word);
  }
  static void read_word(Context& c, const Insn& in, int lane, u64 at) {
    u16 me = c.first_thread + lane;
    if (!written(at)) undefined(c, in, lane, "unset: reads %#lx, which nothing wrote", at);
    Cell& cell = ptx::cell(at);
    u32 launch = c.launch->id;
    const Access& w = cell.write;
    if (w.launch == launch) {
      if (in.read_only) undefined(c, in, lane, "read-only: block %u, thread %u wrote it", w.block, w.thread);
      if (w.block != c.block) undefined(c, in, lane, "race: reads what block %u, thread %u wrote", w.block, w.thread);
      if (w.epoch == c.epoch && w.thread != me)
        undefined(c, in, lane, "race: reads what thread %u wrote since the last barrier", w.thread);
    }
    Access& r = cell.read;
    if (r.launch != launch) r = {launch, c.block, c.epoch, me};
    else if (r.block != c.block) r.block = several_blocks;
    else if (r.epoch != c.epoch) r.epoch = c.epoch, r.thread = me;
    else if (r.thread != me) r.thread = several_threads;
    if (in.read_only) cell.read_only = launch;
  }

  static void write(Context& c, const Insn& in, int lane, u64 at, u32 size) {
    if (refused(c, in, lane, at, size)) return;
    for (u64 word = at; word < at + size; word += 4) write_word(c, in, lane, word);
    mark_written(at, size);
  }
  static void write_word(Context& c, const Insn& in, int lane, u64 at) {
    Cell& cell = ptx::cell(at);
    u32 launch = c.launch->id;
    held_to(c, in, lane, cell.write, "wrote");
    held_to(c, in, lane, cell.read, "read");
    if (cell.read_only == launch) undefined(c, in, lane, "read-only: writes what ld.global.nc read in this launch");
    cell.write = {launch, c.block, c.epoch, (u16)(c.first_thread + lane)};
  }
  // held_to fails a write after an access by another thread that no barrier is between.
  static void held_to(Context& c, const Insn& in, int lane, const Access& a, const char* did) {
    if (a.launch != c.launch->id) return;
    if (a.block != c.block) undefined(c, in, lane, "race: writes what block %d %s", (int)a.block, did);
    if (a.epoch == c.epoch && a.thread != c.first_thread + lane)
      undefined(c, in, lane, "race: writes what thread %u %s since the last barrier", a.thread, did);
  }

  static char* host(Context&, u64 at) { return (char*)at; }
  static u64 units(u32 mask, const u64* at, u32 size) { return sectors(mask, at, size); }
};

// Shared is memory of a block. Its addresses begin at 0.
struct Shared {
  static bool refused(Context& c, const Insn& in, int lane, u64 at, u32 size) {
    if (at + size > c.kernel->shared_size)
      fail(c, illegal_address, in, lane, "bounds: %u bytes at %ld of %u shared ones", size, (s64)at,
          c.kernel->shared_size);
    return misaligned(c, in, lane, at, size);
  }

  static void read(Context& c, const Insn& in, int lane, u64 at, u32 size) {
    if (refused(c, in, lane, at, size)) return;
    u16 me = c.first_thread + lane;
    for (u64 word = at / 4; word < (at + size) / 4; word++) {
      SharedCell& cell = c.shared_cells[word];
      if (cell.write_epoch < c.first_epoch)
        undefined(c, in, lane, "unset: reads shared byte %u", (u32)word * 4);
      else if (cell.write_epoch == c.shared_epoch && cell.writer != me)
        undefined(c, in, lane, "race: reads what thread %u wrote since the last barrier", cell.writer);
      if (cell.read_epoch != c.shared_epoch) cell.read_epoch = c.shared_epoch, cell.reader = me;
      else if (cell.reader != me) cell.reader = several_threads;
    }
  }

  static void write(Context& c, const Insn& in, int lane, u64 at, u32 size) {
    if (refused(c, in, lane, at, size)) return;
    u16 me = c.first_thread + lane;
    for (u64 word = at / 4; word < (at + size) / 4; word++) {
      SharedCell& cell = c.shared_cells[word];
      if (cell.write_epoch == c.shared_epoch && cell.writer != me)
        undefined(c, in, lane, "race: writes what thread %u wrote since the last barrier", cell.writer);
      if (cell.read_epoch == c.shared_epoch && cell.reader != me)
        undefined(c, in, lane, "race: writes what thread %u read since the last barrier", cell.reader);
      cell.write_epoch = c.shared_epoch, cell.writer = me;
    }
  }

  static char* host(Context& c, u64 at) { return c.shared + at; }
  static u64 units(u32 mask, const u64* at, u32 size) { return wavefronts(mask, at, size); }
};

// Fixed is what a launch is given and cannot write: parameters and constants.
template <bool constant> struct Fixed {
  static void read(Context& c, const Insn& in, int lane, u64 at, u32 size) {
    u64 all = constant ? c.kernel->constants->size() : c.kernel->params_size;
    if (at + size > all) fail(c, illegal_address, in, lane, "bounds: %u bytes at %ld of %lu", size, (s64)at, all);
    misaligned(c, in, lane, at, size);
  }
  static char* host(Context& c, u64 at) {
    return (constant ? (char*)c.kernel->constants->data() : c.launch->params.data()) + at;
  }
  static u64 units(u32, const u64*, u32) { return 0; }
};

template <class Space> void count(Context& c, const u64* at, u32 size) {
  if (c.launch->counts.empty()) return;
  Count& n = c.launch->counts[c.pc];
  n.bytes += (u64)size * __builtin_popcount(c.mask);
  n.units += Space::units(c.mask, at, size);
}

// addresses of the lanes are taken before anything is loaded, since a destination may hold them.
struct Addresses {
  u64 at[lanes];
  Addresses(Context& c, const Insn& in) {
    for (int l = 0; l < lanes; l++) at[l] = c.at<u64>(in.from[0])[l] + in.number;
  }
};

// load moves values of type T into registers of type R, which may be wider.
template <class T, class R, class Space> void load(Context& c, const Insn& in) {
  Addresses a(c, in);
  u32 size = sizeof(T) * in.vector;
  each(c, [&](int l) { Space::read(c, in, l, a.at[l], size); });
  if (c.fault) return;
  count<Space>(c, a.at, size);
  for (int v = 0; v < in.vector; v++)
    each(c, [&](int l) {
      T value;
      memcpy(&value, Space::host(c, a.at[l]) + v * sizeof value, sizeof value);
      c.at<R>(in.parts[v])[l] = (R)value;
    });
}

template <class T, class R, class Space> void store(Context& c, const Insn& in) {
  Addresses a(c, in);
  u32 size = sizeof(T) * in.vector;
  each(c, [&](int l) { Space::write(c, in, l, a.at[l], size); });
  if (c.fault) return;
  count<Space>(c, a.at, size);
  for (int v = 0; v < in.vector; v++)
    each(c, [&](int l) {
      T value = (T)c.at<R>(in.parts[v])[l];
      memcpy(Space::host(c, a.at[l]) + v * sizeof value, &value, sizeof value);
    });
}

template <class T, class R> Run moving(bool is_load, const std::string& space) {
  if (space == "global") return is_load ? load<T, R, Global> : store<T, R, Global>;
  if (space == "shared") return is_load ? load<T, R, Shared> : store<T, R, Shared>;
  if (space == "param" && is_load) return load<T, R, Fixed<false>>;
  return space == "const" && is_load ? load<T, R, Fixed<true>> : nullptr;
}

} // namespace

Run access(bool is_load, const std::string& space, const std::string& type, Width to) {
  int size = type.substr(1) == "64" ? 8 : type.substr(1) == "32" ? 4 : 0;
  if (size == 8 && to == wide) return moving<u64, u64>(is_load, space);
  if (size == 4 && to == word) return moving<u32, u32>(is_load, space);
  if (size != 4 || to != wide) return nullptr;
  return type == "s32" ? moving<s32, s64>(is_load, space) : moving<u32, u64>(is_load, space);
}

// Atomics are no races, and what one decides is only read by who won.
void compare_and_swap(Context& c, const Insn& in) {
  Addresses a(c, in);
  each(c, [&](int l) {
    if (Global::refused(c, in, l, a.at[l], 4)) return;
    if (!written(a.at[l])) undefined(c, in, l, "unset: an atomic on what nothing wrote");
    u32 *p = (u32*)a.at[l], old = *p;
    if (old == c.at<u32>(in.from[1])[l]) *p = c.at<u32>(in.from[2])[l];
    c.at<u32>(in.to)[l] = old;
  });
  count<Global>(c, a.at, 4);
}

} // namespace ptx
