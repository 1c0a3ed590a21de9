// What the driver and its cuBLAS share: one context, one memory, work that waits its turn.
#pragma once
#include <functional>
#include <mutex>

#include "context.h"

namespace ptx {

extern std::mutex lock;
using Work = std::function<int()>;

bool context_is_current();
int state();                     // of the context: ok, or why a call is refused
bool is_stream(void* s);
void submit(void* s, Work work); // behind what was submitted before, or into the graph that is being captured

} // namespace ptx
