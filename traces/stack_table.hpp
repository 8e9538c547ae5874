// Interned strings, frames and call stacks: the side tables of a trace.
//
// Python tracebacks repeat heavily (a snapshot of ten thousand entries has a few hundred distinct
// stacks), so each distinct string, frame and stack is stored once and named by a dense id.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "traces/ids.hpp"

namespace highwater {

/// Distinct strings, numbered from 0. Views stay valid as long as the table lives.
class StringTable {
 public:
  StringTable() = default;
  StringTable(const StringTable& other);
  StringTable& operator=(const StringTable& other);
  StringTable(StringTable&&) = default;
  StringTable& operator=(StringTable&&) = default;
  ~StringTable() = default;

  StringId intern(std::string_view text);

  [[nodiscard]] std::string_view operator[](StringId id) const { return strings_[id.index()]; }

  [[nodiscard]] std::size_t size() const { return strings_.size(); }

 private:
  std::deque<std::string> strings_;
  std::unordered_map<std::string_view, StringId> ids_;
};

/// One line of a traceback. `line` is 0 for C++ frames and -1 when the line is unknown.
struct Frame {
  StringId file;
  StringId function;
  std::int64_t line = 0;

  bool operator==(const Frame&) const = default;
};

/// Distinct frames and stacks (innermost frame first, as in a snapshot), numbered from 0.
class StackTable {
 public:
  FrameId intern_frame(const Frame& frame);
  StackId intern_stack(std::span<const FrameId> frames);

  [[nodiscard]] const Frame& frame(FrameId id) const { return frames_[id.index()]; }

  [[nodiscard]] std::span<const FrameId> stack(StackId id) const {
    return {stack_frames_.data() + stack_begin_[id.index()],
            stack_begin_[id.index() + 1] - stack_begin_[id.index()]};
  }

  [[nodiscard]] std::size_t frame_count() const { return frames_.size(); }

  [[nodiscard]] std::size_t stack_count() const { return stack_begin_.size() - 1; }

 private:
  std::vector<Frame> frames_;
  std::vector<FrameId> stack_frames_;
  std::vector<std::size_t> stack_begin_{0};
  std::unordered_multimap<std::size_t, FrameId> frame_ids_;
  std::unordered_multimap<std::size_t, StackId> stack_ids_;
};

/// The side tables that the records of one file share.
struct SideTables {
  StringTable strings;
  StackTable stacks;
};

}  // namespace highwater
