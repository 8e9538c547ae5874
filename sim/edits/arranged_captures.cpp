// A run whose captures of CUDA graphs come in another order, in other pools, on other streams.
#include <algorithm>
#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "sim/edits/capture_arranger.hpp"
#include "sim/edits/captures.hpp"
#include "sim/edits/edit_kinds.hpp"
#include "traces/error.hpp"

namespace highwater {
namespace {

std::vector<std::size_t> order_of(const ArrangeCaptures& edit, const std::vector<Capture>& list) {
  using enum ArrangeCaptures::Order;
  if (edit.order_by == listed) {
    return edit.order;
  }
  std::vector<std::size_t> order(list.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto size = [&](std::size_t i) { return list[i].most_live; };
  if (edit.order_by == largest_first) {
    std::ranges::stable_sort(order, std::ranges::greater{}, size);
  } else if (edit.order_by == smallest_first) {
    std::ranges::stable_sort(order, {}, size);
  }
  return order;
}

std::vector<std::vector<std::size_t>> together_of(const ArrangeCaptures& edit,
                                                  std::size_t captures) {
  std::vector<std::vector<std::size_t>> together = edit.together;
  for (std::size_t i = 0; i < captures; ++i) {
    if (edit.pools == ArrangeCaptures::Pools::own) {
      together.push_back({i});
    } else if (edit.pools == ArrangeCaptures::Pools::one) {
      together.resize(1);
      together.front().push_back(i);
    }
  }
  return together;
}

void require_captures(const ArrangeCaptures& edit, const Captures& captures) {
  if (captures.list.empty()) {
    throw UsageError(
        "the run has no captures of CUDA graphs: nothing was asked for in a private pool; record "
        "it with highwater record, which marks them");
  }
  const auto require = [&](std::size_t number) {
    if (number >= captures.list.size()) {
      throw UsageError(fmt::format("the run has {} captures, and no capture {}; count from 1",
                                   captures.list.size(), number + 1));
    }
  };
  std::ranges::for_each(edit.order, require);
  for (const std::vector<std::size_t>& together : edit.together) {
    std::ranges::for_each(together, require);
  }
}

bool is_recorded_order(const std::vector<std::size_t>& order, std::size_t captures) {
  return order.size() == captures &&
         std::ranges::adjacent_find(order, std::ranges::greater_equal{}) == order.end();
}

std::string_view stream_words(ArrangeCaptures::Streams streams) {
  switch (streams) {
    case ArrangeCaptures::Streams::own:
      return ", each on streams of its own";
    case ArrangeCaptures::Streams::one:
      return ", those of a pool on the same streams";
    case ArrangeCaptures::Streams::kept:
      break;
  }
  return "";
}

EditReport report_of(const Arrangement& arrangement, const Captures& captures) {
  EditReport report;
  for (const Capture& capture : captures.list) {
    report.blocks += capture.blocks;
    report.bytes += capture.most_live;
  }
  report.changed = captures.list.size();
  report.done = fmt::format(
      "{} captures of CUDA graphs made in {}{}{}", captures.list.size(),
      is_recorded_order(arrangement.order, captures.list.size()) ? "their order" : "another order",
      arrangement.together.empty() ? ", in their pools"
                                   : fmt::format(", in {} new pool{}", arrangement.together.size(),
                                                 arrangement.together.size() == 1 ? "" : "s"),
      stream_words(arrangement.streams));
  report.assumed.emplace_back(
      captures.are_marked
          ? "what is allocated between two captures prepares the second and moves with it; graphs "
            "live to the end of the run"
          : "a capture ends where memory is asked for outside of its pool, or freed: the run does "
            "not mark captures; what lies between two of them prepares the second; graphs live to "
            "the end of the run");
  report.unknown.emplace_back(
      "what the driver takes for the graphs themselves, which no allocator sees; and whether "
      "graphs that share memory are replayed so that none overwrites what another still needs");
  return report;
}

}  // namespace

EditReport apply(const ArrangeCaptures& edit, EditedRun& run) {
  const Captures captures = find_captures(run.trace, run.older_events);
  require_captures(edit, captures);
  Arrangement arrangement{.order = order_of(edit, captures.list),
                          .together = together_of(edit, captures.list.size()),
                          .streams = edit.streams};
  EditReport report = report_of(arrangement, captures);
  write_arranged(std::move(arrangement), captures, run);
  return report;
}

}  // namespace highwater
