#include "workloads/plan/pipeline/action_rounds.hpp"

#include <algorithm>

namespace highwater::dist {
namespace {

/// How far apart the backward passes of a micro-batch and of the one `later` by so many are; 0 if
/// there are none.
std::size_t length_of_round(const std::vector<PipelineAction>& actions, int later,
                            MicroBatches within) {
  const auto backward_of = [&](int micro_batch) {
    return std::ranges::find(actions, PipelineAction{PipelineStep::backward, micro_batch, 0});
  };
  const auto first = backward_of(within.first);
  const auto next = backward_of(within.first + later);
  return next != actions.end() && first < next ? static_cast<std::size_t>(next - first) : 0;
}

}  // namespace

std::optional<ActionRounds> action_rounds(const std::vector<PipelineAction>& actions, int later,
                                          MicroBatches within) {
  const std::size_t length = length_of_round(actions, later, within);
  const auto comes_again = [&](std::size_t i) {
    PipelineAction next = actions[i];
    next.micro_batch += later;
    return within.has(actions[i].micro_batch) && within.has(next.micro_batch) &&
           actions[i + length] == next;
  };
  ActionRounds longest{.length = length, .later = later};
  std::size_t again = 0;  // actions up to here that come again
  for (std::size_t i = 0; length > 0 && i + length < actions.size(); ++i) {
    again = comes_again(i) ? again + 1 : 0;
    if (again / length + 1 > std::max<std::size_t>(longest.times, 1)) {
      longest.times = again / length + 1;
      longest.begin = i + 1 - again;
    }
  }
  return longest.times > 1 ? std::optional(longest) : std::nullopt;
}

}  // namespace highwater::dist
