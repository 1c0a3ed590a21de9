// Instructions in which all lanes of a warp take part.
#pragma once
#include "code.h"

namespace ptx {

void exchange(Context& c, const Insn& in); // shfl.sync.bfly.b32
void multiply(Context& c, const Insn& in); // mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32

} // namespace ptx
