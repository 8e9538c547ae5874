// The life of every allocation of a trace, from its request to the request of its free: what an
// allocator cannot change.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "traces/request_trace.hpp"

namespace highwater {

/// Alive in operations [begin, end): from the one that asks for it to the one before its free.
/// Operations are counted from 0 without markers.
struct Lifetime {
  Bytes size;  ///< as asked for
  std::uint64_t begin = 0;
  std::uint64_t end = 0;  ///< the number of operations when it is never freed
  AllocationId allocation;
  StackId stack;
  StreamId stream;

  [[nodiscard]] bool overlaps(const Lifetime& other) const {
    return begin < other.end && other.begin < end;
  }
};

struct Lifetimes {
  std::vector<Lifetime> blocks;  ///< in order of `begin`; requests of 0 bytes left out
  std::uint64_t operations = 0;
};

/// A block ends with its free request, even if other streams still use it.
/// @throws InputError when the sizes sum to more than 63 bits hold.
Lifetimes lifetimes_of(const RequestTrace& trace);

}  // namespace highwater
