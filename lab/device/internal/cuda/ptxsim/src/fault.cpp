#include "context.h"

#include <cstdarg>
#include <cstdio>

namespace ptx {

std::string last_fault;

void fail(Context& c, int code, const Insn& in, int lane, const char* format, ...) {
  if (c.fault != ok) return;
  char what[400], where[800];
  va_list args;
  va_start(args, format);
  vsnprintf(what, sizeof what, format, args);
  va_end(args);
  const Launch& l = *c.launch;
  snprintf(where, sizeof where, "%s: block (%u, %u, %u) of %u × %u × %u, thread %u of %u, PTX line %d (%s): ",
      c.kernel->name.c_str(), c.place[0], c.place[1], c.place[2], l.grid[0], l.grid[1], l.grid[2],
      c.first_thread + lane, l.threads, in.line, in.text.c_str());
  last_fault = std::string(where) + what;
  c.fault = code;
}

} // namespace ptx
