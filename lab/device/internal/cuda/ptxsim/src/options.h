// What the environment asks of the emulator.
//
// Read whenever they matter, so that a test can change them:
//
//   PTXSIM_DEVICES=n      number of devices (1)
//   PTXSIM_VERSION=n      version of the driver (12040)
//   PTXSIM_CAPABILITY=n   compute capability, major·10 + minor (80)
//   PTXSIM_MEMORY=n       bytes of memory (4 GiB)
//   PTXSIM_FAIL=kernel    the kernel faults when it runs; launch:kernel: its launch is refused; cubin: machine code is
//   PTXSIM_IDLE=1         nothing is computed and what is copied to the host is 0: for counting what a step asks for
//
// Read by cuInit. Without them the setting is the one that finds most:
//
//   PTXSIM_SCHEDULE=lowest  warps one after another, lanes rejoin at the lowest instruction, as hardware likes to; else
//                           blocks, warps and parts of warps take turns at random
//   PTXSIM_SEED=n           of that and of the blocks' order (1)
//   PTXSIM_EX2=exact        ex2.approx rounds to nearest; else it is off by its bound of 2^-22, upwards or downwards
//   PTXSIM_CONTRACT=0       products and sums stay apart; else they are fused where ptxas may
//   PTXSIM_UNSET=0          registers may be read before they are set; else that is a fault
//   PTXSIM_TRACE=file       a line of JSON for each launch: what it executed (see trace.cpp)
//   PTXSIM_PATCH=kernel:line:text   that line of the kernel, counted from its .entry, is replaced: a mutation
#pragma once
#include <string>

namespace ptx {

struct Options {
  bool random, exact, contract, unset;
  unsigned long long seed;
  std::string trace, patch;
};
extern Options options;

void read_options();
long long env(const char* name, long long otherwise);
std::string env(const char* name);

} // namespace ptx
