// Who holds bytes: blocks summed by where they come from, be it a call stack, a line of the program
// or a category. One type for all of them, so that whoever asks differs only in the origin and in
// what is summed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "traces/ids.hpp"
#include "traces/units.hpp"

namespace highwater {

template <class Origin, class Amount = Bytes>
struct Holder {
  Origin origin{};
  Amount held{};
  std::uint64_t blocks = 0;

  bool operator==(const Holder&) const = default;
};

using StackHolder = Holder<StackId>;  ///< origin none: no stack was recorded

/// Sums what is held by origin.
template <class Origin, class Amount = Bytes>
class HolderSums {
 public:
  void add(const Origin& origin, const Amount& held, std::uint64_t blocks = 1) {
    Holder<Origin, Amount>& holder = holders_[origin];
    holder.held += held;
    holder.blocks += blocks;
  }

  /// In the order of the origins.
  [[nodiscard]] std::vector<Holder<Origin, Amount>> by_origin() const {
    std::vector<Holder<Origin, Amount>> list;
    for (const auto& [origin, holder] : holders_) {
      list.push_back({origin, holder.held, holder.blocks});
    }
    return list;
  }

  /// Equal ones in the order of the origins.
  [[nodiscard]] std::vector<Holder<Origin, Amount>> largest_first() const {
    std::vector<Holder<Origin, Amount>> list = by_origin();
    std::ranges::stable_sort(list, std::ranges::greater{}, &Holder<Origin, Amount>::held);
    return list;
  }

 private:
  std::map<Origin, Holder<Origin, Amount>> holders_;
};

}  // namespace highwater
