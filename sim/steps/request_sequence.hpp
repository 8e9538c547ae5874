// The allocation requests of a trace as two sequences of symbols, for finding what repeats.
//
// Long recordings have tens of millions of requests, so each list is made when it is first asked
// for: few traces need all of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "traces/request_trace.hpp"

namespace highwater {

/// What is alive around each request of a trace.
struct RequestLives {
  std::vector<std::uint32_t> freed_at;     ///< the next request after its free, kNever without one
  std::vector<std::uint64_t> live_before;  ///< requested bytes alive just before the request
};

class RequestSequence {
 public:
  static constexpr std::uint32_t kNever = std::numeric_limits<std::uint32_t>::max();

  /// `trace` must outlive the sequence, and has fewer than 2^32 events.
  explicit RequestSequence(const RequestTrace& trace);

  [[nodiscard]] std::size_t size() const { return events_.size(); }

  /// The index of the event that is request `r`.
  [[nodiscard]] std::size_t event(std::size_t r) const { return events_[r]; }

  /// The first request at or after event `event`.
  [[nodiscard]] std::size_t request_at(std::size_t event) const;

  /// By request: equal for equal (size, stream).
  [[nodiscard]] const std::vector<std::uint32_t>& by_size() const { return by_size_; }

  /// By request: equal for equal (stack, stream); empty if the trace has no stacks.
  [[nodiscard]] const std::vector<std::uint32_t>& by_stack() const;

  [[nodiscard]] const RequestLives& lives() const;

  /// The request in [first, last) before which the least is alive, the first among equals.
  [[nodiscard]] std::size_t lowest_live(std::size_t first, std::size_t last) const;

  /// Whether two requests are equal by size or by stack.
  [[nodiscard]] bool alike(std::size_t a, std::size_t b) const {
    return by_size_[a] == by_size_[b] || (has_stacks_ && by_stack()[a] == by_stack()[b]);
  }

  [[nodiscard]] bool has_stacks() const { return has_stacks_; }

 private:
  const RequestTrace* trace_;
  std::vector<std::uint32_t> events_;
  std::vector<std::uint32_t> by_size_;
  bool has_stacks_ = false;
  mutable std::vector<std::uint32_t> by_stack_;
  mutable std::optional<RequestLives> lives_;
};

}  // namespace highwater
