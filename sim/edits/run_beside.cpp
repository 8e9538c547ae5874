// A second process on the device: which of its requests come before which of the first one's.
#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "sim/edits/edit_kinds.hpp"
#include "traces/error.hpp"

namespace highwater {
namespace {

using Order = BesideRun::Order;
using Times = std::vector<std::int64_t>;
using Turns = std::vector<std::uint32_t>;

/// Of two requests at the same time that of the first run comes first.
Turns turns_by_time(const Times& first, const Times& second, std::int64_t later) {
  Turns turns;
  std::uint32_t passed = 0;
  for (const std::int64_t now : first) {
    while (passed < second.size() && second[passed] + later < now) {
      ++passed;
    }
    turns.push_back(passed);
  }
  return turns;
}

/// The middle of each event of the second run decides, so that both begin and end together.
Turns turns_by_share(std::size_t first, std::size_t second) {
  Turns turns;
  for (std::size_t i = 0; i < first; ++i) {
    turns.push_back(static_cast<std::uint32_t>((2 * i + 1) * second / (2 * first)));
  }
  return turns;
}

bool overlap(const Times& a, const Times& b) {
  return a.front() <= b.back() && b.front() <= a.back();
}

void require_times(const BesideRun& edit, const EditedRun& run) {
  const bool needs_times = edit.order == Order::clock || edit.order == Order::start;
  if (needs_times && (run.times.empty() || edit.times.empty())) {
    throw UsageError(fmt::format(
        "the order of the two runs cannot follow time, since {} not; use order=share",
        edit.times.empty()
            ? "the other run has no recorded times (snapshots of PyTorch 2.2 or later do), or does"
            : "this run has no recorded times, or was edited before; make this edit first, or do"));
  }
}

Order order_of(const BesideRun& edit, const EditedRun& run) {
  require_times(edit, run);
  if (edit.order != Order::automatic) {
    return edit.order;
  }
  if (run.times.empty() || edit.times.empty()) {
    return Order::share;
  }
  return overlap(run.times, edit.times) ? Order::clock : Order::start;
}

Turns turns_of(Order order, const BesideRun& edit, const EditedRun& run) {
  if (order == Order::share) {
    return turns_by_share(run.trace.events.size(), edit.neighbour.run->events.size());
  }
  const std::int64_t later =
      order == Order::start ? run.times.front() - edit.times.front() : std::int64_t{0};
  return turns_by_time(run.times, edit.times, later);
}

std::string_view words_of(Order order) {
  switch (order) {
    case Order::clock:
      return "the order of the two runs' requests is that of their recorded times: they ran at the "
             "same time";
    case Order::start:
      return "both runs begin at the same moment, and their requests come in the order of the "
             "recorded times since then";
    default:
      return "each run has carried out the same share of its requests at any moment";
  }
}

std::uint64_t allocations_in(const RequestTrace& trace) {
  std::uint64_t count = 0;
  for (const Event& event : trace.events) {
    count += event.kind == EventKind::alloc ? 1U : 0U;
  }
  return count;
}

}  // namespace

EditReport apply(const BesideRun& edit, EditedRun& run) {
  if (run.beside != nullptr) {
    throw UsageError("another run is beside this one already; only two can share the device");
  }
  if (run.trace.events.empty()) {
    throw UsageError("this run has no requests");
  }
  const Order order = order_of(edit, run);
  auto neighbour = std::make_shared<Neighbour>(edit.neighbour);
  neighbour->turns = turns_of(order, edit, run);
  run.beside = neighbour;
  EditReport report;
  report.blocks = report.changed = allocations_in(*neighbour->run);
  report.done = fmt::format(
      "a second process shares the device, with {} allocations and {} for "
      "its CUDA context",
      report.blocks, to_iec(neighbour->context));
  report.assumed.emplace_back(words_of(order));
  report.assumed.emplace_back(
      "the memory is what the first process's own context leaves; in either process a request that "
      "fails is passed over, and what is held at the end of a run stays");
  report.unknown.emplace_back(
      "how the processes would slow each other down: who asks first may come out differently");
  return report;
}

}  // namespace highwater
