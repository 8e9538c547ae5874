#include "workloads/optim/dtensor_matrix.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <vector>

#include "workloads/eager/ops.hpp"

namespace highwater::optim {

namespace {

/// Layouts of a product and of its operands that fit each other.
struct ProductLayouts {
  Layout result;
  Layout left;
  Layout right;
};

// In DTensor's order, which decides among equal costs.
constexpr std::array kProductLayouts{
    ProductLayouts{Layout::whole, Layout::whole, Layout::whole},
    ProductLayouts{Layout::partial, Layout::columns, Layout::rows},
    ProductLayouts{Layout::rows, Layout::rows, Layout::whole},
    ProductLayouts{Layout::columns, Layout::whole, Layout::columns},
    ProductLayouts{Layout::partial, Layout::partial, Layout::whole},
    ProductLayouts{Layout::partial, Layout::whole, Layout::partial},
};

/// An operand and the layout that it would be brought to.
struct Move {
  const DTensorMatrix* matrix;
  Layout to;
};

using Moves = std::vector<Move>;

constexpr double kImpossible = std::numeric_limits<double>::infinity();

bool is_sharded(Layout layout) {
  return layout == Layout::rows || layout == Layout::columns;
}

// MeshTopoInfo.build_from_mesh: links within a node and between nodes.
struct Links {
  double gigabytes_a_second;
  double latency;  // microseconds a hop
};

Links links_of(int ranks) {
  constexpr int kDevicesPerHost = 8;  // torch.cuda.device_count() of a node
  constexpr Links kInside{.gigabytes_a_second = 87.7, .latency = 0.6};
  constexpr Links kBetween{.gigabytes_a_second = 87.7 * 0.22, .latency = 2.7};
  return ranks > kDevicesPerHost ? kBetween : kInside;
}

// allgather_cost, reduce_scatter_cost, and with twice as many hops allreduce_cost, in microseconds.
double collective_cost(double gigabytes, int hops, int ranks) {
  const Links links = links_of(ranks);
  const double latency = 6.6 + hops * links.latency;
  const double seconds = (gigabytes * hops / ranks) / links.gigabytes_a_second;
  return latency + seconds * 1e6;
}

// _compute_placement_transition_cost from a layout in which operands are sharded.
double cost_of_sharded(double gigabytes, Layout to, int ranks) {
  switch (to) {
    case Layout::whole:
      return collective_cost(gigabytes * ranks, ranks - 1, ranks);
    case Layout::rows:
    case Layout::columns:
      return collective_cost(gigabytes, ranks - 1, ranks) + 1.0;
    case Layout::partial:
      return kImpossible;
  }
  return kImpossible;
}

// redistribute_cost
double cost_of(const Move& move) {
  const DTensorMatrix& m = *move.matrix;
  if (m.layout == move.to || m.layout == Layout::whole) {
    return 0;
  }
  const int ranks = m.resharding->ranks();
  const double bytes =
      static_cast<double>(item_size(m.local.dtype()) * m.whole.rows * m.whole.columns);
  const double gigabytes = bytes / (is_sharded(m.layout) ? ranks : 1) / 1024 / 1024 / 1024;
  if (is_sharded(m.layout)) {
    return cost_of_sharded(gigabytes, move.to, ranks);
  }
  const int hops = move.to == Layout::whole ? 2 * (ranks - 1) : ranks - 1;
  return collective_cost(gigabytes, hops, ranks);
}

// is_tensor_shardable: each rank gets something.
bool is_possible(const Move& move) {
  return !is_sharded(move.to) ||
         move.matrix->size(move.to == Layout::rows ? 0 : 1) >= move.matrix->resharding->ranks();
}

// What the operands of a product (of addmm: the bias first) would be brought to.
Moves moves_to(const ProductLayouts& layouts, const DTensorMatrix* bias, const DTensorMatrix& left,
               const DTensorMatrix& right) {
  Moves moves;
  if (bias != nullptr) {
    moves.push_back({.matrix = bias, .to = layouts.result});
  }
  moves.push_back({.matrix = &left, .to = layouts.left});
  moves.push_back({.matrix = &right, .to = layouts.right});
  return moves;
}

bool stays(const Moves& moves) {
  return std::ranges::all_of(moves, [](const Move& m) { return m.matrix->layout == m.to; });
}

// DTensor considers sharded layouts only if an operand is sharded already
// (_fill_single_dim_strategy_placeholders).
bool is_candidate(const ProductLayouts& layouts, const Moves& moves) {
  const bool wants_shards = is_sharded(layouts.left) || is_sharded(layouts.right);
  const bool has_shards =
      std::ranges::any_of(moves, [](const Move& m) { return is_sharded(m.matrix->layout); });
  return (has_shards || !wants_shards) && std::ranges::all_of(moves, is_possible);
}

double cost_of_all(const Moves& moves) {
  double cost = 0;
  for (const Move& move : moves) {
    cost += cost_of(move);
  }
  return cost;
}

// _select_min_cost_strategy
ProductLayouts cheapest(const DTensorMatrix* bias, const DTensorMatrix& left,
                        const DTensorMatrix& right) {
  ProductLayouts best = kProductLayouts.front();
  double least = kImpossible;
  for (const ProductLayouts& layouts : kProductLayouts) {
    const Moves moves = moves_to(layouts, bias, left, right);
    if (!is_candidate(layouts, moves)) {
      continue;
    }
    if (stays(moves)) {
      return layouts;
    }
    if (const double cost = cost_of_all(moves); cost < least) {
      best = layouts;
      least = cost;
    }
  }
  return best;
}

DTensorMatrix result_of(eager::Tensor local, const DTensorMatrix& left, const DTensorMatrix& right,
                        Layout layout) {
  return {.local = std::move(local),
          .whole = {.rows = left.whole.rows, .columns = right.whole.columns},
          .layout = layout,
          .resharding = left.resharding};
}

}  // namespace

DTensorMatrix redistributed(const DTensorMatrix& matrix, Layout layout) {
  if (matrix.layout == layout) {
    return matrix;
  }
  DTensorMatrix moved = matrix;
  moved.local = matrix.resharding->redistribute(matrix.local, matrix.whole, matrix.layout, layout);
  moved.layout = layout;
  return moved;
}

DTensorMatrix t(const DTensorMatrix& matrix) {
  constexpr std::array kTransposed{Layout::whole, Layout::columns, Layout::rows, Layout::partial};
  return {.local = eager::t(matrix.local),
          .whole = {.rows = matrix.whole.columns, .columns = matrix.whole.rows},
          .layout = kTransposed[static_cast<std::size_t>(matrix.layout)],
          .resharding = matrix.resharding};
}

DTensorMatrix mm(const DTensorMatrix& left, const DTensorMatrix& right) {
  const ProductLayouts layouts = cheapest(nullptr, left, right);
  DTensorMatrix own_left = redistributed(left, layouts.left);
  DTensorMatrix own_right = redistributed(right, layouts.right);
  eager::Tensor local = eager::mm(own_left.local, own_right.local);
  eager::end_of_frame(own_right.local, own_left.local);  // a tuple
  return result_of(std::move(local), left, right, layouts.result);
}

DTensorMatrix addmm(const DTensorMatrix& bias, const DTensorMatrix& left,
                    const DTensorMatrix& right) {
  const ProductLayouts layouts = cheapest(&bias, left, right);
  DTensorMatrix own_bias = redistributed(bias, layouts.result);
  DTensorMatrix own_left = redistributed(left, layouts.left);
  DTensorMatrix own_right = redistributed(right, layouts.right);
  eager::Tensor local = eager::addmm(own_bias.local, own_left.local, own_right.local);
  eager::end_of_frame(own_right.local, own_left.local, own_bias.local);
  return result_of(std::move(local), left, right, layouts.result);
}

}  // namespace highwater::optim
