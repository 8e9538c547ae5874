// Whether two traces or recordings are the same in every field.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "traces/recording.hpp"
#include "traces/request_trace.hpp"
#include "traces/scalable_program.hpp"

namespace highwater::test {

template <class T>
bool same(const ChunkedVector<T>& a, const ChunkedVector<T>& b) {
  if (a.size() != b.size()) {
    return false;
  }
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!(a[i] == b[i])) {
      return false;
    }
  }
  return true;
}

inline std::vector<std::string> strings_of(const SideTables& tables) {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < tables.strings.size(); ++i) {
    all.emplace_back(tables.strings[StringId{i}]);
  }
  return all;
}

inline std::vector<Frame> frames_of(const SideTables& tables) {
  std::vector<Frame> all;
  for (std::size_t i = 0; i < tables.stacks.frame_count(); ++i) {
    all.push_back(tables.stacks.frame(FrameId{i}));
  }
  return all;
}

inline std::vector<std::vector<FrameId>> stacks_of(const SideTables& tables) {
  std::vector<std::vector<FrameId>> all;
  for (std::size_t i = 0; i < tables.stacks.stack_count(); ++i) {
    const auto frames = tables.stacks.stack(StackId{i});
    all.emplace_back(frames.begin(), frames.end());
  }
  return all;
}

inline bool same(const SideTables& a, const SideTables& b) {
  return strings_of(a) == strings_of(b) && frames_of(a) == frames_of(b) &&
         stacks_of(a) == stacks_of(b);
}

inline bool same(const RequestTrace& a, const RequestTrace& b) {
  return a.header == b.header && same(a.events, b.events) && a.stream_handles == b.stream_handles &&
         a.pools == b.pools && a.allocation_names == b.allocation_names &&
         a.allocation_count == b.allocation_count && same(a.tables, b.tables);
}

inline bool same(const RecordedDevice& a, const RecordedDevice& b) {
  return a.index == b.index && same(a.entries, b.entries) && a.segments == b.segments &&
         a.stream_handles == b.stream_handles && a.pools == b.pools &&
         a.action_counts == b.action_counts && a.unknown_actions == b.unknown_actions;
}

inline bool same(const Recording& a, const Recording& b) {
  const auto same_device = [](const RecordedDevice& x, const RecordedDevice& y) {
    return same(x, y);
  };
  return std::ranges::equal(a.devices, b.devices, same_device) && a.settings == b.settings &&
         a.annotations == b.annotations && a.writer == b.writer &&
         a.unknown_keys == b.unknown_keys && a.plan == b.plan && same(a.tables, b.tables);
}

inline bool same(const ScalableProgram& a, const ScalableProgram& b) {
  return a.integers == b.integers && a.points == b.points && a.base == b.base &&
         a.check == b.check && a.conditions == b.conditions && a.formulas == b.formulas &&
         a.changes == b.changes && same(a.requests, b.requests);
}

}  // namespace highwater::test
