#include "options.h"

#include <cstdlib>

namespace ptx {

Options options;

std::string env(const char* name) {
  const char* v = getenv(name);
  return v ? v : "";
}

long long env(const char* name, long long otherwise) {
  std::string v = env(name);
  return v.empty() ? otherwise : atoll(v.c_str());
}

void read_options() {
  options.random = env("PTXSIM_SCHEDULE") != "lowest";
  options.exact = env("PTXSIM_EX2") == "exact";
  options.contract = env("PTXSIM_CONTRACT", 1);
  options.unset = env("PTXSIM_UNSET", 1);
  options.seed = (unsigned long long)env("PTXSIM_SEED", 1);
  options.trace = env("PTXSIM_TRACE");
  options.patch = env("PTXSIM_PATCH");
}

} // namespace ptx
