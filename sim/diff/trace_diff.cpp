#include "sim/diff/trace_diff.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "sim/diff/aligned_side.hpp"
#include "sim/diff/sequence_alignment.hpp"
#include "traces/phase_names.hpp"

namespace highwater {
namespace {

/// Requests of one phase of one side in the order in which they are compared.
using Order = std::vector<std::uint32_t>;

class Comparison {
 public:
  Comparison(const ComparedTrace& first, const ComparedTrace& second, const DiffOptions& options)
      : first_(first), second_(second), options_(options), ends_early_(first.failed.has_value()) {}

  TraceDiff run() {
    for (const auto& [first, second] : paired_phases()) {
      compare(first, second);
    }
    diff_.first = std::move(first_.requests);
    diff_.second = std::move(second_.requests);
    return std::move(diff_);
  }

 private:
  using PhasePair = std::pair<const PhaseRange*, const PhaseRange*>;

  static const PhaseRange* find(const std::vector<PhaseRange>& phases, const PhaseKey& key) {
    const auto found = std::ranges::find(phases, key, &PhaseRange::key);
    return found == phases.end() ? nullptr : &*found;
  }

  /// In the order of the first side; phases of the second alone where they come there.
  std::vector<PhasePair> paired_phases() const {
    std::vector<PhasePair> pairs;
    auto next = second_.phases.begin();
    const auto take_unmatched = [&] {
      for (; next != second_.phases.end() && find(first_.phases, next->key) == nullptr; ++next) {
        pairs.emplace_back(nullptr, &*next);
      }
    };
    for (const PhaseRange& phase : first_.phases) {
      take_unmatched();
      const PhaseRange* partner = find(second_.phases, phase.key);
      pairs.emplace_back(&phase, partner);
      if (next != second_.phases.end() && partner == &*next) {
        ++next;
      }
    }
    for (; next != second_.phases.end() && !ends_early_; ++next) {
      if (find(first_.phases, next->key) == nullptr) {
        pairs.emplace_back(nullptr, &*next);
      }
    }
    return pairs;
  }

  void compare(const PhaseRange* first, const PhaseRange* second) {
    static const PhaseRange none;
    const PhaseRange& a = first != nullptr ? *first : none;
    PhaseRange b = second != nullptr ? *second : none;
    if (ends_early_ && first == &first_.phases.back()) {
      b.end = std::min(b.end, b.begin + (a.end - a.begin));
    }
    PhaseDiff phase;
    std::tie(phase.step, phase.phase, phase.occurrence) = first != nullptr ? a.key : b.key;
    align_phase(a, b, phase);
    phase.first = load(first_, a, live_first_);
    phase.second = load(second_, b, live_second_);
    phase.sizes = size_differences(a, b);
    diff_.phases.push_back(std::move(phase));
  }

  [[nodiscard]] Order order_of(const AlignedSide& side, const PhaseRange& range) const {
    Order order;
    for (std::size_t i = range.begin; i < range.end; ++i) {
      order.push_back(static_cast<std::uint32_t>(i));
    }
    if (options_.free_order == FreeOrder::ignored) {
      sort_frees(side, order);
    }
    return order;
  }

  /// Each run of frees by the age of the blocks: runs of the same frees become equal.
  static void sort_frees(const AlignedSide& side, Order& order) {
    const auto is_alloc = [&](std::uint32_t i) { return side.requests[i].is_alloc; };
    for (auto begin = order.begin(); begin != order.end();) {
      const auto end = std::find_if(begin, order.end(), is_alloc);
      std::sort(begin, end, [&](std::uint32_t x, std::uint32_t y) {
        return side.requests[x].ordinal < side.requests[y].ordinal;
      });
      begin = std::find_if_not(end, order.end(), is_alloc);
    }
  }

  void align_phase(const PhaseRange& a, const PhaseRange& b, PhaseDiff& phase) {
    const Order first = order_of(first_, a);
    const Order second = order_of(second_, b);
    const std::size_t same = common_front(first, second);
    const auto rest = [&](const Order& order) { return std::span(order).subspan(same); };
    for (std::size_t i = 0; i < same; ++i) {
      phase.lines.push_back({first[i], second[i]});
    }
    if (same == first.size() && same == second.size()) {
      return;
    }
    pair_allocations(rest(first), rest(second), a, b);
    align_exactly(rest(first), rest(second), phase);
  }

  /// Walks both from the front while they are certainly equal, and pairs the allocations there.
  std::size_t common_front(const Order& first, const Order& second) {
    std::size_t i = 0;
    for (; i < first.size() && i < second.size(); ++i) {
      const ComparedRequest& a = first_.requests[first[i]];
      const ComparedRequest& b = second_.requests[second[i]];
      const bool equal =
          a.is_alloc == b.is_alloc && a.bytes == b.bytes && a.stream == b.stream &&
          (a.is_alloc ? have_same_fate(a, b) : first_.partners[a.ordinal] == b.ordinal);
      if (!equal) {
        break;
      }
      if (a.is_alloc) {
        pair(a, b);
      }
    }
    return i;
  }

