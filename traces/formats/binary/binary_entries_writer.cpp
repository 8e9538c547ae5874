#include <algorithm>
#include <optional>
#include <unordered_map>

#include "traces/formats/binary/binary_entries.hpp"
#include "traces/formats/binary/binary_tables.hpp"
#include "traces/formats/binary/entry_predictor.hpp"
#include "traces/formats/binary/entry_tag.hpp"

namespace highwater {
namespace {

using namespace entry_tag;

EntryShape shape_of(const RecordedEntry& entry) {
  return {entry.size.count(), entry.stack, entry.stream, entry.pool};
}

/// The difference of two times, modulo 2^64, since any value may occur.
std::int64_t difference(std::int64_t later, std::int64_t earlier) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(later) -
                                   static_cast<std::uint64_t>(earlier));
}

bool is_pair(const RecordedEntry& first, const RecordedEntry& second) {
  return first.action == RecordedAction::free_requested &&
         second.action == RecordedAction::free_completed && first.address == second.address &&
         shape_of(first) == shape_of(second);
}

class EntryWriter {
 public:
  explicit EntryWriter(BinaryWriter& out) : out_(out) {}

  void put_all(const ChunkedVector<RecordedEntry>& entries) {
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const bool pair = i + 1 < entries.size() && is_pair(entries[i], entries[i + 1]);
      const RecordedEntry* const second = pair ? &entries[i + 1] : nullptr;
      put_entry(entries[i], second);
      i += pair ? 1 : 0;
    }
    out_.put_byte(static_cast<std::uint8_t>(EntryTag::end));
  }

 private:
  void put_entry(const RecordedEntry& entry, const RecordedEntry* second) {
    if (entry.action == RecordedAction::alloc) {
      return put_alloc(entry);
    }
    if (const auto ordinal = allocation_of(entry)) {
      return put_free(entry, second, *ordinal);
    }
    put_other(entry, second);
  }

  /// The allocation that a free gives back, if it fits in every field that a free does not store.
  std::optional<std::size_t> allocation_of(const RecordedEntry& entry) const {
    if (entry.action != RecordedAction::free_requested &&
        entry.action != RecordedAction::free_completed) {
      return std::nullopt;
    }
    const auto found = live_.find(entry.address.value());
    if (found == live_.end()) {
      return std::nullopt;
    }
    const EntryShape& shape = model_.shapes[model_.allocations[found->second].shape];
    const bool fits = shape.size == entry.size.count() && shape.stream == entry.stream &&
                      shape.pool == entry.pool;
    return fits ? std::optional(found->second) : std::nullopt;
  }

  void put_alloc(const RecordedEntry& entry) {
    const EntryShape shape = shape_of(entry);
    const std::size_t known = model_.shapes.find(shape);
    const ShapeGuess shape_guess = guess_for(known);
    const std::uint32_t number =
        known < model_.shapes.size() ? static_cast<std::uint32_t>(known) : add_shape(shape);
    const std::uint64_t address = entry.address.value();
    const AddressGuess address_guess = guess_for(address, number);
    put_tag(EntryTag::alloc, entry,
            static_cast<unsigned>(address_guess) << kAddressShift |
                static_cast<unsigned>(shape_guess) << kShapeShift);
    put_shape(shape_guess, number);
    if (address_guess == AddressGuess::by_distance) {
      out_.put_distance(model_.cursor, address);
    }
    live_[address] = model_.allocations.size();
    model_.note_alloc(address, number);
  }

  [[nodiscard]] ShapeGuess guess_for(std::size_t known) const {
    if (known == model_.shapes.size()) {
      return ShapeGuess::is_new;
    }
    if (known == model_.shape_context.guess(ContextTable::three)) {
      return ShapeGuess::after_three;
    }
    return known == model_.shape_context.guess(ContextTable::one) ? ShapeGuess::after_one
                                                                  : ShapeGuess::by_number;
  }

  [[nodiscard]] AddressGuess guess_for(std::uint64_t address, std::uint32_t shape) const {
    for (const AddressGuess guess :
         {AddressGuess::at_cursor, AddressGuess::last_freed_of_size, AddressGuess::last_of_shape}) {
      if (model_.guess_address(guess, shape) == address) {
        return guess;
      }
    }
    return AddressGuess::by_distance;
  }

  std::uint32_t add_shape(const EntryShape& shape) {
    const std::uint32_t number = model_.shapes.add_searchable(shape);
    model_.note_new_shape();
    return number;
  }

  void put_shape(ShapeGuess guess, std::uint32_t number) {
    if (guess == ShapeGuess::by_number) {
      out_.put(model_.shapes.size() - 1 - number);
    } else if (guess == ShapeGuess::is_new) {
      put_new_shape(model_.shapes[number]);
    }
  }

  void put_new_shape(const EntryShape& shape) {
    out_.put_size(shape.size);
    put_id(out_, shape.stack);
    out_.put(shape.stream);
    out_.put_byte(shape.pool);
  }

  void put_free(const RecordedEntry& entry, const RecordedEntry* second, std::size_t ordinal) {
    const std::uint32_t shape = model_.allocations[ordinal].shape;
    const std::uint64_t distance = model_.allocations.size() - ordinal;
    const bool stack_guessed = model_.guess_free_stack(shape) == entry.stack;
    const bool distance_guessed = model_.distance_context.guess(ContextTable::three) == distance;
    put_tag(free_tag(entry, second), entry,
            pair_time_bits(entry, second) | (stack_guessed ? kStackGuessed : 0) |
                (distance_guessed ? kDistanceGuessed : 0));
    put_pair_time(entry, second);
    if (!stack_guessed) {
      put_id(out_, entry.stack);
    }
    if (!distance_guessed) {
      out_.put(distance);
    }
    if (second != nullptr || entry.action == RecordedAction::free_completed) {
      live_.erase(entry.address.value());
    }
    model_.note_free(ordinal, entry.stack);
  }

  static EntryTag free_tag(const RecordedEntry& entry, const RecordedEntry* second) {
    if (second != nullptr) {
      return EntryTag::free_pair;
    }
    return entry.action == RecordedAction::free_requested ? EntryTag::free_requested
                                                          : EntryTag::free_completed;
  }

  void put_other(const RecordedEntry& entry, const RecordedEntry* second) {
    const EntryShape shape = shape_of(entry);
    std::size_t number = model_.shapes.find(shape);
    const bool is_new = number == model_.shapes.size();
    put_tag(second != nullptr ? EntryTag::other_pair : EntryTag::other, entry,
            pair_time_bits(entry, second));
    put_pair_time(entry, second);
    out_.put_byte(static_cast<std::uint8_t>(entry.action));
    out_.put(is_new ? 0 : model_.shapes.size() - number);
    if (is_new) {
      number = add_shape(shape);
      put_new_shape(shape);
    }
    out_.put_distance(model_.cursor, entry.address.value());
    model_.note_other(entry);
  }

  void put_tag(EntryTag tag, const RecordedEntry& entry, unsigned bits) {
    const std::int64_t passed = difference(entry.time_us, model_.time);
    out_.put_byte(static_cast<std::uint8_t>(static_cast<unsigned>(tag) | bits |
                                            (passed == 0 ? kSameTime : 0)));
    if (passed != 0) {
      out_.put_signed(passed);
    }
    model_.time = entry.time_us;
  }

  static unsigned pair_time_bits(const RecordedEntry& first, const RecordedEntry* second) {
    if (second == nullptr) {
      return 0;
    }
    const auto passed = static_cast<std::uint64_t>(difference(second->time_us, first.time_us));
    return static_cast<unsigned>(std::min(passed, kPairTimeGiven)) << kPairTimeShift;
  }

  void put_pair_time(const RecordedEntry& first, const RecordedEntry* second) {
    if (second == nullptr) {
      return;
    }
    const std::int64_t passed = difference(second->time_us, first.time_us);
    if (static_cast<std::uint64_t>(passed) >= kPairTimeGiven) {
      out_.put_signed(passed);
    }
    model_.time = second->time_us;
  }

  BinaryWriter& out_;
  EntryPredictor model_;
  std::unordered_map<std::uint64_t, std::size_t> live_;  ///< address -> ordinal of its allocation
};

}  // namespace

void put_entries(BinaryWriter& out, const ChunkedVector<RecordedEntry>& entries) {
  EntryWriter(out).put_all(entries);
}

}  // namespace highwater
