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

RunSide::RunSide(const FitRun& run) : AlignedSide(compared(*run.requests)), trace(run.requests) {
  const std::vector<std::uint64_t> stacks = stack_hashes(trace->tables);
  for (const std::size_t at : allocated_at) {
    const ComparedRequest& request = requests[at];
    const StackId stack = trace->events[request.event].stack;
    sites.push_back(mix(request.stream, stack.has_value() ? stacks[stack.index()] : 0));
  }
}

}  // namespace highwater
