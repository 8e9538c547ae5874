#include "traces/formats/binary/binary_entries.hpp"
#include "traces/formats/binary/binary_tables.hpp"
#include "traces/formats/binary/entry_predictor.hpp"
#include "traces/formats/binary/entry_tag.hpp"

namespace highwater {
namespace {

using namespace entry_tag;

class EntryReader {
 public:
  EntryReader(BinaryReader& in, const EntryLimits& limits) : in_(in), limits_(limits) {}

  ChunkedVector<RecordedEntry> get_all() {
    while (get_record()) {
    }
    return std::move(entries_);
  }

 private:
  bool get_record() {
    const unsigned tag = in_.byte();
    const auto kind = static_cast<EntryTag>(tag & kKindMask);
    if (kind == EntryTag::end) {
      return false;
    }
    if ((tag & kSameTime) == 0) {
      advance_time(in_.signed_number());
    }
    switch (kind) {
      case EntryTag::alloc:
        get_alloc(tag);
        break;
      case EntryTag::free_pair:
      case EntryTag::free_requested:
      case EntryTag::free_completed:
        get_free(kind, tag);
        break;
      case EntryTag::other:
      case EntryTag::other_pair:
        get_other(kind, tag);
        break;
      default:
        in_.fail("unknown record kind");
    }
    return true;
  }

  void advance_time(std::int64_t passed) {
    model_.time = static_cast<std::int64_t>(static_cast<std::uint64_t>(model_.time) +
                                            static_cast<std::uint64_t>(passed));
  }

  void get_alloc(unsigned tag) {
    const std::uint32_t shape = get_shape(static_cast<ShapeGuess>(tag >> kShapeShift & 3U));
    const auto guess = static_cast<AddressGuess>(tag >> kAddressShift & 3U);
    const std::uint64_t address = guess == AddressGuess::by_distance
                                      ? in_.distance_from(model_.cursor)
                                      : model_.guess_address(guess, shape);
    add(RecordedAction::alloc, address, model_.shapes[shape]);
    model_.note_alloc(address, shape);
  }

  std::uint32_t get_shape(ShapeGuess guess) {
    switch (guess) {
      case ShapeGuess::after_three:
        return guessed_shape(ContextTable::three);
      case ShapeGuess::after_one:
        return guessed_shape(ContextTable::one);
      case ShapeGuess::by_number:
        return static_cast<std::uint32_t>(model_.shapes.size() - 1 -
                                          in_.number_below(model_.shapes.size(), "shape"));
      case ShapeGuess::is_new:
        break;
    }
    return get_new_shape();
  }

  std::uint32_t guessed_shape(ContextTable::Order order) {
    const std::uint64_t shape = model_.shape_context.guess(order);
    if (shape == ContextTable::kNoGuess) {
      in_.fail("a predicted value is used where none can be predicted");
    }
    return static_cast<std::uint32_t>(shape);
  }

  std::uint32_t get_new_shape() {
    EntryShape shape;
    shape.size = in_.size();
    shape.stack = get_id<StackTag>(in_, limits_.stacks, "stack");
    shape.stream = static_cast<std::uint16_t>(in_.number_below(limits_.streams, "stream"));
    shape.pool = in_.byte();
    if (shape.pool >= limits_.pools) {
      in_.fail("reference to a pool that the device does not have");
    }
    const std::uint32_t number = model_.shapes.add(shape);
    model_.note_new_shape();
    return number;
  }

  void get_free(EntryTag kind, unsigned tag) {
    const std::uint64_t pair_time = kind == EntryTag::free_pair ? get_pair_time(tag) : 0;
    const bool stack_guessed = (tag & kStackGuessed) != 0;
    const StackId given =
        stack_guessed ? StackId{} : get_id<StackTag>(in_, limits_.stacks, "stack");
    const std::size_t ordinal = get_ordinal(tag);
    const auto [address, number] = model_.allocations[ordinal];
    EntryShape shape = model_.shapes[number];
    shape.stack = stack_guessed ? model_.guess_free_stack(number) : given;
    if (kind != EntryTag::free_completed) {
      add(RecordedAction::free_requested, address, shape);
    }
    if (kind != EntryTag::free_requested) {
      advance_time(static_cast<std::int64_t>(pair_time));
      add(RecordedAction::free_completed, address, shape);
    }
    model_.note_free(ordinal, shape.stack);
  }

  std::uint64_t get_pair_time(unsigned tag) {
    const std::uint64_t code = tag >> kPairTimeShift & 3U;
    return code == kPairTimeGiven ? static_cast<std::uint64_t>(in_.signed_number()) : code;
  }

  std::size_t get_ordinal(unsigned tag) {
    const std::uint64_t distance = (tag & kDistanceGuessed) != 0
                                       ? model_.distance_context.guess(ContextTable::three)
                                       : in_.number();
    if (distance == 0 || distance > model_.allocations.size()) {
      in_.fail("free of an allocation that was never made");
    }
    return model_.allocations.size() - distance;
  }

  void get_other(EntryTag kind, unsigned tag) {
    const std::uint64_t pair_time = kind == EntryTag::other_pair ? get_pair_time(tag) : 0;
    const auto action =
        static_cast<RecordedAction>(in_.number_below(kRecordedActionCount, "action"));
    const std::uint64_t back = in_.number_below(model_.shapes.size() + 1, "shape");
    const std::size_t number = back == 0 ? get_new_shape() : model_.shapes.size() - back;
    const std::uint64_t address = in_.distance_from(model_.cursor);
    add(action, address, model_.shapes[number]);
    model_.note_other(entries_.back());
    if (kind == EntryTag::other_pair) {
      advance_time(static_cast<std::int64_t>(pair_time));
      add(RecordedAction::free_completed, address, model_.shapes[number]);
    }
  }

  void add(RecordedAction action, std::uint64_t address, const EntryShape& shape) {
    entries_.push_back({.address = Address{address},
                        .size = Bytes{shape.size},
                        .time_us = model_.time,
                        .stack = shape.stack,
                        .stream = shape.stream,
                        .action = action,
                        .pool = shape.pool});
  }

  BinaryReader& in_;
  EntryLimits limits_;
  EntryPredictor model_;
  ChunkedVector<RecordedEntry> entries_;
};

}  // namespace

ChunkedVector<RecordedEntry> get_entries(BinaryReader& in, const EntryLimits& limits) {
  return EntryReader(in, limits).get_all();
}

}  // namespace highwater
