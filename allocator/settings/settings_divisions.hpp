// How a list of divisions ("[256:1,512:2,>:8]") fills its table, the same in both grammars.
//
// The first listed value also fills the entries below its own; entries between two listed ones keep
// what they have.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "traces/error.hpp"

namespace highwater::detail {

class DivisionList {
 public:
  using Table = std::array<std::uint64_t, 16>;

  explicit DivisionList(Table& table) : table_(&table) {}

  /// "MEBIBYTES:DIVISIONS"
  void set(std::uint64_t mebibytes, std::uint64_t divisions) {
    if (!std::has_single_bit(mebibytes)) {
      throw SettingsError("For roundups, the intervals have to be power of 2 ");
    }
    last_ = std::min<std::size_t>(static_cast<std::size_t>(std::bit_width(mebibytes)) - 1,
                                  table_->size() - 1);
    std::fill_n(table_->begin(), is_first_ ? last_ : 0, divisions);
    is_first_ = false;
    table_->at(last_) = divisions;
  }

  /// ">:DIVISIONS": 2.6 also overwrites the last listed interval (`skipped` 0); later releases
  /// start after it (1).
  void set_rest(std::size_t skipped, std::uint64_t divisions) {
    std::fill(table_->begin() + static_cast<std::ptrdiff_t>(last_ + skipped), table_->end(),
              divisions);
  }

 private:
  Table* table_;
  std::size_t last_ = 0;
  bool is_first_ = true;
};

}  // namespace highwater::detail
