#include "workloads/training/strategy_table.hpp"

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "workloads/plan/options/read_plan.hpp"
#include "workloads/plan/rules/plan_problems.hpp"
#include "workloads/plan/training_plan.hpp"

using namespace highwater;

namespace {

struct DrawnOption {
  std::string option;
  std::vector<std::string> words;
};

/// What decides who trains a plan.
const std::vector<DrawnOption>& drawn_options() {
  static const std::vector<DrawnOption> kOptions{
      {"model", {"gpt2", "mixtral-8x7b"}},
      {"framework",
       {"trainer", "accelerate-fsdp2", "torchtitan", "torchtune", "torch", "deepspeed", "megatron",
        "nemo", "colossalai-gemini"}},
      {"model-code", {"hf", "torchtitan", "torchtune", "megatron"}},
      {"torchtitan", {"0.0", "0.3"}},
      {"dp", {"2", "4"}},
      {"dp-kind", {"ddp", "zero0", "zero1", "zero2", "zero3", "fsdp1", "fsdp2", "fsdp2", "fsdp2"}},
      {"tp", {"2", "4", "8"}},
      {"tp-kind", {"megatron", "colossalai", "2d", "2.5d", "3d", "dtensor", "dtensor", "dtensor"}},
      {"sp", {"true"}},
      {"pp", {"2"}},
      {"pp-schedule", {"naive", "gpipe", "1f1b"}},
      {"cp", {"2"}},
      {"cp-kind", {"ring", "ulysses", "distributed-attention", "ring-self-attention"}},
      {"ep", {"2"}},
      {"experts", {"grouped_mm", "deepspeed"}},
      {"init", {"cpu", "meta"}},
  };
  return kOptions;
}

/// Few options together: of many, hardly any plan could be carried out.
OptionWords drawn_words(std::mt19937& random) {
  OptionWords words{{"seq", "128"}};
  for (const DrawnOption& drawn : drawn_options()) {
    if (random() % 3 == 0) {
      words.emplace_back(drawn.option, drawn.words[random() % drawn.words.size()]);
    }
  }
  if (find_word(words, "model") == nullptr) {
    words.emplace_back("model", "llama-160m");
  }
  return words;
}

template <class Row>
std::vector<std::string_view> fitting(std::span<const Row> rows, const TrainingPlan& plan) {
  std::vector<std::string_view> names;
  for (const Row& row : rows) {
    if (row.fits(plan)) {
      names.push_back(row.name);
    }
  }
  return names;
}

}  // namespace

TEST_CASE("strategies: exactly one row fits each plan that can be carried out", "[workloads]") {
  const OptionWords rare{{"model", "llama-160m"},
                         {"seq", "128"},
                         {"dp", "2"},
                         {"dp-kind", "fsdp2"},
                         {"tp", "2"},
                         {"tp-kind", "dtensor"},
                         {"sp", "true"},
                         {"model-code", "torchtitan"},
                         {"torchtitan", "0.0"}};
  std::mt19937 random(40);
  std::map<std::string_view, int> strategies;
  std::map<std::string_view, int> wrappers;
  for (int i = 0; i < 40'000; ++i) {
    const OptionWords words = i == 0 ? rare : drawn_words(random);
    std::vector<std::string> problems;
    const TrainingPlan plan = read_plan_words(words, problems);
    if (!problems.empty() || !plan_problems(plan).empty() || !generator_gaps(plan).empty()) {
      continue;
    }
    const auto strategy = fitting(strategy_rows(), plan);
    const auto wrapper = fitting(wrapper_rows(), plan);
    if (strategy.size() != 1 || wrapper.size() != 1) {
      FAIL(fmt::format("{} fits {} and {}", words, strategy, wrapper));
    }
    ++strategies[strategy.front()];
    wrappers[wrapper.front()] += strategy.front() == "torch.optim" ? 1 : 0;
  }
  for (const StrategyRow& row : strategy_rows()) {
    INFO(row.name);
    CHECK(strategies[row.name] >= 1);
  }
  for (const WrapperRow& row : wrapper_rows()) {
    INFO(row.name);
    CHECK(wrappers[row.name] >= 1);
  }
}

TEST_CASE("strategies: two rows that fit, or none, are a mistake of the tables", "[workloads]") {
  const auto fits = [](const TrainingPlan& /*plan*/) { return true; };
  const auto fits_none = [](const TrainingPlan& /*plan*/) { return false; };
  const std::vector<StrategyRow> both{{"one", fits, nullptr}, {"two", fits, nullptr}};
  const std::vector<StrategyRow> none{{"one", fits_none, nullptr}};
  const TrainingPlan plan;
  CHECK_THROWS_WITH(only_row(std::span(both), plan), "a plan fits one and two");
  CHECK_THROWS_WITH(only_row(std::span(none), plan), "a plan fits no strategy");
}

// transformers 5.24, trainer.py: a DeepSpeed file makes accelerate's engine, of one rank as well.
TEST_CASE("strategies: DeepSpeed's engine runs under Trainer on one GPU", "[training]") {
  TrainingPlan plan;
  plan.parallel.dp_kind = DataParallel::zero2;
  CHECK_FALSE(uses_deepspeed(plan));  // a plain loop on one GPU shares nothing
  for (const Framework framework : {Framework::trainer, Framework::trl_sft, Framework::deepspeed}) {
    plan.framework = framework;
    CHECK(uses_deepspeed(plan));
  }
}
