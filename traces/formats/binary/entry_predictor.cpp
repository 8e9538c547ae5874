#include "traces/formats/binary/entry_predictor.hpp"

#include "traces/formats/binary/binary_stream.hpp"

namespace highwater {
namespace {

/// Requests are rounded up to this (kMinBlockSize); modulo 2^64, since any number may occur.
std::uint64_t rounded(std::uint64_t size) {
  return (size + binary::kUnit - 1) / binary::kUnit * binary::kUnit;
}

}  // namespace

void EntryPredictor::note_new_shape() {
  const std::uint64_t size = rounded(shapes[shapes.size() - 1].size);
  const auto next = static_cast<std::uint32_t>(size_classes_.size());
  const auto [size_class, is_new] = size_classes_.try_emplace(size, next);
  if (is_new) {
    last_freed_.push_back(0);
  }
  details_.push_back({.last_address = 0, .free_stack = {}, .size_class = size_class->second});
}

std::uint64_t EntryPredictor::guess_address(AddressGuess guess, std::uint32_t shape) const {
  switch (guess) {
    case AddressGuess::last_freed_of_size:
      return last_freed_[details_[shape].size_class];
    case AddressGuess::last_of_shape:
      return details_[shape].last_address;
    case AddressGuess::at_cursor:
    case AddressGuess::by_distance:
      break;
  }
  return cursor;
}

void EntryPredictor::note_alloc(std::uint64_t address, std::uint32_t shape) {
  allocations.push_back({address, shape});
  shape_context.learn(shape);
  shape_context.advance(shape);
  distance_context.advance(shape);
  details_[shape].last_address = address;
  cursor = address + rounded(shapes[shape].size);
}

void EntryPredictor::note_free(std::size_t ordinal, StackId stack) {
  const Allocation& freed = allocations[ordinal];
  distance_context.learn(allocations.size() - ordinal);
  distance_context.advance(~std::uint64_t{freed.shape});
  details_[freed.shape].free_stack = stack;
  last_freed_[details_[freed.shape].size_class] = freed.address;
}

void EntryPredictor::note_other(const RecordedEntry& entry) {
  cursor = entry.address.value();
}

}  // namespace highwater
