// The search for the cheapest order, with costs that one can see.
#include "tools/studies/captures/order_search.hpp"

#include <catch2/catch.hpp>

using namespace highwater;

namespace order_search_test {

namespace {

/// How far each thing is from the place that it wants: 3, 2, 1, 0, ...
OrderCost distance_from_reverse(const Order& order) {
  std::size_t cost = 0;
  for (std::size_t place = 0; place < order.size(); ++place) {
    const std::size_t wanted = order.size() - 1 - place;
    cost += order[place] > wanted ? order[place] - wanted : wanted - order[place];
  }
  return {Bytes{cost}, Bytes{}};
}

}  // namespace

TEST_CASE("orders: all of them are tried where there are few", "[studies][captures]") {
  const OrderSearch found = search_orders({{0, 1, 2}}, 6, distance_from_reverse);
  CHECK(found.order == Order{2, 1, 0});
  CHECK(found.tried == 6);
  CHECK(found.is_complete);
}

TEST_CASE("orders: else single moves, as long as they help and are allowed",
          "[studies][captures]") {
  const Order start{0, 1, 2, 3, 4, 5};
  const OrderSearch found = search_orders({start}, 400, distance_from_reverse);
  CHECK(found.order == Order{5, 4, 3, 2, 1, 0});
  CHECK_FALSE(found.is_complete);
  CHECK(search_orders({start}, 10, distance_from_reverse).tried == 10);
}

}  // namespace order_search_test
