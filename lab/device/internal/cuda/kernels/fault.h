// What kernels say about an index out of range. Mirrored by the Go type fault.
#pragma once
#include "common.h"

struct Fault {
  i32 set, op, index, unused;
  i64 at;
};

// tell keeps the fault of the block that comes first, whole.
DEV void tell(Out<Fault> fault, i32 op, i32 index, i64 at) {
  if (!claim(&fault[0].set)) return;
  fault[0].op = op;
  fault[0].index = index;
  fault[0].at = at;
}
