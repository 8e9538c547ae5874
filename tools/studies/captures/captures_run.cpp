#include "tools/studies/captures/captures_run.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/edits/edit.hpp"
#include "sim/replay/replay.hpp"
#include "tools/edits/edit_of_words.hpp"
#include "tools/studies/captures/order_search.hpp"
#include "tools/text/progress_line.hpp"
#include "traces/error.hpp"

namespace highwater {
namespace {

/// An arrangement that is always tried.
struct UsualArrangement {
  std::string_view name;
  std::string_view edit;
};

constexpr UsualArrangement kUsual[] = {
    {"as recorded", "captures:pools=kept"},
    {"a pool for each", "captures:pools=own"},
    {"one pool, streams as recorded", "captures:pools=one"},
    {"one pool, one stream", "captures:pools=one,streams=one"},
    {"one pool, one stream, largest first", "captures:pools=one,streams=one,order=largest"},
    {"one pool, one stream, smallest first", "captures:pools=one,streams=one,order=smallest"},
};

/// A run with its captures arranged, and its replay.
struct Arranged {
  RequestTrace trace;
  ReplayResult result;
};

Arranged arranged(const Workload& workload, const Edit& edit) {
  EditedRun run{copy_of(*workload.trace), workload.older_events};
  apply_edit(edit, run);
  ReplayResult result = replay(run.trace, workload.options);
  return {std::move(run.trace), std::move(result)};
}

ArrangedRun summary_of(std::string name, std::string edit, const ReplayResult& result) {
  ArrangedRun run{.name = std::move(name), .edit = std::move(edit), .peak = result.peak};
  run.ooms = result.counts.ooms;
  for (const MapSegment& segment : result.map.segments) {
    (segment.owner.is_default() ? run.common_pools : run.graph_pools) += segment.size;
  }
  return run;
}

Edit edit_called(const EditWords& words, const Workload& workload) {
  return edit_of(words, *workload.trace, nullptr);  // no arrangement reads another file
}

void try_arrangement(std::string name, const EditWords& words, CapturesRun& run) {
  const Arranged tried = arranged(run.workload, edit_called(words, run.workload));
  run.arrangements.push_back(summary_of(std::move(name), words.text, tried.result));
}

/// What each capture's own pool reserves.
void measure_alone(CapturesRun& run) {
  const Arranged own =
      arranged(run.workload, ArrangeCaptures{.pools = ArrangeCaptures::Pools::own});
  const std::vector<PoolIndex> pools = pools_of_allocations(own.trace);
  std::map<PoolId, Bytes> reserved;
  for (const MapSegment& segment : own.result.map.segments) {
    reserved[segment.owner] += segment.size;
  }
  const Captures captures = find_captures(own.trace, run.workload.older_events);
  for (std::size_t i = 0; i < captures.list.size() && i < run.captures.size(); ++i) {
    run.captures[i].alone = reserved[own.trace.pools[captures.list[i].pool]];
  }
}

/// Sums what private pools take from the device in each capture, while the arranged run replays.
class PoolGrowth : public ReplayObserver, public DecisionListener {
 public:
  PoolGrowth(const Captures& captures, std::size_t count) : captures_(&captures), grown_(count) {}

  void on_decision(const Decision& decision) override {
    const bool gains = decision.action == RecordedAction::segment_alloc ||
                       decision.action == RecordedAction::segment_map;
    if (gains && open_pools_ > 0 && capture_ < grown_.size()) {
      grown_[capture_] += decision.size;
    }
  }

  void on_event(const Event& event, AllocationStatus /*status*/,
                const Statistics& /*statistics*/) override {
    open_pools_ += event.kind == EventKind::pool_begin ? 1 : 0;
    open_pools_ -= event.kind == EventKind::pool_end ? 1 : 0;
    ++events_;
    while (capture_ < captures_->list.size() && events_ >= captures_->list[capture_].end) {
      ++capture_;
    }
  }

  [[nodiscard]] const std::vector<Bytes>& grown() const { return grown_; }

