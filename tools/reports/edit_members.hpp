// The keys of what --edit changed before a replay.
#pragma once

#include <array>

#include "tools/reports/replay_members.hpp"

namespace highwater {

template <>
struct Members<EditAnswer> {
  static constexpr auto kRows = std::to_array({
      member<&EditAnswer::edit>("edit", "as it was typed"),
      member<[](const EditAnswer& of) { return of.report.done; }>("done", "what it did"),
      member<[](const EditAnswer& of) { return of.report.blocks; }>("blocks",
                                                                    "allocations that it is about"),
      member<[](const EditAnswer& of) { return of.report.changed; }>(
          "changed", "how many of these, or of steps, caches and runs, it changed"),
      member<[](const EditAnswer& of) { return of.report.bytes; }>("changed_bytes",
                                                                   "requested by what it changed"),
      member<[](const EditAnswer& of) { return of.report.assumed; }>("assumed",
                                                                     "what it takes for granted"),
      member<[](const EditAnswer& of) { return of.report.unknown; }>(
          "unknown", "what the requests cannot tell"),
  });
};

template <>
struct Members<NeighbourResult> {
  static constexpr auto kRows = std::to_array({
      member<&NeighbourResult::peak>("peak", "the highest values, each at its own moment"),
      member<&NeighbourResult::final>("final", "at the end"),
      member<&NeighbourResult::context>("context_bytes", "its CUDA context"),
      member<&NeighbourResult::has_context>(
          "has_context", "false: the context did not fit, and the process never ran"),
      member<&NeighbourResult::ooms>("ooms", "requests that failed"),
      member<&NeighbourResult::alloc_retries>("alloc_retries",
                                              "requests for which it released its cache first"),
      member<&NeighbourResult::device_peak>(
          "device_peak_bytes", "the most that both processes took of the device together"),
  });
};

struct UneditedRun {
  Usage peak;
  std::uint64_t ooms = 0;
};

template <>
struct Members<UneditedRun> {
  static constexpr auto kRows = std::to_array({
      member<&UneditedRun::peak>("peak", "the highest values, each at its own moment"),
      member<&UneditedRun::ooms>("ooms", "requests that failed"),
  });
};

template <>
struct Members<EditedReplay> {
  static constexpr auto kRows = std::to_array({
      member<&EditedReplay::edits>("edits",
                                   "what each edit did, in the order in which they were made"),
      member<[](const EditedReplay& of) {
        return UneditedRun{of.unedited_peak, of.unedited_ooms};
      }>("unedited", "the same run without them, under the same limits"),
      member_if_known<&EditedReplay::beside>("beside", "a second process on the device"),
  });
};

}  // namespace highwater
