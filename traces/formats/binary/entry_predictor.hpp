// The state that the writer and the reader of recorded entries share at each point of the stream.
//
// Both sides feed it the same entries in the same order, so a field that the model predicts is not
// stored. The guesses follow the allocator: a block is carved right after the last one or from a
// fresh segment, or takes the place of the last freed block of its size; a free repeats the
// address, size and stream of its allocation, which is identified by how many allocations ago it
// was made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

#include "traces/formats/binary/context_prediction.hpp"
#include "traces/recording.hpp"

namespace highwater {

/// All fields of an entry other than its action, address and time.
struct EntryShape {
  std::uint64_t size = 0;
  StackId stack;
  std::uint16_t stream = 0;
  std::uint8_t pool = 0;

  bool operator==(const EntryShape&) const = default;
};

struct EntryShapeHash {
  std::size_t operator()(const EntryShape& shape) const {
    constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15U;
    std::uint64_t hash = shape.size * kOdd;
    hash = (hash ^ (hash >> 29U) ^ shape.stack.value()) * kOdd;
    hash = (hash ^ (hash >> 29U) ^ shape.stream ^ (std::uint64_t{shape.pool} << 16U)) * kOdd;
    return hash ^ (hash >> 32U);
  }
};

/// How the address of an allocation is given; two bits of its tag.
enum class AddressGuess : std::uint8_t {
  at_cursor,
  last_freed_of_size,
  last_of_shape,
  by_distance
};

class EntryPredictor {
 public:
  struct Allocation {
    std::uint64_t address = 0;
    std::uint32_t shape = 0;
  };

  using Shapes = ShapeDictionary<EntryShape, EntryShapeHash>;

  Shapes shapes;
  std::deque<Allocation> allocations;
  ContextTable shape_context;     ///< predicts the shapes of allocations
  ContextTable distance_context;  ///< predicts which allocation a free gives back
  std::uint64_t cursor = 0;       ///< where memory was carved last
  std::int64_t time = 0;

  /// Prepares the tables for a new shape's number; called after each new shape.
  void note_new_shape();

  [[nodiscard]] std::uint64_t guess_address(AddressGuess guess, std::uint32_t shape) const;

  [[nodiscard]] StackId guess_free_stack(std::uint32_t shape) const {
    return details_[shape].free_stack;
  }

  void note_alloc(std::uint64_t address, std::uint32_t shape);

  /// The allocation `ordinal` was freed from `stack`.
  void note_free(std::size_t ordinal, StackId stack);

  void note_other(const RecordedEntry& entry);

 private:
  struct ShapeDetails {
    std::uint64_t last_address = 0;
    StackId free_stack;
    std::uint32_t size_class = 0;
  };

  std::vector<ShapeDetails> details_;                              ///< by shape
  std::vector<std::uint64_t> last_freed_;                          ///< by size class
  std::unordered_map<std::uint64_t, std::uint32_t> size_classes_;  ///< by rounded size
};

}  // namespace highwater