 private:
  const Captures* captures_;
  std::vector<Bytes> grown_;
  std::size_t capture_ = 0;
  std::size_t events_ = 0;
  int open_pools_ = 0;
};

/// By how much each capture makes a pool grow that all share on one stream.
void measure_added(CapturesRun& run) {
  EditedRun edited{copy_of(*run.workload.trace), run.workload.older_events};
  apply_edit(ArrangeCaptures{.pools = ArrangeCaptures::Pools::one,
                             .streams = ArrangeCaptures::Streams::one},
             edited);
  const Captures captures = find_captures(edited.trace, edited.older_events);
  PoolGrowth growth(captures, run.captures.size());
  ReplayOptions options = run.workload.options;
  options.observer = &growth;
  options.listener = &growth;
  replay(edited.trace, options);
  for (std::size_t i = 0; i < run.captures.size(); ++i) {
    run.captures[i].added = growth.grown()[i];
  }
}

void list_captures(const Captures& captures, CapturesRun& run) {
  for (const Capture& capture : captures.list) {
    run.captures.push_back({.capture = capture,
                            .pool = run.workload.trace->pools[capture.pool],
                            .site = run.workload.site(capture.stack)});
  }
  measure_alone(run);
  measure_added(run);
}

std::string order_words(const std::vector<std::size_t>& order) {
  std::vector<std::size_t> numbers = order;
  std::ranges::for_each(numbers, [](std::size_t& each) { ++each; });
  return fmt::format("{}", fmt::join(numbers, "+"));
}

std::vector<std::size_t> sorted_order(const CapturesRun& run, bool largest_first) {
  std::vector<std::size_t> order(run.captures.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto size = [&](std::size_t i) { return run.captures[i].capture.most_live; };
  if (largest_first) {
    std::ranges::stable_sort(order, std::ranges::greater{}, size);
  } else {
    std::ranges::stable_sort(order, {}, size);
  }
  return order;
}

OrderCost cost_of(const ReplayResult& result) {
  return {result.peak.reserved, result.final.reserved};
}

/// The order that reserves least in one pool on one stream.
void search_order(std::size_t most_orders, CapturesRun& run) {
  std::vector<std::size_t> recorded(run.captures.size());
  std::iota(recorded.begin(), recorded.end(), std::size_t{0});
  const OrderSearch found =
      search_orders({recorded, sorted_order(run, true), sorted_order(run, false)}, most_orders,
                    [&](const std::vector<std::size_t>& order) {
                      const ArrangeCaptures edit{.pools = ArrangeCaptures::Pools::one,
                                                 .streams = ArrangeCaptures::Streams::one,
                                                 .order_by = ArrangeCaptures::Order::listed,
                                                 .order = order};
                      return cost_of(arranged(run.workload, edit).result);
                    });
  run.orders_tried = found.tried;
  run.is_every_order = found.is_complete;
  try_arrangement("one pool, one stream, best order found",
                  read_edit("captures:pools=one,streams=one,order=" + order_words(found.order)),
                  run);
}

CapturesRun run_of(Workload workload, const Captures& captures, const CapturesRequest& request) {
  CapturesRun run{.workload = std::move(workload), .are_marked = captures.are_marked};
  list_captures(captures, run);
  for (const UsualArrangement& usual : kUsual) {
    try_arrangement(std::string(usual.name), read_edit(std::string(usual.edit)), run);
  }
  if (captures.list.size() > 1) {
    search_order(request.most_orders, run);
  }
  for (const EditWords& words : request.arrangements) {
    try_arrangement("asked for", words, run);
  }
  const auto least = std::ranges::min_element(run.arrangements, {}, [](const ArrangedRun& each) {
    return OrderCost{each.peak.reserved, each.graph_pools + each.common_pools};
  });
  run.best = static_cast<std::size_t>(least - run.arrangements.begin());
  return run;
}

}  // namespace

std::vector<CapturesRun> captures_run(const CapturesRequest& request) {
  std::vector<Workload> workloads = read_workloads(request.workload);
  require_history(workloads, "captures cannot be told apart");
  const ProgressLine progress("arranging captures");
  std::vector<CapturesRun> runs;
  for (Workload& workload : workloads) {
    const Captures captures = find_captures(*workload.trace, workload.older_events);
    if (!captures.list.empty()) {
      runs.push_back(run_of(std::move(workload), captures, request));
    }
  }
  if (runs.empty()) {
    throw InputError(*request.workload.file, "",
                     "no captures of CUDA graphs: nothing was asked for in a private pool",
                     "record a run that captures its graphs, with highwater record");
  }
  return runs;
}

}  // namespace highwater
