#include "traces/formats/pickle/pickle_path.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace highwater::detail {
namespace {

constexpr std::size_t kMaxPath = 200;  // a hostile key may be a megabyte, a hostile stack too deep

/// Walks up the stack and spells out the step from each container to the one inside it.
class PathWalk {
 public:
  PathWalk(std::span<const PickleValue> stack, const PickleStore& store,
           const ContainerBuilder& builder)
      : stack_(stack), store_(store), builder_(builder) {}

  /// From the container stack[first - 1] over the finished items of its open batch,
  /// stack[first...], to the unfinished thing at the end of it, stack[last].
  void cross_batch(std::size_t first, std::size_t last) {
    if (is_list(first - 1)) {
      // A container right after a list that is itself yet to be appended: lists of records hold
      // one kind of item, so the container is inside the list.
      const bool is_nested = last > first && is_list(last - 1) && !is_list(last);
      const std::size_t child = is_nested ? last - 1 : last;
      step_into_list(first - 1, child - first);
      descend(child, last);
      return;
    }
    std::size_t key = first;
    while (key + 2 <= last && stack_[key + 2].is(PickleKind::text)) {
      key += 2;
    }
    step_into_dict(key);
    descend(key + 1, last);
  }

  /// From stack[at] to stack[last] when each lies directly in the one before it, without marks.
  void descend(std::size_t at, std::size_t last) {
    while (at < last && path_.size() < kMaxPath) {
      if (is_list(at)) {
        step_into_list(at, 0);
      } else if (stack_[at + 1].is(PickleKind::text)) {
        step_into_dict(++at);
      }
      ++at;
    }
  }

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  void step_into_list(std::size_t list, std::size_t items_behind) {
    path_ += fmt::format("[{}]", store_.objects.list_size(now(list)) + items_behind);
  }

  void step_into_dict(std::size_t key) {
    const bool is_text = stack_[key].is(PickleKind::text);
    path_ = join_path(std::move(path_), is_text ? std::string(store_.texts[stack_[key]]) : "?");
  }

  [[nodiscard]] PickleValue now(std::size_t slot) const {
    return store_.objects.current(stack_[slot]);
  }

  [[nodiscard]] bool is_list(std::size_t slot) const {
    const PickleValue value = now(slot);
    return value.is(PickleKind::list) || value.is(PickleKind::new_list) ||
           (value.is_record() && builder_.is_list(value));
  }

  std::span<const PickleValue> stack_;
  const PickleStore& store_;
  const ContainerBuilder& builder_;
  std::string path_;
};

}  // namespace

std::string pickle_path(const PickleStack& stack, std::size_t target, const PickleStore& store,
                        const ContainerBuilder& builder) {
  if (target >= stack.values.size()) {
    return {};
  }
  PathWalk walk(stack.values, store, builder);
  std::size_t first = 0;
  for (const std::size_t mark : stack.marks) {
    if (mark == 0 || mark > target) {
      break;
    }
    first == 0 ? walk.descend(0, mark - 1) : walk.cross_batch(first, mark - 1);
    first = mark;
  }
  first == 0 ? walk.descend(0, target) : walk.cross_batch(first, target);
  return walk.path();
}

std::string join_path(std::string path, const std::string& field) {
  if (!path.empty() && !field.empty()) {
    path += '.';
  }
  path += field;
  path.resize(std::min(path.size(), kMaxPath));
  std::ranges::replace_if(
      path, [](char c) { return c >= 0 && c < ' '; }, '?');
  return path;
}

}  // namespace highwater::detail
