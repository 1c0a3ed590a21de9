// A block runs as warps, and a warp as parts: lanes that are at one instruction together. Parts split at branches,
// rejoin where they meet, and wait for others at barriers and where all lanes of a warp take part.
#include <algorithm>
#include <cstring>

#include "context.h"
#include "options.h"

namespace ptx {

namespace {

enum class Waits : u8 { no, at_barrier, for_warp };

struct Part {
  u32 pc, mask;
  Waits waits;
};

struct Warp {
  char* registers;
  u32* set;
  u32 first_thread, begun, alive; // lanes
  std::vector<Part> parts;
};

std::vector<Warp> warps;
std::vector<char> register_memory, shared_memory;
std::vector<u32> set_memory;
std::vector<SharedCell> shared_cells;
u64 last_epoch = 0; // of shared memory, over all blocks

u64 random_state;

void enter(Context& c, const Warp& w, const Part& p) {
  c.registers = w.registers;
  c.set = w.set;
  c.first_thread = w.first_thread;
  c.mask = p.mask;
  c.pc = p.pc;
}

const Insn& insn(const Context& c, u32 pc) { return c.kernel->code[pc]; }

// note counts an execution and holds operands to what was set.
void note(Context& c, const Insn& in) {
  if (!c.launch->counts.empty()) {
    Count& n = c.launch->counts[c.pc];
    n.warps++;
    n.lanes += __builtin_popcount(c.mask);
  }
  if (!options.unset) return;
  for (u16 r : in.reads)
    if (u32 missing = c.mask & ~c.set[r])
      undefined(c, in, __builtin_ctz(missing), "unset: an operand was not set on this path");
  for (u16 r : in.writes) c.set[r] |= c.mask;
}

// branch moves a part of a warp, or splits it.
void branch(Context& c, const Insn& in, Warp& w, size_t part) {
  u32 goes = *c.at<u32>(in.from[0]);
  if (in.negated) goes = ~goes;
  goes &= c.mask;
  Part& p = w.parts[part];
  if (goes == c.mask) {
    p.pc = in.target;
    return;
  }
  p.pc++;
  if (goes == 0) return;
  p.mask &= ~goes;
  w.parts.push_back({in.target, goes, Waits::no});
}

// run takes a part of a warp until it waits, ends or splits, reaches limit, or has executed as much as it may.
void run(Context& c, Warp& w, size_t part, u32 limit, u64 budget) {
  enter(c, w, w.parts[part]);
  u32 mask = c.mask;
  while (c.pc < limit && budget-- > 0) {
    const Insn& in = insn(c, c.pc);
    Part& p = w.parts[part];
    if (in.kind == Kind::barrier || in.kind == Kind::warp) {
      p.waits = in.kind == Kind::barrier ? Waits::at_barrier : Waits::for_warp;
      return;
    }
    note(c, in);
    if (in.kind == Kind::straight) {
      if (in.run && !c.fault) in.run(c, in);
      p.pc++;
    } else if (in.kind == Kind::branch) {
      branch(c, in, w, part);
    } else {
      w.alive &= ~mask;
      w.parts.erase(w.parts.begin() + part);
      return;
    }
    if (c.fault || w.parts[part].mask != mask) return;
    c.pc = w.parts[part].pc;
  }
}

// rejoin makes one of parts that are at the same place.
void rejoin(Warp& w) {
  for (size_t i = 0; i < w.parts.size(); i++)
    for (size_t j = w.parts.size() - 1; j > i; j--)
      if (w.parts[i].pc == w.parts[j].pc && w.parts[i].waits == w.parts[j].waits) {
        w.parts[i].mask |= w.parts[j].mask;
        w.parts.erase(w.parts.begin() + j);
      }
}

// together executes what takes all lanes of a warp, when all that are alive wait there.
void together(Context& c, Warp& w) {
  u32 there = 0;
  for (auto& p : w.parts)
    if (p.waits == Waits::for_warp) there |= p.mask;
  if (there == 0 || there != w.alive) return;
  rejoin(w);
  Part& p = w.parts[0];
  if (p.mask != w.alive) return; // at different ones
  enter(c, w, p);
  const Insn& in = insn(c, p.pc);
  note(c, in);
  if (p.mask != all_lanes)
    return undefined(c, in, __builtin_ctz(p.mask), "shuffle: lanes %#x alone are there", p.mask);
  in.run(c, in);
  p.pc++;
  p.waits = Waits::no;
}

struct Turn {
  Warp* warp = nullptr;
  size_t part = 0;
  u32 limit = ~0u;
  u64 budget = ~0ull;
};

// lowest is the part of the first warp that can go on which is furthest behind; it goes as far as the next one.
Turn lowest() {
  for (auto& w : warps) {
    Turn t;
    for (size_t k = 0; k < w.parts.size(); k++) {
      if (w.parts[k].waits != Waits::no) continue;
      u32 pc = w.parts[k].pc, best = t.warp ? w.parts[t.part].pc : ~0u;
      if (pc < best) t.warp = &w, t.part = k;
      t.limit = std::min(t.limit, std::max(pc, best));
    }
    if (t.warp) return t;
  }
  return {};
}

// any is some part that can go on, for some instructions.
Turn any() {
  static std::vector<std::pair<Warp*, size_t>> can;
  can.clear();
  for (auto& w : warps)
    for (size_t k = 0; k < w.parts.size(); k++)
      if (w.parts[k].waits == Waits::no) can.push_back({&w, k});
  if (can.empty()) return {};
  auto [w, k] = can[draw() % can.size()];
  return {w, k, ~0u, 1 + draw() % (draw() % 4 ? 16 : 300)};
}

// pass lets a block go on whose threads all wait at one barrier. Else they wait for one another for ever.
void pass(Context& c) {
  u32 pc = ~0u;
  for (auto& w : warps)
    for (auto& p : w.parts) {
      enter(c, w, p);
      const Insn& in = insn(c, p.pc);
      int lane = __builtin_ctz(p.mask);
      if (pc == ~0u) pc = p.pc;
      if (p.waits != Waits::at_barrier || p.pc != pc)
        return undefined(c, in, lane, "barrier: threads wait at different ones");
      if (w.alive != w.begun)
        return undefined(c, in, lane, "barrier: lanes %#x of the warp have ended", w.begun & ~w.alive);
    }
  for (auto& w : warps)
    for (auto& p : w.parts) {
      enter(c, w, p);
      note(c, insn(c, p.pc));
      p.pc++;
      p.waits = Waits::no;
    }
  c.epoch++;
  c.shared_epoch = ++last_epoch;
}

template <class F> void special(Context& c, const Reg& r, F value) {
  if (r.offset == 0) return;
  for (int l = 0; l < lanes; l++) c.at<u32>(r.offset)[l] = value(l);
}

void begin(Context& c, Warp& w, u32 threads) {
  w.begun = w.alive = threads >= lanes ? all_lanes : (1u << threads) - 1;
  w.parts.assign(1, {0, w.alive, Waits::no});
  enter(c, w, w.parts[0]);
  if (options.unset) std::fill(w.set, w.set + c.kernel->registers, 0);
  special(c, c.kernel->tid, [&](int l) { return w.first_thread + l; });
  special(c, c.kernel->ntid, [&](int) { return c.launch->threads; });
  for (int axis = 0; axis < 3; axis++) {
    special(c, c.kernel->ctaid[axis], [&](int) { return c.place[axis]; });
    special(c, c.kernel->nctaid[axis], [&](int) { return c.launch->grid[axis]; });
  }
}

// prepare makes room for a block of a launch.
void prepare(Context& c) {
  const Kernel& k = *c.kernel;
  u32 count = (c.launch->threads + lanes - 1) / lanes;
  warps.resize(count);
  register_memory.resize(k.start.size() * count + 64);
  set_memory.resize(k.registers * count);
  shared_memory.resize(k.shared_size + 16);
  shared_cells.resize(k.shared_size / 4 + 4);
  char* first = (char*)(((u64)register_memory.data() + 63) & ~63ull);
  for (u32 n = 0; n < count; n++) {
    Warp& w = warps[n];
    w.registers = first + n * k.start.size();
    w.set = set_memory.data() + n * k.registers;
    w.first_thread = n * lanes;
    memcpy(w.registers, k.start.data(), k.start.size());
  }
  c.shared = (char*)(((u64)shared_memory.data() + 15) & ~15ull);
  c.shared_cells = shared_cells.data();
}

} // namespace

void seed(u64 s) { random_state = 0x9e3779b97f4a7c15ull * (s + 1); }

u32 draw() { // xorshift64 (Marsaglia 2003)
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return (u32)(random_state >> 11);
}

void run_block(Context& c) {
  prepare(c);
  c.first_epoch = c.shared_epoch = ++last_epoch;
  c.epoch = 0;
  for (auto& w : warps) begin(c, w, c.launch->threads - w.first_thread);
  for (;;) {
    Turn t = options.random ? any() : lowest();
    if (t.warp) {
      run(c, *t.warp, t.part, t.limit, t.budget);
      if (!options.random || draw() % 2) rejoin(*t.warp);
      if (!c.fault) together(c, *t.warp);
    } else {
      for (auto& w : warps) rejoin(w);
      if (std::all_of(warps.begin(), warps.end(), [](const Warp& w) { return w.parts.empty(); })) return;
      pass(c);
    }
    if (c.fault) return;
  }
}

} // namespace ptx
