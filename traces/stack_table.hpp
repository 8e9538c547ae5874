// Interned strings, frames and call stacks: the side tables of a trace.
//
// Python tracebacks repeat heavily (a snapshot of ten thousand entries has a few hundred distinct
// stacks), so each distinct string, frame and stack is stored once and named by a dense id.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "traces/hash_index.hpp"
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

/// Distinct frames and stacks (innermost frame first, as in a snapshot), numbered from 0. A trace
/// that is derived from another has its stacks, and there may be a million of them: copies share
/// what they hold until one of them interns.
class StackTable {
 public:
  FrameId intern_frame(const Frame& frame);
  StackId intern_stack(std::span<const FrameId> frames);

  [[nodiscard]] const Frame& frame(FrameId id) const { return rows_->frames[id.index()]; }

  [[nodiscard]] std::span<const FrameId> stack(StackId id) const { return rows_->stack(id); }

  [[nodiscard]] std::size_t frame_count() const { return rows_->frames.size(); }

  [[nodiscard]] std::size_t stack_count() const { return rows_->stack_begin.size() - 1; }

 private:
  struct Rows {
    std::vector<Frame> frames;
    std::vector<FrameId> stack_frames;
    std::vector<std::size_t> stack_begin{0};
    HashIndex frame_ids;
    HashIndex stack_ids;

    [[nodiscard]] std::span<const FrameId> stack(StackId id) const {
      return {stack_frames.data() + stack_begin[id.index()],
              stack_begin[id.index() + 1] - stack_begin[id.index()]};
    }
  };

  Rows& own_rows();

  std::shared_ptr<Rows> rows_ = std::make_shared<Rows>();
};

/// The side tables that the records of one file share.
struct SideTables {
  StringTable strings;
  StackTable stacks;
};

}  // namespace highwater
