#include "access.h"

#include <algorithm>
#include <set>

namespace ptx {

namespace {

// pieces returns the numbers of the pieces of memory, of a size, that an access by the lanes in mask touches.
std::set<u64> pieces(u32 mask, const u64* at, u32 size, u32 piece) {
  std::set<u64> all;
  for (; mask; mask &= mask - 1)
    for (u64 first = at[__builtin_ctz(mask)], p = first / piece; p <= (first + size - 1) / piece; p++) all.insert(p);
  return all;
}

// conflicts is how many words the busiest of 32 banks delivers.
u64 conflicts(u32 mask, const u64* at, u32 size) {
  u64 busy[32] = {}, most = 0;
  for (u64 word : pieces(mask, at, size, 4)) most = std::max(most, ++busy[word % 32]);
  return most;
}

// alike is whether each lane has the address of the lane whose number differs by x.
bool alike(u32 mask, const u64* at, int x) {
  for (int l = 0; l < lanes; l++)
    if ((mask >> l & 1) && (mask >> (l ^ x) & 1) && at[l] != at[l ^ x]) return false;
  return true;
}

} // namespace

u64 sectors(u32 mask, const u64* at, u32 size) { return pieces(mask, at, size, 32).size(); }

// Of 8 bytes a lane half warps are served apart, of 16 quarters; but two of them at once where all lanes have the
// address of their neighbour at distance 1, or all at distance 2.
u64 wavefronts(u32 mask, const u64* at, u32 size) {
  if (size <= 4) return conflicts(mask, at, size);
  u64 total = 0;
  int pair = size == 8 ? 32 : 16;
  for (int first = 0; first < lanes; first += pair) {
    u32 both = mask & (u32)(((1ull << pair) - 1) << first), low = both & (u32)(((1ull << pair / 2) - 1) << first);
    if (alike(both, at, 1) || alike(both, at, 2)) total += conflicts(both, at, size);
    else total += conflicts(low, at, size) + conflicts(both & ~low, at, size);
  }
  return total;
}

} // namespace ptx
