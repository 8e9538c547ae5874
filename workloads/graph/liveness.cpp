#include "workloads/graph/liveness.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace highwater {

namespace {

bool is_persistent(Category category) {
  using enum Category;
  return category == parameter || category == gradient || category == optimizer_state ||
         category == buffer || category == input || category == workspace ||
         category == communication;
}

/// Where the graph needs the block no more, or `freed` where the graph does not decide.
std::uint64_t needed_until(const ComputeGraph& graph, TensorId block, std::uint64_t freed) {
  const OpId last = graph.last_use(block);
  if (!last.has_value() || is_persistent(graph.category(block))) {
    return freed;
  }
  const bool is_outside = last == graph.producer(block) && graph.kind(last) == OperatorKind::source;
  return is_outside ? freed : std::min(graph.end(last), freed);
}

/// Events `first` up to but not including `last`.
struct EventRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
};

/// The peak of requested bytes within `range` when block b dies before event death(b).
template <class Death>
Bytes peak_with(const ComputeGraph& graph, const std::vector<TensorLifetime>& lives,
                EventRange range, Death death) {
  std::vector<std::pair<std::uint64_t, std::size_t>> deaths;
  std::vector<std::pair<std::uint64_t, std::size_t>> births;
  for (std::size_t i = 0; i < lives.size(); ++i) {
    births.emplace_back(lives[i].allocated, i);
    deaths.emplace_back(death(lives[i]), i);
  }
  std::ranges::sort(deaths);
  std::ranges::sort(births);
  Bytes live;
  Bytes peak;
  auto next = deaths.begin();
  for (const auto& [at, block] : births) {
    for (; next != deaths.end() && next->first <= at; ++next) {
      live -= graph.bytes(TensorId(next->second));
    }
    live += graph.bytes(TensorId(block));
    if (at >= range.first && at < range.last) {
      peak = std::max(peak, live);
    }
  }
  return peak;
}

/// The last backward operator for which the block is kept at `event`, or none().
OpId keeper_at(const ComputeGraph& graph, TensorId block, std::uint64_t event) {
  OpId keeper;
  for (const OpId backward : graph.saved_by(block)) {
    const bool is_saved = graph.end(graph.forward_of(backward)) <= event + 1;
    if (is_saved && graph.end(backward) > event + 1) {
      keeper = backward;
    }
  }
  return keeper;
}

Holding holding_of(const ComputeGraph& graph, TensorId block, std::uint64_t event) {
  Holding holding{.block = block, .category = graph.category(block), .op = {}};
  if (is_persistent(holding.category)) {
    holding.reason = Reason::persistent;
    return holding;
  }
  holding.op = keeper_at(graph, block, event);
  if (holding.op.has_value()) {
    holding.reason = Reason::saved;
    return holding;
  }
  const OpId last = graph.last_use(block);
  if (!last.has_value()) {
    holding.reason = Reason::in_use;  // scratch memory
  } else if (graph.end(last) > event) {
    holding.op = last;
    holding.reason = graph.begin(last) > event ? Reason::pending : Reason::in_use;
  }
  return holding;
}

LivenessPeaks peaks_in(const ComputeGraph& graph, const RequestTrace& trace, EventRange range) {
  const auto lives = lifetimes(graph, trace);
  return {peak_with(graph, lives, range, [](const TensorLifetime& life) { return life.freed; }),
          peak_with(graph, lives, range, [](const TensorLifetime& life) { return life.needed; })};
}

}  // namespace

std::vector<TensorLifetime> lifetimes(const ComputeGraph& graph, const RequestTrace& trace) {
  std::vector<TensorLifetime> lives(graph.tensor_count());
  std::uint64_t position = 0;
  for (const Event& event : trace.events) {
    if (event.kind == EventKind::alloc) {
      lives[event.allocation.index()].allocated = position;
      lives[event.allocation.index()].freed = trace.events.size();
    } else if (event.kind == EventKind::free) {
      lives[event.allocation.index()].freed = position;
    }
    ++position;
  }
  for (std::size_t i = 0; i < lives.size(); ++i) {
    lives[i].needed = needed_until(graph, TensorId(i), lives[i].freed);
  }
  return lives;
}

LivenessPeaks liveness_peaks(const ComputeGraph& graph, const RequestTrace& trace) {
  return peaks_in(graph, trace, {0, trace.events.size()});
}

LivenessPeaks liveness_peaks(const ComputeGraph& graph, const RequestTrace& trace,
                             const OperatorRange& range) {
  if (range.first >= range.last) {
    return {};
  }
  const OpId last(range.last.value() - 1);
  return peaks_in(graph, trace, {graph.begin(range.first), graph.end(last)});
}

std::string_view to_string(Reason reason) {
  switch (reason) {
    case Reason::persistent:
      return "outlives the iteration";
    case Reason::saved:
      return "saved for";
    case Reason::pending:
      return "yet to be read by";
    case Reason::in_use:
      return "in use by";
    case Reason::references:
      return "only references";
  }
  return "";
}

std::vector<Holding> why_alive(const ComputeGraph& graph, const RequestTrace& trace,
                               std::uint64_t event) {
  std::vector<bool> is_alive(graph.tensor_count());
  std::uint64_t position = 0;
  for (const Event& e : trace.events) {
    if (position++ > event) {
      break;
    }
    if (e.kind == EventKind::alloc || e.kind == EventKind::free) {
      is_alive[e.allocation.index()] = e.kind == EventKind::alloc;
    }
  }
  std::vector<Holding> holdings;
  for (std::size_t i = 0; i < is_alive.size(); ++i) {
    if (is_alive[i]) {
      holdings.push_back(holding_of(graph, TensorId(i), event));
    }
  }
  return holdings;
}

std::vector<HoldingSum> sum_holdings(const ComputeGraph& graph,
                                     const std::vector<Holding>& holdings) {
  std::map<std::tuple<Reason, std::string, std::string>, HoldingSum> sums;
  for (const Holding& holding : holdings) {
    const OpId op = holding.op;
    const std::string what =
        op.has_value() ? graph.name(op) : std::string(to_string(holding.category));
    const std::string module(op.has_value() ? graph.module_path(op) : "");
    HoldingSum& sum = sums[{holding.reason, what, module}];
    sum.reason = holding.reason;
    sum.what = what;
    sum.module = module;
    sum.bytes += graph.bytes(holding.block);
    ++sum.blocks;
  }
  std::vector<HoldingSum> result;
  for (auto& [key, sum] : sums) {
    result.push_back(std::move(sum));
  }
  std::ranges::stable_sort(result, std::ranges::greater{}, &HoldingSum::bytes);
  return result;
}

std::uint64_t peak_event(const RequestTrace& trace) {
  std::vector<Bytes> bytes(trace.allocation_count);
  Bytes live;
  Bytes peak;
  std::uint64_t best = 0;
  std::uint64_t position = 0;
  for (const Event& event : trace.events) {
    if (event.kind == EventKind::alloc) {
      bytes[event.allocation.index()] = event.bytes();
      live += event.bytes();
    } else if (event.kind == EventKind::free) {
      live -= bytes[event.allocation.index()];
    }
    if (live > peak) {
      peak = live;
      best = position;
    }
    ++position;
  }
  return best;
}

}  // namespace highwater