  /// A program that ended early freed nothing in the phases that it did not get to.
  [[nodiscard]] bool have_same_fate(const ComparedRequest& a, const ComparedRequest& b) const {
    return ends_early_ || first_.fates[a.ordinal] == second_.fates[b.ordinal];
  }

  void pair(const ComparedRequest& a, const ComparedRequest& b) {
    first_.partners[a.ordinal] = b.ordinal;
    second_.partners[b.ordinal] = a.ordinal;
  }

  /// A number below 2^62 per request, regardless of which block of this phase is freed.
  static std::uint64_t loose_token(const AlignedSide& side, const PhaseRange& range,
                                   const ComparedRequest& request, bool is_first) {
    const std::uint64_t by_size =
        (request.bytes.count() << 8U | (request.stream & 0x7fU) << 1U) & ~(kFreeOfPaired);
    if (request.is_alloc) {
      return by_size | 1U;
    }
    const bool is_older = side.allocated_at[request.ordinal] < range.begin;
    const std::uint32_t partner = side.partners[request.ordinal];
    if (is_older && partner != kNoPartner) {
      return kFreeOfPaired | (is_first ? request.ordinal : partner);
    }
    return by_size;
  }

  using Indices = std::span<const std::uint32_t>;

  static std::vector<std::uint64_t> loose_tokens(const AlignedSide& side, Indices indices,
                                                 const PhaseRange& range, bool is_first,
                                                 bool with_fate) {
    std::vector<std::uint64_t> tokens;
    for (const std::uint32_t i : indices) {
      const ComparedRequest& request = side.requests[i];
      const std::uint64_t fate =
          with_fate && request.is_alloc ? side.fates[request.ordinal] * 0x2545f4914f6cdd1dULL : 0;
      tokens.push_back(loose_token(side, range, request, is_first) ^ fate);
    }
    return tokens;
  }

  /// The first alignment: which allocations of this phase belong together. First those that are
  /// freed in the same phase too, since equal sizes in a row look alike; then, between those, all.
  void pair_allocations(Indices first, Indices second, const PhaseRange& a, const PhaseRange& b) {
    std::size_t i = 0;
    std::size_t j = 0;
    std::size_t gap_first = 0;
    std::size_t gap_second = 0;
    const auto close_gap = [&] {
      pair_loosely(first.subspan(gap_first, i - gap_first),
                   second.subspan(gap_second, j - gap_second), a, b);
    };
    for (const AlignmentStep step :
         align(loose_tokens(first_, first, a, true, !ends_early_),
               loose_tokens(second_, second, b, false, !ends_early_), options_.max_edits)) {
      if (step == AlignmentStep::both) {
        close_gap();
        pair_if_alloc(first[i], second[j]);
      }
      i += step == AlignmentStep::only_second ? 0U : 1U;
      j += step == AlignmentStep::only_first ? 0U : 1U;
      if (step == AlignmentStep::both) {
        gap_first = i;
        gap_second = j;
      }
    }
    close_gap();
  }

  void pair_loosely(Indices first, Indices second, const PhaseRange& a, const PhaseRange& b) {
    if (first.empty() || second.empty()) {
      return;
    }
    std::size_t i = 0;
    std::size_t j = 0;
    for (const AlignmentStep step :
         align(loose_tokens(first_, first, a, true, false),
               loose_tokens(second_, second, b, false, false), options_.max_edits)) {
      if (step == AlignmentStep::both) {
        pair_if_alloc(first[i], second[j]);
      }
      i += step == AlignmentStep::only_second ? 0U : 1U;
      j += step == AlignmentStep::only_first ? 0U : 1U;
    }
  }

  void pair_if_alloc(std::uint32_t first, std::uint32_t second) {
    if (first_.requests[first].is_alloc) {
      pair(first_.requests[first], second_.requests[second]);
    }
  }

  /// Equal exactly for the same request of paired blocks.
  static std::uint64_t exact_token(const AlignedSide& side, const ComparedRequest& request,
                                   bool is_first) {
    const std::uint32_t partner = side.partners[request.ordinal];
    const std::uint64_t kind = request.is_alloc ? 1U : 0U;
    if (partner == kNoPartner) {
      return kUnpaired | (is_first ? kFreeOfPaired : 0U) | request.ordinal * 2ULL | kind;
    }
    return (is_first ? request.ordinal : partner) * 2ULL | kind;
  }

