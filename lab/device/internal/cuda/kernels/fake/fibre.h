// Running a grid: blocks one after another, the threads of a block as fibres.
#pragma once
#include "../common.h"

#include <string>

namespace fake {

// run_grid runs every thread of every block and returns what went wrong, empty if nothing. With backwards the threads of
// a block start in the reverse order, which brings out missing barriers.
std::string run_grid(const Entry& e, void* bound, Here size, bool backwards);

} // namespace fake
