#include "tools/studies/plan_search/row_reasons.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "workloads/plan/options/option_table.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater {
namespace {

constexpr std::size_t kMostReasons = 2;
constexpr double kWorthSaying = 0.005;

double seconds_per_sequence(const StrategyResult& row) {
  return row.time.total() / row.time.sequences;
}

struct Excess {
  StepPart part = StepPart::products;
  double share = 0;
};

std::vector<Excess> excesses(const StrategyResult& row, const StrategyResult& first) {
  std::vector<Excess> all;
  for (std::size_t i = 0; i < kStepParts; ++i) {
    const auto part = static_cast<StepPart>(i);
    const double more =
        row.time[part] / row.time.sequences - first.time[part] / first.time.sequences;
    if (const double share = more / seconds_per_sequence(first); share >= kWorthSaying) {
      all.push_back({part, share});
    }
  }
  std::ranges::stable_sort(all, std::ranges::greater{}, &Excess::share);
  all.resize(std::min(all.size(), kMostReasons));
  return all;
}

/// Products take longer where a stage has more of them than its share: the last has the head.
std::string part_text(StepPart part, const TrainingPlan& plan) {
  const bool is_of_a_stage = part == StepPart::products && plan.parallel.pp > 1;
  return is_of_a_stage ? "matrix products of the longest stage" : std::string(to_string(part));
}

std::string excess_text(const StrategyResult& row, const StrategyResult& first) {
  std::vector<std::string> words;
  for (const Excess& each : excesses(row, first)) {
    words.push_back(
        fmt::format("{:.0f} % for {}", 100 * each.share, part_text(each.part, row.plan)));
  }
  return words.empty() ? "" : fmt::format("longer by {}", fmt::join(words, ", "));
}

/// What distinguishes the variation from the row's own.
std::string words_of(const Variation& variation, const TrainingPlan& plan) {
  std::vector<std::string> words;
  if (variation.batch != plan.batch) {
    words.push_back(fmt::format("batch {}", variation.batch));
  }
  if (variation.checkpoint.kind != plan.checkpoint.kind) {
    TrainingPlan other = plan;
    other.checkpoint = variation.checkpoint;
    words.push_back("checkpoint " + option_called("checkpoint").text(other));
  }
  if (variation.loss != plan.loss.kind) {
    words.emplace_back(fuses_head(variation.loss) ? "a fused loss" : "a loss of whole logits");
  }
  if (variation.chunks != model_chunks(plan.parallel)) {
    words.push_back(variation.chunks == 1 ? "no chunks"
                                          : fmt::format("{} chunks", variation.chunks));
  }
  return fmt::format("{}", fmt::join(words, ", "));
}

std::string refused_text(const StrategyResult& row) {
  if (!row.refused) {
    return "";
  }
  const double faster = seconds_per_sequence(row) / row.refused->seconds - 1;
  if (faster < kWorthSaying) {
    return "";
  }
  return fmt::format("{} would be {:.0f} % faster, but does not fit",
                     words_of(*row.refused, row.plan), 100 * faster);
}

}  // namespace

std::string why_not_higher(const StrategyResult& row, const StrategyResult& first) {
  const std::string more = row.kind == first.kind
                               ? excess_text(row, first)
                               : std::string(training_kinds()[row.kind].gives_up);
  const std::string refused = row.fits ? refused_text(row) : "does not fit";
  return more + (more.empty() || refused.empty() ? "" : "; ") + refused;
}

}  // namespace highwater
