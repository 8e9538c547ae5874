#include "traces/formats/pickle/pickle_machine.hpp"

#include <array>
#include <limits>

#include "traces/formats/pickle/pickle_opcodes.hpp"

namespace highwater::detail {

PickleValue PickleMachine::run() {
  try {
    check_start();
    while (step() == Step::next) {
    }
    return finish();
  } catch (const EndOfInput& end) {
    fail_truncated(end.offset);
  }
}

// The opcodes that make up nearly all of a file; the rest is in step_rarely.
PickleMachine::Step PickleMachine::step() {
  opcode_offset_ = reader_.offset();
  if (opcode_offset_ >= next_check_) [[unlikely]] {
    check_memory();
  }
  const std::uint8_t opcode = reader_.u8();
  switch (static_cast<PickleOpcode>(opcode)) {
    case PickleOpcode::long_bin_get:
      push_memo(reader_.little<std::uint32_t>());
      break;
    case PickleOpcode::bin_get:
      push_memo(reader_.u8());
      break;
    case PickleOpcode::memoize:
      memoize(store_.objects.memo_size());
      break;
    case PickleOpcode::long1:
      push_integer(reader_.u8());
      break;
    case PickleOpcode::bin_int:
      push(PickleValue::small_integer(reader_.little<std::int32_t>()));
      break;
    case PickleOpcode::bin_int1:
      push(PickleValue::small_integer(reader_.u8()));
      break;
    case PickleOpcode::bin_int2:
      push(PickleValue::small_integer(reader_.little<std::uint16_t>()));
      break;
    case PickleOpcode::mark:
      push_mark();
      break;
    case PickleOpcode::empty_dict:
      push(PickleValue{PickleKind::new_dict});
      break;
    case PickleOpcode::empty_list:
      push(PickleValue{PickleKind::new_list});
      break;
    case PickleOpcode::set_items:
      set_items();
      break;
    case PickleOpcode::appends:
      appends();
      break;
    case PickleOpcode::append:
      append();
      break;
    case PickleOpcode::short_bin_unicode:
      push_text(reader_.u8());
      break;
    case PickleOpcode::bin_unicode:
      push_text(reader_.little<std::uint32_t>());
      break;
    case PickleOpcode::tuple2:
      push_tuple(2);
      break;
    case PickleOpcode::new_false:
      push(PickleValue{PickleKind::boolean, 0});
      break;
    case PickleOpcode::new_true:
      push(PickleValue{PickleKind::boolean, 1});
      break;
    default:
      return step_rarely(opcode);
  }
  return Step::next;
}

PickleMachine::Step PickleMachine::step_rarely(std::uint8_t opcode) {
  switch (static_cast<PickleOpcode>(opcode)) {
    case PickleOpcode::stop:
      return Step::stop;
    case PickleOpcode::proto:
      check_protocol(reader_.u8());
      break;
    case PickleOpcode::frame:  // helps only readers that work frame by frame
      reader_.little<std::uint64_t>();
      break;
    case PickleOpcode::bin_float:
      push(store_.objects.real(reader_.big_endian_double()));
      break;
    case PickleOpcode::none:
      push(PickleValue{PickleKind::none});
      break;
    case PickleOpcode::long4:
      push_integer(reader_.little<std::uint32_t>());
      break;
    case PickleOpcode::bin_unicode8:
      push_text(reader_.little<std::uint64_t>());
      break;
    case PickleOpcode::bin_put:
      memoize(reader_.u8());
      break;
    case PickleOpcode::long_bin_put:
      memoize(reader_.little<std::uint32_t>());
      break;
    case PickleOpcode::set_item:
      set_item();
      break;
    case PickleOpcode::dict:
      dict_from_mark();
      break;
    case PickleOpcode::list:
      list_from_mark();
      break;
    case PickleOpcode::tuple:
      tuple_from_mark();
      break;
    case PickleOpcode::empty_tuple:
      push(PickleValue{PickleKind::new_list});
      break;
    case PickleOpcode::tuple1:
      push_tuple(1);
      break;
    case PickleOpcode::tuple3:
      push_tuple(3);
      break;
    case PickleOpcode::pop:
      pop();
      break;
    case PickleOpcode::pop_mark:
      stack_.resize(pop_mark());
      break;
    case PickleOpcode::dup:
      duplicate();
      break;
    default: {
      const PickleRefusal refusal = refusal_of(opcode);
      fail(refusal.problem,
           refusal.remedy.empty() ? builder_.advice().write_again : refusal.remedy);
    }
  }
  return Step::next;
}

PickleValue PickleMachine::finish() {
  check_memory();
  if (stack_.size() != 1 || !marks_.empty()) {
    fail_damaged("the pickle ends with an unfinished container");
  }
  return store_.objects.current(stack_.front());
}

void PickleMachine::push_text(std::uint64_t n) {
  if (n > kMaxTextBytes) {
    fail_damaged("a string of " + std::to_string(n) + " bytes exceeds the supported 1 MiB");
  }
  push(store_.texts.intern(reader_.text(n)));
}

// Nine bytes occur for numbers from 2^63 on: the ninth is then zero.
void PickleMachine::push_integer(std::uint64_t n) {
  if (n <= 8) [[likely]] {
    push(n == 0 ? PickleValue::small_integer(0)
                : store_.objects.integer(reader_.signed_little(static_cast<std::size_t>(n))));
    return;
  }
  if (n > 9) {
    fail_damaged("an integer of " + std::to_string(n) + " bytes");
  }
  const auto value = reader_.little<std::uint64_t>();
  if (reader_.u8() != 0) {
    fail_damaged("an integer does not fit in 64 bits");
  }
  push(store_.objects.unsigned_integer(value));
}

void PickleMachine::push_tuple(std::size_t n) {
  need(n);
  const std::size_t first = stack_.size() - n;
  const PickleValue tuple = store_.objects.make_tuple({stack_.data() + first, n});
  stack_.resize(first);
  push(tuple);
}

void PickleMachine::push_memo(std::uint64_t slot) {
  const PickleValue value = store_.objects.memo(slot);
  if (value.is(PickleKind::absent)) [[unlikely]] {
    fail_damaged("memo slot " + std::to_string(slot) + " is read before it is written");
  }
  push(value);
}

void PickleMachine::push_mark() {
  if (marks_.size() == kMaxOpenContainers) {
    fail_damaged("containers are nested more than 1000 levels deep");
  }
  items_.push_back(items_above_mark());
  marks_.push_back(stack_.size());
}

// A mark right above another one begins a container of its own.
PickleKind PickleMachine::items_above_mark() const {
  const bool has_container = stack_.size() > (marks_.empty() ? 0 : marks_.back());
  return has_container ? builder_.items_of_list(stack_) : PickleKind::absent;
}

// An empty container that is only on the stack gets a row first; otherwise its copies would
// diverge.
void PickleMachine::duplicate() {
  need(1);
  const PickleValue top = stack_.back();
  if (top == PickleValue{PickleKind::new_list}) {
    stack_.back() = store_.objects.make_list({});
  } else if (top == PickleValue{PickleKind::new_dict}) {
    stack_.back() = store_.objects.make_dict({});
  }
  push(stack_.back());
}

// As in Python, a mark on top is popped like an item.
void PickleMachine::pop() {
  if (!marks_.empty() && marks_.back() == stack_.size()) {
    pop_mark();
    return;
  }
  need(1);
  stack_.pop_back();
}

void PickleMachine::memoize(std::uint64_t slot) {
  need(1);
  if (slot > store_.objects.memo_size() + kMaxMemoSkip) {
    fail_damaged("memo slot " + std::to_string(slot) + " skips slots that no writer skips");
  }
  PickleValue& top = stack_.back();
  if (top == PickleValue{PickleKind::new_list} || top == PickleValue{PickleKind::new_dict}) {
    top = top.plus(slot + 1);
  }
  if (store_.objects.memoize(slot, top) == PickleObjects::Memoized::slot_taken) {
    fail_damaged("memo slot " + std::to_string(slot) + " is written twice");
  }
}

}  // namespace highwater::detail
