#include "sim/scaling/run_side.hpp"

#include <functional>

namespace highwater {
namespace {

std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15ULL;
  return hash ^ (hash >> 29U);
}

/// By StackId: the same in every recording, whose tables number stacks as they come.
std::vector<std::uint64_t> stack_hashes(const SideTables& tables) {
  const std::hash<std::string_view> hash_of;
  std::vector<std::uint64_t> hashes;
  for (std::uint32_t id = 0; id < tables.stacks.stack_count(); ++id) {
    std::uint64_t hash = 1;
    for (const FrameId frame_id : tables.stacks.stack(StackId{id})) {
      const Frame& frame = tables.stacks.frame(frame_id);
      hash = mix(hash, hash_of(tables.strings[frame.file]));
      hash = mix(hash, hash_of(tables.strings[frame.function]));
      hash = mix(hash, static_cast<std::uint64_t>(frame.line));
    }
    hashes.push_back(hash);
  }
  return hashes;
}

ComparedTrace compared(const RequestTrace& trace) {
  return {&trace, phase_boundaries(trace), std::nullopt};
}

}  // namespace

std::optional<WorkspacePair> workspace_at(const std::vector<ComparedRequest>& requests,
                                          std::size_t i) {
  constexpr std::uint64_t kCounter = 4;
  constexpr std::uint64_t kMostCounters = 4096;  // as many columns of blocks as a GPU runs at once
  if (i + 3 >= requests.size()) {
    return std::nullopt;
  }
  const ComparedRequest& buffer = requests[i];
  const ComparedRequest& counters = requests[i + 1];
  const bool is_nested = buffer.is_alloc && counters.is_alloc && !requests[i + 2].is_alloc &&
                         !requests[i + 3].is_alloc && requests[i + 2].ordinal == counters.ordinal &&
                         requests[i + 3].ordinal == buffer.ordinal;
  const std::uint64_t bytes = counters.bytes.count();
  const bool are_counters =
      bytes % kCounter == 0 && bytes <= kCounter * kMostCounters && counters.bytes < buffer.bytes;
  return is_nested && are_counters ? std::optional(WorkspacePair{buffer.ordinal, counters.ordinal})
                                   : std::nullopt;
}

RunSide::RunSide(const FitRun& run) : AlignedSide(compared(*run.requests)), trace(run.requests) {
  const std::vector<std::uint64_t> stacks = stack_hashes(trace->tables);
  for (const std::size_t at : allocated_at) {
    const ComparedRequest& request = requests[at];
    const StackId stack = trace->events[request.event].stack;
    sites.push_back(mix(request.stream, stack.has_value() ? stacks[stack.index()] : 0));
  }
  constexpr std::uint64_t kBuffer = 0x5bd1e995;
  constexpr std::uint64_t kCounters = 0x1b873593;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (const auto pair = workspace_at(requests, i)) {
      sites[pair->buffer] = mix(sites[pair->buffer], kBuffer);
      sites[pair->counters] = mix(sites[pair->counters], kCounters);
    }
  }
}

}  // namespace highwater
