// The lists, dicts, wide numbers and memo of a pickle that is being read.
//
// Lists keep runs of consecutive record references, so a list of a million records is one run.
// Everything is a row in a flat table and nothing is ever visited recursively: nesting and cycles
// in the input do no harm.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "traces/chunked_vector.hpp"
#include "traces/formats/pickle/pickle_value.hpp"

namespace highwater::detail {

class PickleObjects {
 public:
  PickleValue integer(std::int64_t value);
  PickleValue unsigned_integer(std::uint64_t value);
  PickleValue real(double value);

  /// The number, when `value` is an integer that fits.
  [[nodiscard]] std::optional<std::int64_t> as_signed(PickleValue value) const;
  /// The number's 64 bits, for raw handles: a negative one is reinterpreted.
  [[nodiscard]] std::optional<std::uint64_t> as_bits(PickleValue value) const;
  [[nodiscard]] std::optional<double> as_real(PickleValue value) const;

  PickleValue make_tuple(std::span<const PickleValue> items);
  PickleValue make_list(std::span<const PickleValue> items);
  void append(PickleValue list, PickleValue item);
  [[nodiscard]] std::uint64_t list_size(PickleValue list) const;

  /// The first item, current() applied; absent when there is none.
  [[nodiscard]] PickleValue front(PickleValue list) const;

  /// Calls visit(first, count) for each run of the list: `count` values first, first.plus(1), ...
  template <class Visit>
  void for_each_run(PickleValue list, Visit&& visit) const {
    if (list.is(PickleKind::list)) {
      std::size_t at = lists_[row(list)].first;
      for (; at != kNoRow; at = runs_[at].next) {
        visit(runs_[at].first, runs_[at].count);
      }
    }
  }

  /// Calls visit(value) for each item, current() applied.
  template <class Visit>
  void for_each_item(PickleValue list, Visit&& visit) const {
    for_each_run(list, [&](PickleValue first, std::uint64_t count) {
      for (std::uint64_t i = 0; i < count; ++i) {
        visit(current(i == 0 ? first : first.plus(i)));
      }
    });
  }

  /// The two integers of a tuple such as a pool id; nothing for any other value.
  [[nodiscard]] std::optional<std::array<std::int64_t, 2>> as_pair(PickleValue value) const;

  /// `marks` are 64 bits that the builder keeps with the dict.
  PickleValue make_dict(std::uint64_t marks);
  /// Adds keys and values in turn; returns `dict`.
  PickleValue add(PickleValue dict, std::span<const PickleValue> items);

  [[nodiscard]] std::uint64_t& marks(PickleValue dict) { return dicts_[row(dict)].marks; }

  /// Makes `dict` stand for `record` from now on.
  void become(PickleValue dict, PickleValue record);
  /// Keys and values in turn, as added.
  [[nodiscard]] std::vector<PickleValue> items_of(PickleValue dict) const;

  [[nodiscard]] PickleValue memo(std::uint64_t slot) const {
    return slot < memo_.size() ? memo_[static_cast<std::size_t>(slot)] : PickleValue{};
  }

  enum class Memoized { yes, slot_taken };
  Memoized memoize(std::uint64_t slot, PickleValue value);
  void replace_memo(std::uint64_t slot, PickleValue value);

  [[nodiscard]] std::uint64_t memo_size() const { return memo_count_; }

  /// "a list", "the number -5", ...: for messages. Empty for the builder's own kinds.
  [[nodiscard]] std::string describe(PickleValue value) const;

  /// Bytes of all that is kept.
  [[nodiscard]] std::uint64_t memory() const;

  /// What `value` refers to by now: follows a memo slot that has been filled and a dict that has
  /// received its shape.
  [[nodiscard]] PickleValue current(PickleValue value) const {
    if (value.is(PickleKind::new_list) || value.is(PickleKind::new_dict)) {
      value = value.payload() == 0 ? value : memo(value.payload() - 1);
    }
    if (value.is(PickleKind::dict)) {
      const PickleValue shaped = dicts_[row(value)].shaped;
      return shaped.is(PickleKind::absent) ? value : shaped;
    }
    return value;
  }

 private:
  void add_pair(PickleValue dict, PickleValue key, PickleValue value);

  static constexpr std::size_t kNoRow = ~std::size_t{0};

  struct Run {
    PickleValue first;
    std::uint64_t count = 1;
    std::size_t next = kNoRow;
  };

  struct List {
    std::size_t first = kNoRow;
    std::size_t last = kNoRow;
    std::uint64_t size = 0;
  };

  struct Pair {
    PickleValue key;
    PickleValue value;
    std::size_t next = kNoRow;
  };

  struct Dict {
    PickleValue shaped;
    std::size_t first = kNoRow;
    std::size_t last = kNoRow;
    std::uint64_t marks = 0;
  };

  static std::size_t row(PickleValue value) { return static_cast<std::size_t>(value.payload()); }

  PickleValue box(PickleKind kind, std::uint64_t bits);

  std::vector<std::uint64_t> boxes_;
  std::vector<Run> runs_;
  std::vector<List> lists_;
  std::vector<Pair> pairs_;
  std::vector<Dict> dicts_;
  std::vector<std::array<std::int64_t, 2>> id_pairs_;
  std::map<std::array<std::int64_t, 2>, std::uint64_t> id_pair_rows_;
  ChunkedVector<PickleValue> memo_;
  std::uint64_t memo_count_ = 0;
};

}  // namespace highwater::detail
