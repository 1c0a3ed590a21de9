// Instructions that touch memory.
#pragma once
#include "code.h"

namespace ptx {

// access returns how "ld" or "st" moves values of a type ("f32", …) to or from a space ("global", …), from or to
// registers of a width, which may be larger; null if there is no such.
Run access(bool load, const std::string& space, const std::string& type, Width to);
void compare_and_swap(Context& c, const Insn& in); // atom.global.cas.b32

// What an access by the lanes in mask costs: sectors of 32 bytes in global memory, wavefronts in shared memory.
u64 sectors(u32 mask, const u64* at, u32 size);
u64 wavefronts(u32 mask, const u64* at, u32 size);

} // namespace ptx
