#include "tools/engine/recorded_attributes.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <vector>

namespace highwater {
namespace {

std::optional<Category> category_called(std::string_view word) {
  for (std::size_t i = 0; i < kCategoryCount; ++i) {
    if (to_string(static_cast<Category>(i)) == word) {
      return static_cast<Category>(i);
    }
  }
  return std::nullopt;
}

/// A stack without the frame that names the category, and that category.
struct Attributed {
  StackId stack;
  Category category = Category::unknown;
};

Attributed attributed(SideTables& tables, StackId stack) {
  Attributed result{.stack = stack};
  std::vector<FrameId> frames;
  for (const FrameId id : tables.stacks.stack(stack)) {
    const Frame& frame = tables.stacks.frame(id);
    if (tables.strings[frame.file] == "category") {
      result.category = category_called(tables.strings[frame.function]).value_or(Category::unknown);
    } else {
      frames.push_back(id);
    }
  }
  result.stack = tables.stacks.intern_stack(frames);
  return result;
}

}  // namespace

void take_attributes(RequestTrace& trace) {
  std::vector<std::optional<Attributed>> known(trace.tables.stacks.stack_count());
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    Event& event = trace.events[i];
    if (event.kind != EventKind::alloc || !event.stack.has_value()) {
      continue;
    }
    std::optional<Attributed>& found = known[event.stack.index()];
    if (!found) {
      found = attributed(trace.tables, event.stack);
    }
    event.stack = found->stack;
    event.category = found->category;
  }
}

}  // namespace highwater
