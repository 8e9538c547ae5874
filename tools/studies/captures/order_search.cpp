#include "tools/studies/captures/order_search.hpp"

#include <algorithm>
#include <map>

namespace highwater {
namespace {

class Search {
 public:
  Search(std::size_t most, const std::function<OrderCost(const Order&)>& cost)
      : most_(most), cost_(&cost) {}

  /// False when no more may be tried.
  bool attempt(const Order& order) {
    if (known_.contains(order)) {
      return true;
    }
    const OrderCost cost = (*cost_)(order);
    known_.emplace(order, cost);
    if (best_.empty() || cost < least_) {
      best_ = order;
      least_ = cost;
    }
    return known_.size() < most_;
  }

  void attempt_all(Order order) {
    std::ranges::sort(order);
    do {
      attempt(order);
    } while (std::ranges::next_permutation(order).found);
  }

  void improve() {
    while (moves_help()) {
    }
  }

  [[nodiscard]] OrderSearch result(bool is_complete) const {
    return {best_, known_.size(), is_complete};
  }

 private:
  /// Whether a move of one made the best better; that ends the round.
  bool moves_help() {
    const Order start = best_;
    for (std::size_t from = 0; from < start.size(); ++from) {
      for (std::size_t to = 0; to < start.size(); ++to) {
        if (!attempt(moved(start, from, to))) {
          return false;
        }
        if (best_ != start) {
          return true;
        }
      }
    }
    return false;
  }

  static Order moved(Order order, std::size_t from, std::size_t to) {
    const std::size_t item = order[from];
    order.erase(order.begin() + static_cast<std::ptrdiff_t>(from));
    order.insert(order.begin() + static_cast<std::ptrdiff_t>(to), item);
    return order;
  }

  std::size_t most_;
  const std::function<OrderCost(const Order&)>* cost_;
  std::map<Order, OrderCost> known_;
  Order best_;
  OrderCost least_;
};

/// Whether `things` have at most `most` orders.
bool has_few_orders(std::size_t things, std::size_t most) {
  std::size_t orders = 1;
  for (std::size_t i = 2; i <= things && orders <= most; ++i) {
    orders *= i;
  }
  return orders <= most;
}

}  // namespace

OrderSearch search_orders(const std::vector<Order>& first, std::size_t most,
                          const std::function<OrderCost(const Order&)>& cost) {
  Search search(most, cost);
  bool may_go_on = true;
  for (const Order& order : first) {
    may_go_on = search.attempt(order);
  }
  const bool is_complete = has_few_orders(first.front().size(), most);
  if (is_complete) {
    search.attempt_all(first.front());
  } else if (may_go_on) {
    search.improve();
  }
  return search.result(is_complete);
}

}  // namespace highwater
