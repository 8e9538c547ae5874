#include "tools/reports/exports/stack_profile.hpp"

#include <algorithm>
#include <map>
#include <variant>

#include <fmt/format.h>

#include "tools/text/safe_text.hpp"
#include "traces/error.hpp"

namespace highwater {
namespace {

std::vector<StackHolder> allocated_in(const ObservedRun& run) {
  HolderSums<StackId> sums;
  OperationRows rows(*run.trace, run.older, [&](const OperationRow& row) {
    if (row.kind == EventKind::alloc && row.status == AllocationStatus::ok) {
      sums.add(row.stack, row.bytes);
    }
  });
  run.observe(rows);
  return sums.by_origin();
}

}  // namespace

LiveMemory live_in(const ObservedRun& run, const LiveChoice& moment) {
  auto live = live_bytes_at(*run.trace, run.older, moment, run.observe);
  if (!live) {
    throw UsageError(fmt::format("--at {}: the run on device {} has only {} operations",
                                 std::get<std::uint64_t>(moment), run.replay.device,
                                 run.replay.result.operations));
  }
  return std::move(*live);
}

std::vector<ProfiledStack> profile_of(const ObservedRun& run, const LiveChoice& moment) {
  std::map<StackId, ProfiledStack> profile;
  const auto at = [&](StackId stack) -> ProfiledStack& {
    return profile.try_emplace(stack, ProfiledStack{stack, {stack}, {stack}}).first->second;
  };
  for (const StackHolder& holder : live_in(run, moment).holders) {
    at(holder.origin).live = holder;
  }
  for (const StackHolder& holder : allocated_in(run)) {
    at(holder.origin).allocated = holder;
  }
  std::vector<ProfiledStack> list;
  std::ranges::transform(profile, std::back_inserter(list),
                         [](const auto& entry) { return entry.second; });
  return list;
}

std::vector<FrameWords> frames_of(const SideTables& tables, StackId stack) {
  if (!stack.has_value() || tables.stacks.stack(stack).empty()) {
    return {{"(no stack recorded)", "", 0}};
  }
  std::vector<FrameWords> frames;
  for (const FrameId id : tables.stacks.stack(stack)) {
    const Frame& frame = tables.stacks.frame(id);
    frames.push_back({printable(tables.strings[frame.function]),
                      printable(tables.strings[frame.file]),
                      std::max<std::int64_t>(frame.line, 0)});
  }
  return frames;
}

}  // namespace highwater
