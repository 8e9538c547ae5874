// The order of a few things that costs least, where each cost takes a replay: every order where
// that is allowed, else from the best of some first ones by moving one thing at a time, as long as
// that helps.
#pragma once

#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include "traces/units.hpp"

namespace highwater {

using Order = std::vector<std::size_t>;

/// What is compared first, and what decides between equals.
using OrderCost = std::pair<Bytes, Bytes>;

struct OrderSearch {
  Order order;  ///< the first one found of the cheapest
  std::size_t tried = 0;
  bool is_complete = false;  ///< no order was left out
};

/// Tries `most` orders, and those of `first` in any case. @pre `first` is not empty
OrderSearch search_orders(const std::vector<Order>& first, std::size_t most,
                          const std::function<OrderCost(const Order&)>& cost);

}  // namespace highwater
