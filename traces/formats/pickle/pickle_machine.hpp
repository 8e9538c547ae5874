// A pickle machine for data: a stack, marks and a memo, and no way to execute anything.
//
// It reads protocols 2 to 5 as Python (3.8 on) and the TorchScript pickler in PyTorch write them.
// The stack holds 8-byte references; contents go to the ContainerBuilder as soon as a container is
// filled, and an item that the list at its place cannot hold is refused when it arrives. Nothing
// recurses on the input, every index is checked, and memory is bounded: hostile input is either
// read or refused. Limits: 1000 open containers (genuine files nest 9 deep), 1 MiB per string (the
// longest seen has 2 KB), memo slots as good as consecutive (all writers count them), integers of
// 64 bits, and memory as memory_bound.hpp has it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "traces/formats/bytes/byte_reader.hpp"
#include "traces/formats/bytes/memory_bound.hpp"
#include "traces/formats/pickle/container_builder.hpp"
#include "traces/formats/pickle/pickle_store.hpp"

namespace highwater::detail {

class PickleMachine {
 public:
  /// `store` and `builder` must outlive the machine.
  PickleMachine(ByteSource& source, PickleStore& store, ContainerBuilder& builder)
      : reader_(source), store_(store), builder_(builder), items_{PickleKind::absent} {}

  /// Reads one pickle and returns its value; what follows it is left alone.
  /// @throws InputError
  PickleValue run();

  [[nodiscard]] std::uint64_t bytes_read() const { return reader_.offset(); }

 private:
  static constexpr std::size_t kMaxOpenContainers = 1000;
  static constexpr std::uint64_t kMaxTextBytes = std::uint64_t{1} << 20;
  static constexpr std::uint64_t kMaxMemoSkip = std::uint64_t{1} << 20;

  enum class Step { next, stop };

  Step step();
  Step step_rarely(std::uint8_t opcode);
  PickleValue finish();

  void push(PickleValue value) {
    stack_.push_back(value);
    if (items_.back() != PickleKind::absent) {
      items_.back() = check_item(items_.back(), marks_.back());
    }
  }

  /// Refuses the value on top unless the list stack_[first - 1] takes it; returns what that list
  /// takes from now on: anything where nobody reads it.
  PickleKind check_item(PickleKind kind, std::size_t first);
  /// Refuses a pickle that takes more memory than any snapshot of its size.
  void check_memory();

  void push_text(std::uint64_t n);
  void push_integer(std::uint64_t n);
  void push_tuple(std::size_t n);
  void push_memo(std::uint64_t slot);
  void push_mark();
  /// What may come above a mark that is set now.
  [[nodiscard]] PickleKind items_above_mark() const;
  void duplicate();
  void pop();
  void memoize(std::uint64_t slot);

  void append();
  void appends();
  void append_from(std::size_t first);
  void set_item();
  void set_items();
  void set_items_from(std::size_t first);
  void set_unused_items(std::size_t first, const FieldProblem& problem);
  /// Whether nobody reads what is in the container stack_[first - 1].
  [[nodiscard]] bool is_unused(std::size_t first);
  void list_from_mark();
  void dict_from_mark();
  void tuple_from_mark();

  /// Removes the last mark; returns the index of the first item above it.
  std::size_t pop_mark();
  /// As pop_mark, but also checks that a container lies below the mark.
  std::size_t pop_mark_above_container();
  /// Refuses the opcode unless `n` items lie above the last mark.
  void need(std::size_t n);

  /// Where stack_[target] is in the pickle, such as "device_traces[0][17]".
  [[nodiscard]] std::string path_of(std::size_t target) const;

  void check_protocol(int protocol);
  void check_start();

  [[noreturn]] void fail(std::string_view problem, std::string_view remedy) const;
  [[noreturn]] void fail_damaged(std::string_view problem) const;
  [[noreturn]] void fail_in_field(std::size_t container, const FieldProblem& problem) const;
  [[noreturn]] void fail_truncated(std::uint64_t end) const;

  ByteReader reader_;
  PickleStore& store_;
  ContainerBuilder& builder_;
  std::vector<PickleValue> stack_;
  std::vector<std::size_t> marks_;  ///< stack sizes
  std::vector<PickleKind> items_;   ///< what may come above each mark; the first: below all marks
  std::uint64_t opcode_offset_ = 0;
  std::uint64_t next_check_ = kMemoryCheckEvery;
  int lookalikes_ = 0;
};

}  // namespace highwater::detail
