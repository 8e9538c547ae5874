// The program's memory, which runs out when a test wants it to.
#pragma once

#include <cstdint>

namespace highwater::test {

/// Which allocations fail.
enum class Failing {
  once,      ///< the n-th alone
  from_then  ///< the n-th and all after it
};

/// From now on allocations are counted, from 1, and fail as said; 0: none does.
void fail_allocation(std::uint64_t n, Failing failing);

/// How many there have been since then.
std::uint64_t counted_allocations();

}  // namespace highwater::test
