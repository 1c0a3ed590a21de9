#include <numeric>

#include "context.h"
#include "memory.h"
#include "options.h"

namespace ptx {

// run_launch takes blocks one after another, in an order that goes around the grid by a random step.
int run_launch(Launch& l) {
  static u32 launches = 0;
  l.id = ++launches;
  if (!l.kernel->runnable) {
    last_fault = l.kernel->name + ": machine code, of which only the name is known";
    return launch_failed;
  }
  for (u32 at = 0; at + 8 <= l.kernel->params_size; at += 4) { // addresses, also within structs
    u64 value = *(u64*)&l.params[at];
    if (Allocation* a = allocation_of(value); a && a->live && value >= a->from && value <= a->to) a->launch = l.id;
  }
  if (!options.trace.empty()) l.counts.assign(l.kernel->code.size(), {});
  Context c{};
  c.launch = &l;
  c.kernel = l.kernel.get();
  u64 total = (u64)l.grid[0] * l.grid[1] * l.grid[2], step = 1, at = 0;
  if (options.random && total > 1) {
    do step = 1 + draw() % total;
    while (std::gcd(step, total) != 1);
    at = draw() % total;
  }
  for (u64 k = 0; k < total && c.fault == ok; k++, at = (at + step) % total) {
    c.block = (u32)at;
    c.place[0] = at % l.grid[0], c.place[1] = at / l.grid[0] % l.grid[1], c.place[2] = at / l.grid[0] / l.grid[1];
    run_block(c);
  }
  if (!options.trace.empty()) trace(l);
  return c.fault;
}

} // namespace ptx
