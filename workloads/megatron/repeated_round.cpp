#include "workloads/megatron/repeated_round.hpp"

#include <algorithm>

namespace highwater::megatron {
namespace {

using Numbers = std::vector<NumberedBack>;

/// What is held at `later`, by the numbers of what is held at `earlier` for the same; oldest first,
/// so that each number is free when it is taken. Nothing if something else is held.
std::optional<Numbers> numbered_back(const RoundMark& later, const RoundMark& earlier) {
  if (later.held.size() != earlier.held.size()) {
    return std::nullopt;
  }
  Numbers numbers;
  for (std::size_t i = 0; i < later.held.size(); ++i) {
    if (later.held[i].has_value() != earlier.held[i].has_value()) {
      return std::nullopt;
    }
    if (later.held[i].has_value()) {
      numbers.push_back({.from = later.held[i], .to = earlier.held[i]});
    }
  }
  std::ranges::sort(numbers, {}, [](const NumberedBack& each) { return each.to; });
  const auto same = std::ranges::unique(numbers);
  numbers.erase(same.begin(), same.end());
  const auto takes_one = [](const NumberedBack& a, const NumberedBack& b) { return a.to == b.to; };
  return std::ranges::adjacent_find(numbers, takes_one) == numbers.end() ? std::optional(numbers)
                                                                         : std::nullopt;
}

class Rounds {
 public:
  Rounds(const ChunkedVector<Event>& events, const std::array<RoundMark, 3>& marks)
      : events_(events), marks_(marks), back_(numbered_back(marks[1], marks[0])) {}

  [[nodiscard]] bool are_alike() const {
    const std::size_t length = marks_[1].event - marks_[0].event;
    bool are_alike = back_ && marks_[2].event - marks_[1].event == length && leaves_nothing();
    for (std::size_t i = 0; are_alike && i < length; ++i) {
      are_alike = is_alike(events_[marks_[0].event + i], events_[marks_[1].event + i]);
    }
    return are_alike;
  }

 private:
  /// What a block is for may be told by a pass that is still to come.
  [[nodiscard]] bool is_alike(const Event& first, Event second) const {
    second.category = first.category;
    if (second.allocation.has_value()) {
      second.allocation = a_round_earlier(second.allocation);
    }
    return first == second;
  }

  [[nodiscard]] AllocationId a_round_earlier(AllocationId id) const {
    if (id.index() >= marks_[1].allocations) {
      return AllocationId{id.index() - marks_[1].allocations + marks_[0].allocations};
    }
    const auto held = std::ranges::find(*back_, id, &NumberedBack::from);
    return held != back_->end() ? held->to : id;
  }

  [[nodiscard]] bool leaves_nothing() const {
    std::size_t frees = 0;
    for (std::size_t i = marks_[1].event; i < marks_[2].event; ++i) {
      frees += events_[i].kind == EventKind::free ? 1U : 0U;
    }
    return frees == marks_[2].allocations - marks_[1].allocations;
  }

  const ChunkedVector<Event>& events_;
  const std::array<RoundMark, 3>& marks_;
  std::optional<Numbers> back_;
};

}  // namespace

std::optional<RepeatedRound> repeated_round(const ChunkedVector<Event>& events,
                                            const std::array<RoundMark, 3>& marks) {
  std::optional<Numbers> back = numbered_back(marks[2], marks[1]);
  if (!back || !Rounds(events, marks).are_alike()) {
    return std::nullopt;
  }
  return RepeatedRound{
      .begin = marks[1].event,
      .end = marks[2].event,
      .allocations = static_cast<std::uint32_t>(marks[2].allocations - marks[1].allocations),
      .numbered_back = std::move(*back)};
}

}  // namespace highwater::megatron
