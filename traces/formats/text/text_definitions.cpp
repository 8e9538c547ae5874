#include "traces/formats/text/text_definitions.hpp"

#include <string>
#include <vector>

#include <fmt/format.h>

#include "traces/formats/text/text_escape.hpp"
#include "traces/side_table_memory.hpp"

namespace highwater {

AllocationId TextDefinitions::new_allocation() {
  const std::string_view word = fields_.word_as("ID");
  const std::string name = unescaped(word);
  if (names_.find(name)) {
    fields_.fail(fmt::format("allocation '{}' already exists", TextFields::shown(word)),
                 "give each allocation its own ID, even after an earlier one was freed");
  }
  if (!AllocationId{names_.size()}.has_value()) {
    fields_.fail("more allocations than a trace can hold (4294967295)", "split the trace");
  }
  return names_.add(name);
}

AllocationId TextDefinitions::known_allocation() {
  const std::string_view word = fields_.word_as("ID");
  const auto id = names_.find(unescaped(word));
  if (!id) {
    fields_.fail(fmt::format("unknown allocation '{}'", TextFields::shown(word)),
                 "put its 'a' line before this one");
  }
  return *id;
}

PoolIndex TextDefinitions::pool(PoolId id) {
  constexpr std::size_t kMostPools = 0x10000;
  const auto [found, is_new] = pools_.try_emplace(id, static_cast<PoolIndex>(trace_.pools.size()));
  if (is_new && trace_.pools.size() == kMostPools) {
    fields_.fail("more pools than a trace can hold (65536)", "split the trace");
  }
  if (is_new) {
    trace_.pools.push_back(id);
  }
  return found->second;
}

StackId TextDefinitions::stack(std::string_view number) {
  return known(stacks_, number, "stack");
}

StringId TextDefinitions::text(std::string_view written) {
  const std::string text = unescaped(written);
  const std::size_t before = trace_.tables.strings.size();
  const StringId id = trace_.tables.strings.intern(text);
  characters_ += trace_.tables.strings.size() > before ? text.size() : 0;
  return id;
}

void TextDefinitions::read_frame() {
  const std::uint64_t key = new_key(frames_);
  const auto line = parse_number<std::int64_t>(fields_.word());
  fields_.require(line.has_value(), "LINE");
  const std::string_view rest = fields_.rest();
  const std::size_t tab = rest.find('\t');
  fields_.require(tab != std::string_view::npos, "FILE<TAB>FUNCTION");
  const StringId file = text(rest.substr(0, tab));
  const StringId function = text(rest.substr(tab + 1));
  frames_[key] = trace_.tables.stacks.intern_frame({file, function, *line});
}

void TextDefinitions::read_stack() {
  const std::uint64_t key = new_key(stacks_);
  std::vector<FrameId> frames;
  for (auto word = fields_.word(); !word.empty(); word = fields_.word()) {
    frames.push_back(known(frames_, word, "frame"));
  }
  stacks_[key] = trace_.tables.stacks.intern_stack(frames);
  frames_in_stacks_ += frames.size();
}

std::uint64_t TextDefinitions::memory() const {
  const SideTables& tables = trace_.tables;
  return names_.memory() + tables.strings.size() * string_memory(0) + characters_ +
         tables.stacks.frame_count() * frame_memory() +
         tables.stacks.stack_count() * stack_memory(0) + frames_in_stacks_ * sizeof(FrameId) +
         (frames_.size() + stacks_.size()) * kHashNodeMemory;
}

void TextDefinitions::finish() {
  trace_.allocation_count = names_.size();
  trace_.allocation_names = names_.take_names();
}

template <class Id>
std::uint64_t TextDefinitions::new_key(const std::unordered_map<std::uint64_t, Id>& table) {
  const std::uint64_t key = fields_.number("K");
  if (table.contains(key)) {
    fields_.fail(fmt::format("{} {} is already defined", fields_.row().word, key),
                 "use another number");
  }
  return key;
}

template <class Id>
Id TextDefinitions::known(const std::unordered_map<std::uint64_t, Id>& table,
                          std::string_view number, std::string_view what) {
  const auto key = parse_number<std::uint64_t>(number);
  const auto found = key ? table.find(*key) : table.end();
  if (found == table.end()) {
    fields_.fail(fmt::format("{} '{}' is not defined", what, TextFields::shown(number)),
                 fmt::format("define it on an earlier line, '{} K ...'", what));
  }
  return found->second;
}

}  // namespace highwater
