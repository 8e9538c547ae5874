#include "tools/studies/rates/published_rates.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "workloads/facts/facts.hpp"
#include "workloads/plan/options/read_plan.hpp"
#include "workloads/step_time/step_time.hpp"

namespace highwater {
namespace {

/// Fewer runs of a generation than these say little about it.
constexpr std::size_t kEnough = 5;

/// Of the runs, at either end.
constexpr double kLeftOut = 0.1;

OptionWords words_of(const JsonField& row) {
  OptionWords words{{"model", row.at("model").text()}, {"gpu", row.at("gpu").text()}};
  for (const auto& [option, value] : row.at("plan").object()) {
    words.emplace_back(option, std::string(value.as_string()));
  }
  return words;
}

TrainingPlan plan_of(const JsonField& row) {
  std::vector<std::string> problems;
  TrainingPlan plan = read_plan_words(words_of(row), problems);
  if (plan.parallel.gpus() != row.at("gpus").integer()) {
    problems.push_back(fmt::format("its plan has {} GPUs", plan.parallel.gpus()));
  }
  if (!problems.empty()) {
    row.fail(fmt::format("{}", fmt::join(problems, "; ")));
  }
  return plan;
}

PublishedRate read_rate(const JsonField& row) {
  PublishedRate rate{.name = row.at("name").text(),
                     .source = row.at("source").text(),
                     .about = row.find("about") ? row.at("about").text() : "",
                     .plan = plan_of(row),
                     .measured = row.at("tokens_per_second_per_gpu").real()};
  rate.estimated = tokens_per_gpu(rate.plan, step_time(rate.plan).sequences_per_second());
  return rate;
}

std::vector<PublishedRate> read_rates() {
  std::vector<PublishedRate> rates;
  for (const JsonField& row : facts("throughputs.json").at("runs").elements()) {
    rates.push_back(read_rate(row));
  }
  return rates;
}

bool is_mixture(const TrainingPlan& plan) {
  return shape_of(plan.model).experts > 0;
}

std::vector<double> shares_of(const std::function<bool(const TrainingPlan&)>& is_like) {
  std::vector<double> shares;
  for (const PublishedRate& rate : published_rates()) {
    if (is_like(rate.plan)) {
      shares.push_back(rate.share());
    }
  }
  std::ranges::sort(shares);
  return shares;
}

/// Between the two nearest of sorted values.
double quantile(const std::vector<double>& values, double share) {
  const double place = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return std::lerp(values[below], values[above], place - static_cast<double>(below));
}

UsualShares summed_up(const std::vector<double>& shares, std::string kind) {
  return {.least = quantile(shares, kLeftOut),
          .most = quantile(shares, 1 - kLeftOut),
          .runs = shares.size(),
          .kind = std::move(kind)};
}

}  // namespace

const std::vector<PublishedRate>& published_rates() {
  static const std::vector<PublishedRate> kRates = read_rates();
  return kRates;
}

UsualShares usual_shares(const TrainingPlan& plan) {
  const bool mixture = is_mixture(plan);
  const std::string models = mixture ? "mixtures of experts" : "dense models";
  const std::vector<double> near = shares_of([&](const TrainingPlan& run) {
    return is_mixture(run) == mixture && run.gpu.major == plan.gpu.major &&
           run.gpu.minor == plan.gpu.minor;
  });
  return near.size() >= kEnough
             ? summed_up(near, fmt::format("{} on GPUs of compute capability {}.{}", models,
                                           plan.gpu.major, plan.gpu.minor))
             : summed_up(
                   shares_of([&](const TrainingPlan& run) { return is_mixture(run) == mixture; }),
                   models);
}

double tokens_per_gpu(const TrainingPlan& plan, double sequences_per_second) {
  return sequences_per_second * static_cast<double>(sequence_length(plan, 0)) /
         plan.parallel.gpus();
}

}  // namespace highwater
