// The allocation requests of a trace as two sequences of symbols, for finding what repeats.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "traces/request_trace.hpp"

namespace highwater {

struct RequestSequence {
  static constexpr std::size_t kNever = ~std::size_t{0};

  std::vector<std::size_t> events;         ///< by request: the index of its event
  std::vector<std::uint32_t> by_size;      ///< equal for equal (size, stream)
  std::vector<std::uint32_t> by_stack;     ///< equal for equal (stack, stream); empty: no stacks
  std::vector<std::uint64_t> sizes;        ///< bytes asked for
  std::vector<std::size_t> freed_at;       ///< the next request after its free, kNever without one
  std::vector<std::uint64_t> live_before;  ///< requested bytes alive just before the request

  [[nodiscard]] std::size_t size() const { return events.size(); }

  void reserve(std::size_t requests);

  /// The first request at or after event `event`.
  [[nodiscard]] std::size_t request_at(std::size_t event) const;

  /// The request in [first, last) before which the least is alive, the first among equals.
  [[nodiscard]] std::size_t lowest_live(std::size_t first, std::size_t last) const;

  /// Whether two requests are equal by size or by stack.
  [[nodiscard]] bool alike(std::size_t a, std::size_t b) const {
    return by_size[a] == by_size[b] || (!by_stack.empty() && by_stack[a] == by_stack[b]);
  }
};

RequestSequence request_sequence(const RequestTrace& trace);

}  // namespace highwater
