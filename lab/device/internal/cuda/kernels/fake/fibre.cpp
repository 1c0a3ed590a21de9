#include "fibre.h"

#include <setjmp.h>
#include <ucontext.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>

namespace fake {

Here here;

namespace {

constexpr size_t stack_size = 64 << 10;

enum State { idle, ready, at_block, at_warp };

struct Fibre {
  jmp_buf at;
  bool begun = false;
  State state = idle;
  u32 tid = 0;
  std::unique_ptr<char[]> stack{new char[stack_size]};
};

struct Block {
  const Entry* entry;
  void* bound;
  long long order;
  u64 random; // what is drawn for the next order
  std::vector<u32> turn; // threads as they start
  std::vector<void*> shared; // memory of the block that has been met
  u32 next = 0, done = 0;
  std::vector<u32> gone; // threads that returned, by warp
  std::string fault;
};

std::vector<std::unique_ptr<Fibre>> fibres;
Fibre* now;
Block block;
jmp_buf home;
u64 slots[1024];

[[noreturn]] void go_home() { _longjmp(home, 1); }

// life of a fibre: it runs threads of the block until one waits or none is left.
void life() {
  for (;;) {
    while (block.next < here.threads) {
      u32 k = block.next++;
      now->tid = here.tid = block.turn[k];
      now->state = ready;
      block.entry->run(block.bound);
      block.done++;
      block.gone[now->tid / 32]++;
    }
    now->state = idle;
    if (_setjmp(now->at) == 0) go_home();
  }
}

ucontext_t born, origin;

// enter goes on with a fibre until it waits.
void enter(Fibre* f) {
  now = f;
  here.tid = f->tid;
  if (_setjmp(home) != 0) return;
  if (f->begun) _longjmp(f->at, 1);
  f->begun = true;
  getcontext(&born);
  born.uc_stack.ss_sp = f->stack.get();
  born.uc_stack.ss_size = stack_size;
  born.uc_link = nullptr;
  makecontext(&born, life, 0);
  swapcontext(&origin, &born);
}

void wait(State s) {
  Fibre* me = now;
  me->state = s;
  if (_setjmp(me->at) == 0) go_home();
}

Fibre* spare() {
  for (auto& f : fibres)
    if (f->state == idle) return f.get();
  fibres.emplace_back(new Fibre);
  return fibres.back().get();
}

// release lets go on who may, and says whether anybody may.
bool release() {
  u32 waiting = 0, at_barrier = 0;
  std::vector<u32> lanes(here.threads / 32 + 1);
  for (auto& f : fibres) {
    if (f->state == at_block || f->state == at_warp) waiting++;
    if (f->state == at_block) at_barrier++;
    if (f->state == at_warp) lanes[f->tid / 32]++;
  }
  bool any = false;
  if (waiting > 0 && at_barrier == waiting) {
    for (auto& f : fibres)
      if (f->state == at_block) f->state = ready, any = true;
    return any;
  }
  for (auto& f : fibres)
    if (f->state == at_warp && lanes[f->tid / 32] == 32) f->state = ready, any = true;
  return any;
}

// shuffle puts things into an order that the seed gives.
template <class T> void shuffle(std::vector<T>& things) {
  for (size_t k = things.size(); k > 1; k--) {
    block.random = block.random * 6364136223846793005u + 1442695040888963407u; // Knuth's MMIX
    std::swap(things[k - 1], things[(block.random >> 33) % k]);
  }
}

void run_block() {
  block.next = block.done = 0;
  block.shared.clear();
  block.turn.resize(here.threads);
  for (u32 k = 0; k < here.threads; k++) block.turn[k] = block.order < 0 ? here.threads - 1 - k : k;
  if (block.order > 0) shuffle(block.turn);
  block.gone.assign(here.threads / 32 + 1, 0);
  for (;;) {
    while (block.next < here.threads && block.fault.empty()) enter(spare());
    if (!block.fault.empty() || block.done == here.threads) return;
    if (!release()) {
      block.fault = "threads of a block wait at different barriers";
      return;
    }
    if (block.order > 0) shuffle(fibres);
    for (size_t k = 0; k < fibres.size() && block.fault.empty(); k++)
      if (fibres[k]->state == ready) enter(fibres[k].get());
    if (!block.fault.empty()) return;
  }
}

} // namespace

void out_of_range(const void* p, long long index, size_t size, Range r) {
  char text[200];
  if (r.lo == r.hi)
    snprintf(text, sizeof text, "element %lld of %zu bytes at %p, which is no live allocation", index, size, p);
  else
    snprintf(text, sizeof text, "element %lld of %zu bytes at %p, %lld bytes into an allocation of %lld", index, size, p,
        (long long)((uintptr_t)p - r.lo), (long long)(r.hi - r.lo));
  block.fault = text;
  go_home();
}

void barrier() { wait(at_block); }

u64 exchange(u64 v, u32 mask) {
  u32 me = here.tid;
  slots[me] = v;
  wait(at_warp);
  u64 other = slots[me ^ mask];
  wait(at_warp);
  return other;
}

void shared(void* p, size_t size) {
  if (std::find(block.shared.begin(), block.shared.end(), p) != block.shared.end()) return;
  block.shared.push_back(p);
  memset(p, 0xff, size);
}

std::string run_grid(const Entry& e, void* bound, Here size, long long order) {
  here = size;
  block.entry = &e;
  block.bound = bound;
  block.order = order;
  block.random = (u64)order;
  block.fault.clear();
  for (u32 z = 0; z < size.gz; z++)
    for (u32 y = 0; y < size.gy; y++)
      for (u32 x = 0; x < size.gx; x++) {
        here.bx = x, here.by = y, here.bz = z;
        run_block();
        if (!block.fault.empty()) {
          fibres.clear(); // their stacks hold a broken block
          char where[160];
          snprintf(where, sizeof where, "%s: block (%u, %u, %u), thread %u: ", e.name, x, y, z, here.tid);
          return where + block.fault;
        }
      }
  return "";
}

} // namespace fake
