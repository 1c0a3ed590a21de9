// What a launch executed, as a line of JSON:
//
//   {"kernel":"fill_f32","grid":[1,1,1],"block":256,"lines":[5,6,…],"f32":[warps,lanes,bytes,units],…}
//
// lines are those of the module that some thread executed, and each class of instructions has its executions by warps
// and by lanes, the bytes that they moved, and their sectors of 32 bytes or wavefronts of shared memory.
#include <cstdio>

#include "context.h"
#include "options.h"

namespace ptx {

void trace(const Launch& l) {
  FILE* f = fopen(options.trace.c_str(), "a");
  if (!f) return;
  std::map<Class, Count> classes;
  fprintf(f, "{\"kernel\":\"%s\",\"grid\":[%u,%u,%u],\"block\":%u,\"lines\":[", l.kernel->name.c_str(), l.grid[0],
      l.grid[1], l.grid[2], l.threads);
  const char* comma = "";
  for (size_t k = 0; k < l.counts.size(); k++) {
    const Count& n = l.counts[k];
    if (n.warps == 0) continue;
    Count& sum = classes[l.kernel->code[k].counts];
    sum.warps += n.warps, sum.lanes += n.lanes, sum.bytes += n.bytes, sum.units += n.units;
    fprintf(f, "%s%d", comma, l.kernel->code[k].line);
    comma = ",";
  }
  fprintf(f, "]");
  for (auto& [kind, n] : classes)
    fprintf(f, ",\"%s\":[%lu,%lu,%lu,%lu]", class_names[(int)kind], n.warps, n.lanes, n.bytes, n.units);
  fprintf(f, "}\n");
  fclose(f);
}

} // namespace ptx
