#include "sim/steps/request_sequence.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace highwater {
namespace {

/// Numbers pairs in the order of their appearance.
class PairNumbers {
 public:
  std::uint32_t number(std::uint64_t first, StreamId stream) {
    const auto next = static_cast<std::uint32_t>(numbers_.size());
    return numbers_.try_emplace({first, stream.value()}, next).first->second;
  }

 private:
  using Key = std::pair<std::uint64_t, std::uint32_t>;

  struct Hash {
    std::size_t operator()(const Key& key) const noexcept {
      return static_cast<std::size_t>((key.first ^ (key.first >> 31U)) * 0x9e3779b97f4a7c15U +
                                      key.second * 0xbf58476d1ce4e5b9U);
    }
  };

  std::unordered_map<Key, std::uint32_t, Hash> numbers_;
};

}  // namespace

std::size_t RequestSequence::request_at(std::size_t event) const {
  return static_cast<std::size_t>(std::ranges::lower_bound(events, event) - events.begin());
}

std::size_t RequestSequence::lowest_live(std::size_t first, std::size_t last) const {
  const auto begin = live_before.begin();
  return static_cast<std::size_t>(std::min_element(begin + static_cast<std::ptrdiff_t>(first),
                                                   begin + static_cast<std::ptrdiff_t>(last)) -
                                  begin);
}

void RequestSequence::reserve(std::size_t requests) {
  events.reserve(requests);
  by_size.reserve(requests);
  by_stack.reserve(requests);
  sizes.reserve(requests);
  freed_at.reserve(requests);
  live_before.reserve(requests);
}

RequestSequence request_sequence(const RequestTrace& trace) {
  RequestSequence sequence;
  sequence.reserve(trace.allocation_count);
  PairNumbers sizes;
  PairNumbers stacks;
  bool has_stacks = false;
  std::vector<std::uint64_t> alive(trace.allocation_count);     // sizes; 0 when not alive
  std::vector<std::size_t> request_of(trace.allocation_count);  // right where alive
  std::uint64_t live = 0;
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    const Event& event = trace.events[i];
    if (event.kind == EventKind::alloc) {
      sequence.events.push_back(i);
      sequence.by_size.push_back(sizes.number(event.value, event.stream));
      sequence.by_stack.push_back(stacks.number(event.stack.value(), event.stream));
      sequence.live_before.push_back(live);
      has_stacks = has_stacks || event.stack.has_value();
      sequence.sizes.push_back(event.value);
      sequence.freed_at.push_back(RequestSequence::kNever);
      request_of[event.allocation.index()] = sequence.size() - 1;
      alive[event.allocation.index()] = event.value;
      live += event.value;
    } else if (event.kind == EventKind::free) {
      if (alive[event.allocation.index()] != 0) {
        sequence.freed_at[request_of[event.allocation.index()]] = sequence.size();
      }
      live -= std::exchange(alive[event.allocation.index()], 0);
    }
  }
  if (!has_stacks) {
    sequence.by_stack.clear();
  }
  return sequence;
}

}  // namespace highwater
