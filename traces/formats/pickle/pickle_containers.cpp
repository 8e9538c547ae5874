// The opcodes of the PickleMachine that fill containers.
#include "traces/formats/pickle/pickle_machine.hpp"

namespace highwater::detail {

void PickleMachine::need(std::size_t n) {
  const std::size_t floor = marks_.empty() ? 0 : marks_.back();
  if (stack_.size() < floor + n) [[unlikely]] {
    fail_damaged("an opcode needs more items than the stack holds");
  }
}

std::size_t PickleMachine::pop_mark() {
  if (marks_.empty()) [[unlikely]] {
    fail_damaged("an opcode needs a mark, but none is set");
  }
  const std::size_t first = marks_.back();
  marks_.pop_back();
  items_.pop_back();
  return first;
}

std::size_t PickleMachine::pop_mark_above_container() {
  const std::size_t first = pop_mark();
  const std::size_t floor = marks_.empty() ? 0 : marks_.back();
  if (first <= floor) [[unlikely]] {
    fail_damaged("there is no container below the mark");
  }
  return first;
}

void PickleMachine::append() {
  need(2);
  const std::size_t item = stack_.size() - 1;
  const PickleKind kind = builder_.items_of_list({stack_.data(), item});
  if (kind != PickleKind::absent) {
    check_item(kind, item);
  }
  append_from(item);
}

void PickleMachine::appends() {
  append_from(pop_mark_above_container());
}

void PickleMachine::append_from(std::size_t first) {
  PickleValue& list = stack_[first - 1];
  const std::span<const PickleValue> items{stack_.data() + first, stack_.size() - first};
  try {
    list = builder_.append(list, items, reader_.offset());
  } catch (const FieldProblem& problem) {
    fail_in_field(first - 1, problem);
  }
  stack_.resize(first);
}

void PickleMachine::set_item() {
  need(3);
  set_items_from(stack_.size() - 2);
}

void PickleMachine::set_items() {
  set_items_from(pop_mark_above_container());
}

void PickleMachine::set_items_from(std::size_t first) {
  PickleValue& dict = stack_[first - 1];
  const std::span<const PickleValue> items{stack_.data() + first, stack_.size() - first};
  if (items.size() % 2 != 0) {
    fail_damaged("a dict item has a key but no value");
  }
  try {
    dict = builder_.set_items(dict, items);
  } catch (const FieldProblem& problem) {
    set_unused_items(first, problem);
  }
  stack_.resize(first);
}

// A dict under an unknown key may look like one of the known records and be something else; so may
// a list. Finding out where it is takes time, so only a limited number are checked.
bool PickleMachine::is_unused(std::size_t first) {
  constexpr int kMaxLookalikes = 1000;
  return lookalikes_++ < kMaxLookalikes && builder_.is_unused_place(path_of(first - 1));
}

PickleKind PickleMachine::check_item(PickleKind kind, std::size_t first) {
  const bool is_first = stack_.size() == first + 1;
  try {
    builder_.check_item(kind, is_first ? PickleValue{} : stack_[stack_.size() - 2], stack_.back());
    return kind;
  } catch (const FieldProblem& problem) {
    if (is_unused(first)) {
      return PickleKind::absent;
    }
    fail(problem.problem, builder_.advice().implausible);
  }
}

void PickleMachine::set_unused_items(std::size_t first, const FieldProblem& problem) {
  PickleValue& dict = stack_[first - 1];
  if (!is_unused(first)) {
    fail_in_field(first - 1, problem);
  }
  try {
    dict = builder_.set_plain_items(dict, {stack_.data() + first, stack_.size() - first});
  } catch (const FieldProblem& second_problem) {
    fail_in_field(first - 1, second_problem);
  }
}

void PickleMachine::list_from_mark() {
  const std::size_t first = pop_mark();
  stack_.insert(stack_.begin() + static_cast<std::ptrdiff_t>(first),
                PickleValue{PickleKind::new_list});
  append_from(first + 1);
}

void PickleMachine::dict_from_mark() {
  const std::size_t first = pop_mark();
  stack_.insert(stack_.begin() + static_cast<std::ptrdiff_t>(first),
                PickleValue{PickleKind::new_dict});
  set_items_from(first + 1);
}

void PickleMachine::tuple_from_mark() {
  push_tuple(stack_.size() - pop_mark());
}

}  // namespace highwater::detail
