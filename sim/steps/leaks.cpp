#include "sim/steps/leaks.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace highwater {
namespace {

constexpr std::uint64_t kFewestSteps = 2;

/// A stack, or a size where no stack is known.
using SiteKey = std::pair<StackId, Bytes>;

struct Site {
  LeakSite leak;
  std::optional<std::size_t> last_step;
};

std::vector<StepSpan> complete_steps(const std::vector<StepSpan>& spans) {
  std::vector<StepSpan> complete;
  std::ranges::copy_if(spans, std::back_inserter(complete), &StepSpan::complete);
  return complete;
}

/// By AllocationId: whether it is freed before event `end`.
std::vector<bool> freed_before(const RequestTrace& trace, std::size_t end) {
  std::vector<bool> freed(trace.allocation_count);
  for (std::size_t i = 0; i < end; ++i) {
    if (trace.events[i].kind == EventKind::free) {
      freed[trace.events[i].allocation.index()] = true;
    }
  }
  return freed;
}

void count(const Event& event, std::size_t step, std::map<SiteKey, Site>& sites) {
  const bool by_size = !event.stack.has_value();
  auto& [leak, last_step] = sites[{event.stack, by_size ? event.bytes() : Bytes{}}];
  leak.left.origin = event.stack;
  leak.size = by_size ? std::optional(event.bytes()) : std::nullopt;
  leak.left.held += event.bytes();
  ++leak.left.blocks;
  leak.steps += last_step == step ? 0U : 1U;
  last_step = step;
}

}  // namespace

std::vector<LeakSite> find_leaks(const RequestTrace& trace, const std::vector<StepSpan>& spans) {
  const std::vector<StepSpan> steps = complete_steps(spans);
  if (steps.size() <= kFewestSteps) {
    return {};
  }
  const std::size_t looked_at = steps.size() - 1;
  const std::vector<bool> freed = freed_before(trace, steps.back().end);
  std::map<SiteKey, Site> sites;
  for (std::size_t step = 0; step < looked_at; ++step) {
    for (std::size_t i = steps[step].begin; i < steps[step].end; ++i) {
      const Event& event = trace.events[i];
      if (event.kind == EventKind::alloc && event.value > 0 && !freed[event.allocation.index()]) {
        count(event, step, sites);
      }
    }
  }
  std::vector<LeakSite> leaks;
  for (auto& [key, site] : sites) {
    if (site.leak.steps >= kFewestSteps && site.leak.steps * 2 >= looked_at) {
      site.leak.bytes_per_step =
          static_cast<double>(site.leak.left.held.count()) / static_cast<double>(looked_at);
      leaks.push_back(site.leak);
    }
  }
  const auto held = [](const LeakSite& leak) { return leak.left.held; };
  std::ranges::stable_sort(leaks, std::ranges::greater{}, held);
  return leaks;
}

}  // namespace highwater
