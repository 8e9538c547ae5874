#include "traces/stack_table.hpp"

#include <algorithm>

namespace highwater {
namespace {

std::size_t mix(std::size_t seed, std::size_t value) {
  return (seed ^ value) * 0x9e3779b97f4a7c15ULL + (seed >> 29);
}

}  // namespace

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

FrameId StackTable::intern_frame(const Frame& frame) {
  const std::size_t hash =
      mix(mix(frame.file.index(), frame.function.index()), static_cast<std::size_t>(frame.line));
  const auto [first, last] = frame_ids_.equal_range(hash);
  for (auto it = first; it != last; ++it) {
    if (frames_[it->second.index()] == frame) {
      return it->second;
    }
  }
  const FrameId id{frames_.size()};
  frames_.push_back(frame);
  frame_ids_.emplace(hash, id);
  return id;
}

StackId StackTable::intern_stack(std::span<const FrameId> frames) {
  std::size_t hash = frames.size();
  for (const FrameId frame : frames) {
    hash = mix(hash, frame.index());
  }
  const auto [first, last] = stack_ids_.equal_range(hash);
  for (auto it = first; it != last; ++it) {
    if (std::ranges::equal(stack(it->second), frames)) {
      return it->second;
    }
  }
  const StackId id{stack_count()};
  stack_frames_.insert(stack_frames_.end(), frames.begin(), frames.end());
  stack_begin_.push_back(stack_frames_.size());
  stack_ids_.emplace(hash, id);
  return id;
}

}  // namespace highwater
