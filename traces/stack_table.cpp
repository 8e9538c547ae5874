#include "traces/stack_table.hpp"

#include <algorithm>
#include <atomic>
#include <random>

namespace highwater {

std::uint64_t hash_seed() {
  static const std::uint64_t seed = std::uint64_t{std::random_device{}()} << 32U;
  return seed;
}

StringTable::StringTable(const StringTable& other) {
  for (const std::string& text : other.strings_) {
    intern(text);
  }
}

StringTable& StringTable::operator=(const StringTable& other) {
  if (this != &other) {
    StringTable copy(other);
    *this = std::move(copy);
  }
  return *this;
}

StringId StringTable::intern(std::string_view text) {
  const auto found = ids_.find(text);
  if (found != ids_.end()) {
    return found->second;
  }
  const StringId id{strings_.size()};
  ids_.emplace(strings_.emplace_back(text), id);
  return id;
}

/// What this table alone has. A copy that is destroyed on another thread has been read before that.
StackTable::Rows& StackTable::own_rows() {
  if (rows_.use_count() > 1) {
    rows_ = std::make_shared<Rows>(*rows_);
  }
  std::atomic_thread_fence(std::memory_order_acquire);
  return *rows_;
}

FrameId StackTable::intern_frame(const Frame& frame) {
  Rows& rows = own_rows();
  const std::uint64_t names =
      hash_with(hash_with(hash_seed(), frame.file.index()), frame.function.index());
  return FrameId{rows.frame_ids.find_or_add(
      hash_with(names, static_cast<std::uint64_t>(frame.line)),
      [&](std::uint32_t other) { return rows.frames[other] == frame; },
      [&] {
        const FrameId id{rows.frames.size()};
        rows.frames.push_back(frame);
        return id.value();
      })};
}

StackId StackTable::intern_stack(std::span<const FrameId> frames) {
  Rows& rows = own_rows();
  std::uint64_t hash = hash_with(hash_seed(), frames.size());
  for (const FrameId frame : frames) {
    hash = hash_with(hash, frame.index());
  }
  return StackId{rows.stack_ids.find_or_add(
      hash,
      [&](std::uint32_t other) { return std::ranges::equal(rows.stack(StackId{other}), frames); },
      [&] {
        const StackId id{stack_count()};
        rows.stack_begin.push_back(rows.stack_frames.size() + frames.size());
        try {
          rows.stack_frames.insert(rows.stack_frames.end(), frames.begin(), frames.end());
        } catch (...) {
          rows.stack_begin.pop_back();
          throw;
        }
        return id.value();
      })};
}

}  // namespace highwater
