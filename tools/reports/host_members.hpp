// The keys of host memory.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "tools/json/members.hpp"
#include "tools/reports/host_report.hpp"

namespace highwater {

template <>
struct Members<HostBuffers> {
  static constexpr auto kRows = std::to_array({
      member<&HostBuffers::what>("what", "what the buffers hold"),
      member<host_kind>("kind", "pinned or pageable"),
      member<&HostBuffers::blocks>("blocks", "how many there are"),
      member<&HostBuffers::requested>("requested_bytes", "asked for"),
      member<&HostBuffers::taken>("taken_bytes", "with the rounding of the pinned allocator"),
  });
};

template <>
struct Members<HostPart> {
  static constexpr auto kRows = std::to_array({
      member<&HostPart::part>("part", "model construction, initialisation or training"),
      member<&HostPart::pinned>("pinned_bytes", "pinned by one rank, at the peak of the part"),
      member<&HostPart::pageable>("pageable_bytes", "pageable memory of one rank"),
      member<&HostPart::rank>("rank_bytes", "all of one rank"),
      member<&HostPart::node>("node_bytes", "all ranks of the node"),
  });
};

struct NodeLine {
  std::int64_t ranks = 0;
  std::vector<HostPart> peaks;
};

template <>
struct Members<NodeLine> {
  static constexpr auto kRows = std::to_array({
      member<&NodeLine::ranks>("ranks", "of this job on one node"),
      member<&NodeLine::peaks>("peaks", "of each part of the run"),
  });
};

template <>
struct Members<NodeHostMemory> {
  static constexpr auto kRows = std::to_array({
      member<[](const NodeHostMemory& of) { return of.rank.training.requested(); }>(
          "requested_bytes", "asked for by this rank, at its peak in training"),
      member<[](const NodeHostMemory& of) { return of.rank.training.taken(); }>(
          "taken_bytes", "with the rounding of the pinned allocator"),
      member<[](const NodeHostMemory& of) { return of.rank.training.pinned(); }>(
          "pinned_bytes", "of these, pinned"),
      member<[](const NodeHostMemory& of) { return of.rank.training.pageable(); }>(
          "pageable_bytes", "of these, pageable"),
      member<[](const NodeHostMemory& of) { return of.rank.training.cached; }>(
          "cached_bytes", "freed and kept by the pinned allocator"),
      member<[](const NodeHostMemory& of) { return of.rank.training.buffers; }>(
          "buffers", "what the rank holds"),
      member<[](const NodeHostMemory& of) {
        return NodeLine{of.ranks, host_parts(of)};
      }>("node", "a node of the job"),
  });
};

}  // namespace highwater
