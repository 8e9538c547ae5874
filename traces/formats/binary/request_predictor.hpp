// The state that the writer and the reader of request traces share at each point of the stream.
#pragma once

#include <algorithm>
#include <cstdint>

#include "traces/event.hpp"
#include "traces/formats/binary/context_prediction.hpp"

namespace highwater {

enum class RequestTag : std::uint8_t { alloc, free, other, end };

namespace request_tag {
constexpr unsigned kRequestKindMask = 3;
constexpr unsigned kRequestShapeShift = 2;
constexpr unsigned kRequestDistanceGuessed = 4;
// Fields of an `other` record.
constexpr unsigned kHasValue = 4;
constexpr unsigned kHasAllocation = 8;
constexpr unsigned kHasStream = 16;
constexpr unsigned kHasStack = 32;
constexpr unsigned kHasCategory = 64;
constexpr unsigned kHasPool = 128;
}  // namespace request_tag

/// An alloc event without its allocation: shapes are compared and stored as events.
struct EventHash {
  std::size_t operator()(const Event& event) const {
    constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15U;
    std::uint64_t hash = event.value * kOdd;
    hash = (hash ^ (hash >> 29U) ^ event.stack.value()) * kOdd;
    hash =
        (hash ^ (hash >> 29U) ^ event.stream.value() ^
         (static_cast<std::uint64_t>(event.category) << 32U) ^ (std::uint64_t{event.pool} << 40U)) *
        kOdd;
    return hash ^ (hash >> 32U);
  }
};

struct RequestPredictor {
  ShapeDictionary<Event, EventHash> shapes;
  ContextTable shape_context;
  ContextTable distance_context;
  std::uint64_t next_id = 0;  ///< one above the highest allocation so far

  void note_alloc(std::uint32_t shape) {
    shape_context.learn(shape);
    shape_context.advance(shape);
    distance_context.advance(shape);
    ++next_id;
  }

  void note_free(std::uint64_t distance) {
    distance_context.learn(distance);
    distance_context.advance(~distance);
  }

  void note_other(const Event& event) {
    if (event.kind == EventKind::alloc && event.allocation.has_value()) {
      next_id = std::max(next_id, std::uint64_t{event.allocation.value()} + 1);
    }
  }
};

}  // namespace highwater
