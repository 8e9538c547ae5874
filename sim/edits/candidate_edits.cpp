#include "sim/edits/candidate_edits.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "sim/edits/captures.hpp"
#include "sim/edits/steps_of_run.hpp"
#include "traces/workspace_names.hpp"

namespace highwater {
namespace {

/// What runs ask for on one stream.
struct StreamLoad {
  Bytes alive;
  Bytes most;
};

struct LiveBlock {
  Bytes bytes;
  StreamId stream;
};

/// By StreamId: the most bytes alive at once.
std::vector<StreamLoad> loads_of(const RequestTrace& trace) {
  std::vector<StreamLoad> loads(trace.stream_handles.size());
  std::vector<LiveBlock> live(trace.allocation_count);
  for (const Event& event : trace.events) {
    if (event.kind == EventKind::alloc) {
      live[event.allocation.index()] = {event.bytes(), event.stream};
      StreamLoad& load = loads[event.stream.index()];
      load.alive += event.bytes();
      load.most = std::max(load.most, load.alive);
    } else if (event.kind == EventKind::free) {
      LiveBlock& block = live[event.allocation.index()];
      if (block.stream.has_value()) {
        loads[block.stream.index()].alive -= block.bytes;
      }
      block = {};
    }
  }
  return loads;
}

/// For the stream that needs most, in units of the device.
NamedEdit preallocation(const RequestTrace& trace) {
  constexpr std::uint64_t kUnit = std::uint64_t{2} << 20;
  const std::vector<StreamLoad> loads = loads_of(trace);
  const auto largest = std::ranges::max_element(loads, {}, &StreamLoad::most);
  const std::uint64_t mebibytes = (largest->most.count() + kUnit - 1) / kUnit * 2;
  const std::uint64_t handle =
      trace.stream_handles[static_cast<std::size_t>(largest - loads.begin())];
  return {fmt::format("preallocate:{}MiB{}", mebibytes,
                      handle == 0 ? "" : fmt::format(",stream={}", handle)),
          fmt::format("{} allocated and freed at the start", to_iec(Bytes{mebibytes << 20U})),
          Preallocate{Bytes{mebibytes << 20U}, handle}, 1};
}

bool uses_streams(const RequestTrace& trace) {
  for (const Event& event : trace.events) {
    if (event.kind == EventKind::record_stream) {
      return true;
    }
  }
  return false;
}

/// The stacks whose block is a workspace of cuDNN's.
SiteSet cudnn_workspaces(const RequestTrace& trace) {
  const StackTable& stacks = trace.tables.stacks;
  SiteSet sites;
  sites.stacks.resize(stacks.stack_count());
  for (std::size_t i = 0; i < sites.stacks.size(); ++i) {
    const auto frames = stacks.stack(StackId{i});
    sites.stacks[i] =
        !frames.empty() &&
        trace.tables.strings[stacks.frame(frames.front()).function].starts_with(kCudnnWorkspace);
  }
  return sites;
}

}  // namespace

std::vector<NamedEdit> candidate_edits(const RequestTrace& trace, std::size_t older_events) {
  std::vector<NamedEdit> candidates;
  if (trace.allocation_count == 0 || trace.stream_handles.empty()) {
    return candidates;
  }
  candidates.push_back(preallocation(trace));
  const Steps steps = find_steps(trace);
  if (std::ranges::count_if(steps.steps,
                            [&](const StepSpan& step) { return step.begin >= older_events; }) > 1) {
    candidates.push_back(
        {"empty_cache:step", "empty_cache at the end of each step", EmptyCaches{}});
  }
  if (uses_streams(trace)) {
    candidates.push_back(
        {"drop_record_stream", "no record_stream", DropRecordStreams{all_sites(trace)}});
  }
  if (find_captures(trace, older_events).list.size() > 1) {
    candidates.push_back({"captures:pools=one,streams=one",
                          "one pool and one stream for the captures of all graphs",
                          ArrangeCaptures{.pools = ArrangeCaptures::Pools::one,
                                          .streams = ArrangeCaptures::Streams::one}});
  }
  if (SiteSet sites = cudnn_workspaces(trace); std::ranges::count(sites.stacks, true) > 0) {
    candidates.push_back({fmt::format("scale:site={},by=0", kCudnnWorkspace),
                          "no workspaces of cuDNN, the most that channels_last, "
                          "torch.backends.cudnn.deterministic or another attention can save",
                          ScaleSizes{std::move(sites), 0}});
  }
  return candidates;
}

}  // namespace highwater
