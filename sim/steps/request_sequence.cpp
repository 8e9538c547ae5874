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

RequestLives lives_of(const RequestTrace& trace, const std::vector<std::uint32_t>& requests) {
  RequestLives lives;
  lives.freed_at.reserve(requests.size());
  lives.live_before.reserve(requests.size());
  std::vector<std::uint32_t> alive(trace.allocation_count, RequestSequence::kNever);  // as requests
  std::uint64_t live = 0;
  for (const Event& event : trace.events) {
    if (event.kind == EventKind::alloc) {
      alive[event.allocation.index()] = static_cast<std::uint32_t>(lives.freed_at.size());
      lives.freed_at.push_back(RequestSequence::kNever);
      lives.live_before.push_back(live);
      live += event.value;
    } else if (event.kind == EventKind::free) {
      const std::uint32_t request =
          std::exchange(alive[event.allocation.index()], RequestSequence::kNever);
      if (request != RequestSequence::kNever) {
        lives.freed_at[request] = static_cast<std::uint32_t>(lives.freed_at.size());
        live -= trace.events[requests[request]].value;
      }
    }
  }
  return lives;
}

}  // namespace

RequestSequence::RequestSequence(const RequestTrace& trace) : trace_(&trace) {
  events_.reserve(trace.allocation_count);
  by_size_.reserve(trace.allocation_count);
  PairNumbers sizes;
  std::uint32_t index = 0;
  for (const Event& event : trace.events) {
    if (event.kind == EventKind::alloc) {
      events_.push_back(index);
      by_size_.push_back(sizes.number(event.value, event.stream));
      has_stacks_ = has_stacks_ || event.stack.has_value();
    }
    ++index;
  }
}

std::size_t RequestSequence::request_at(std::size_t event) const {
  return static_cast<std::size_t>(std::ranges::lower_bound(events_, event) - events_.begin());
}

const std::vector<std::uint32_t>& RequestSequence::by_stack() const {
  if (has_stacks_ && by_stack_.empty()) {
    by_stack_.reserve(events_.size());
    PairNumbers stacks;
    for (const std::uint32_t index : events_) {
      const Event& event = trace_->events[index];
      by_stack_.push_back(stacks.number(event.stack.value(), event.stream));
    }
  }
  return by_stack_;
}

const RequestLives& RequestSequence::lives() const {
  if (!lives_) {
    lives_ = lives_of(*trace_, events_);
  }
  return *lives_;
}

std::size_t RequestSequence::lowest_live(std::size_t first, std::size_t last) const {
  const auto begin = lives().live_before.begin();
  return static_cast<std::size_t>(std::min_element(begin + static_cast<std::ptrdiff_t>(first),
                                                   begin + static_cast<std::ptrdiff_t>(last)) -
                                  begin);
}

}  // namespace highwater