  /// The second alignment, in which a free counts as equal only for paired blocks.
  void align_exactly(std::span<const std::uint32_t> first, std::span<const std::uint32_t> second,
                     PhaseDiff& phase) {
    std::vector<std::uint64_t> left;
    std::vector<std::uint64_t> right;
    for (const std::uint32_t i : first) {
      left.push_back(exact_token(first_, first_.requests[i], true));
    }
    for (const std::uint32_t i : second) {
      right.push_back(exact_token(second_, second_.requests[i], false));
    }
    auto x = first.begin();
    auto y = second.begin();
    for (const AlignmentStep step : align(left, right, options_.max_edits)) {
      DiffLine line;
      if (step != AlignmentStep::only_second) {
        line.first = *x++;
      }
      if (step != AlignmentStep::only_first) {
        line.second = *y++;
      }
      phase.only_first += step == AlignmentStep::only_first ? 1U : 0U;
      phase.only_second += step == AlignmentStep::only_second ? 1U : 0U;
      phase.lines.push_back(line);
    }
  }

  static PhaseLoad load(const AlignedSide& side, const PhaseRange& range, Bytes& live) {
    PhaseLoad result{range.end - range.begin, live, live};
    for (std::size_t i = range.begin; i < range.end; ++i) {
      const ComparedRequest& request = side.requests[i];
      live = request.is_alloc ? live + request.bytes : live - request.bytes;
      result.peak = std::max(result.peak, live);
    }
    result.end = live;
    return result;
  }

  std::vector<SizeDifference> size_differences(const PhaseRange& a, const PhaseRange& b) const {
    std::map<Bytes, SizeDifference> counts;
    const auto count = [&](const AlignedSide& side, const PhaseRange& range,
                           std::uint64_t SizeDifference::*member) {
      for (std::size_t i = range.begin; i < range.end; ++i) {
        if (side.requests[i].is_alloc) {
          SizeDifference& entry = counts[side.requests[i].bytes];
          entry.bytes = side.requests[i].bytes;
          ++(entry.*member);
        }
      }
    };
    count(first_, a, &SizeDifference::first);
    count(second_, b, &SizeDifference::second);
    std::vector<SizeDifference> differences;
    for (const auto& [bytes, entry] : counts) {
      if (entry.first != entry.second) {
        differences.push_back(entry);
      }
    }
    std::ranges::stable_sort(differences, std::ranges::greater{}, [](const SizeDifference& entry) {
      return entry.excess() < 0 ? -entry.excess() : entry.excess();
    });
    return differences;
  }

  static constexpr std::uint64_t kFreeOfPaired = std::uint64_t{1} << 62U;
  static constexpr std::uint64_t kUnpaired = std::uint64_t{1} << 63U;

  AlignedSide first_;
  AlignedSide second_;
  DiffOptions options_;
  bool ends_early_;
  TraceDiff diff_;
  Bytes live_first_;
  Bytes live_second_;
};

std::string_view canonical_phase(std::string_view phase) {
  return phase == "loss" ? "forward" : phase;
}

}  // namespace

std::vector<PhaseBoundary> phase_boundaries(const RequestTrace& trace) {
  std::vector<PhaseBoundary> boundaries;
  std::optional<std::uint64_t> step;
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    const Event& event = trace.events[i];
    if (event.kind == EventKind::step) {
      step = event.value;
      boundaries.push_back({i, step, std::string(kStepBegin)});
    } else if (event.kind == EventKind::phase) {
      const std::string_view name = trace.tables.strings[event.text()];
      const std::string phase(canonical_phase(name));
      const bool goes_on = name != phase && !boundaries.empty() && boundaries.back().step == step &&
                           boundaries.back().phase == phase;
      if (!goes_on) {
        boundaries.push_back({i, step, phase});
      }
    }
  }
  return boundaries;
}

bool TraceDiff::is_equal_from(std::optional<std::uint64_t> step) const {
  return std::ranges::all_of(
      phases, [&](const PhaseDiff& phase) { return phase.step < step || phase.is_equal(); });
}

std::vector<Hunk> hunks_of(const PhaseDiff& phase, std::size_t context) {
  std::vector<Hunk> hunks;
  for (std::size_t i = 0; i < phase.lines.size(); ++i) {
    if (phase.lines[i].is_common()) {
      continue;
    }
    const std::size_t begin = i - std::min(i, context);
    const std::size_t end = std::min(i + 1 + context, phase.lines.size());
    if (hunks.empty() || begin > hunks.back().end) {
      hunks.push_back({begin, end});
    } else {
      hunks.back().end = end;
    }
  }
  return hunks;
}

TraceDiff diff_traces(const ComparedTrace& first, const ComparedTrace& second,
                      const DiffOptions& options) {
  return Comparison(first, second, options).run();
}

std::string phase_label(const PhaseDiff& phase) {
  if (!phase.step) {
    return phase.phase;
  }
  const bool repeats =
      phase.phase == "data" || phase.phase == "forward" || phase.phase == "backward";
  return fmt::format("step {} {}{}", *phase.step, phase.phase,
                     repeats || phase.occurrence != 0 ? fmt::format(" {}", phase.occurrence) : "");
}

}  // namespace highwater
