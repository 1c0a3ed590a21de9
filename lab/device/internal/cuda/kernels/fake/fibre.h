// Running a grid: blocks one after another, the threads of a block as fibres.
#pragma once
#include "../common.h"

#include <string>

namespace fake {

// run_grid runs every thread of every block and returns what went wrong, empty if nothing. The threads of a block start
// in their order (0), in the reverse order (−1), or in a random one, also after each barrier, of which the order is the
// seed: that brings out missing barriers.
std::string run_grid(const Entry& e, void* bound, Here size, long long order);

} // namespace fake
