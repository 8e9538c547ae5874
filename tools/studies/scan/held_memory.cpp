#include "tools/studies/scan/held_memory.hpp"

#include <algorithm>
#include <utility>

#include "sim/peak/live_blocks.hpp"
#include "tools/text/site_label.hpp"
#include "traces/phase_names.hpp"

namespace highwater {
namespace {

using NamedBytes = HolderSums<std::string>;

void add_largest(HeldBy by, const NamedBytes& sums, std::size_t most,
                 std::vector<HeldPart>& parts) {
  const auto holders = sums.largest_first();
  for (std::size_t i = 0; i < std::min(most, holders.size()); ++i) {
    parts.push_back({by, holders[i].origin, holders[i].held});
  }
}

/// Stacks first, since a label is made of many frames.
NamedBytes by_site(const RequestTrace& trace, const std::vector<LiveBlock>& blocks) {
  HolderSums<StackId> stacks;
  for (const LiveBlock& block : blocks) {
    stacks.add(block.stack, block.bytes);
  }
  NamedBytes sites;
  for (const StackHolder& holder : stacks.by_origin()) {
    sites.add(site_label(trace.tables, holder.origin), holder.held, holder.blocks);
  }
  return sites;
}

bool has_any(const std::vector<LiveBlock>& blocks, auto says) {
  return std::ranges::any_of(blocks, says);
}

/// Live bytes after each event of `ends`, which ascend.
std::vector<Bytes> live_after(const RequestTrace& trace, const std::vector<std::size_t>& ends) {
  std::vector<Bytes> sizes(trace.allocation_count);
  std::vector<Bytes> values;
  Bytes live;
  std::size_t index = 0;
  for (const Event& event : trace.events) {
    for (; values.size() < ends.size() && ends[values.size()] == index;) {
      values.push_back(live);
    }
    if (event.kind == EventKind::alloc) {
      sizes[event.allocation.index()] = event.bytes();
      live += event.bytes();
    } else if (event.kind == EventKind::free) {
      live -= std::exchange(sizes[event.allocation.index()], Bytes{});
    }
    ++index;
  }
  values.resize(ends.size(), live);
  return values;
}

}  // namespace

std::string_view to_string(HeldBy by) {
  switch (by) {
    case HeldBy::category:
      return "category";
    case HeldBy::phase:
      return "phase";
    case HeldBy::site:
      break;
  }
  return "site";
}

std::vector<HeldPart> held_at_peak(const RequestTrace& trace, std::size_t most) {
  const std::vector<LiveBlock> blocks = live_blocks_at(trace, live_at_peak(trace).at);
  std::vector<HeldPart> parts;
  if (has_any(blocks, [](const LiveBlock& b) { return b.category != Category::unknown; })) {
    NamedBytes categories;
    for (const LiveBlock& block : blocks) {
      categories.add(std::string(to_string(block.category)), block.bytes);
    }
    add_largest(HeldBy::category, categories, most, parts);
  }
  if (has_any(blocks, [](const LiveBlock& b) { return b.phase.has_value(); })) {
    NamedBytes phases;
    for (const LiveBlock& block : blocks) {
      phases.add(block.phase.has_value() ? std::string(trace.tables.strings[block.phase])
                                         : std::string(kBeforeSteps),
                 block.bytes);
    }
    add_largest(HeldBy::phase, phases, most, parts);
  }
  if (has_any(blocks, [](const LiveBlock& b) { return b.stack.has_value(); })) {
    add_largest(HeldBy::site, by_site(trace, blocks), most, parts);
  }
  return parts;
}

StepGrowth step_growth(const RequestTrace& trace, const Steps& steps) {
  const bool has_start_up =
      steps.source == StepSource::markers || steps.source == StepSource::boundaries;
  std::vector<std::size_t> ends;
  for (std::size_t i = has_start_up ? 1 : 0; i < steps.steps.size(); ++i) {
    if (steps.steps[i].complete) {
      ends.push_back(steps.steps[i].end);
    }
  }
  return {ends.size(), robust_growth(live_after(trace, ends))};
}

}  // namespace highwater
