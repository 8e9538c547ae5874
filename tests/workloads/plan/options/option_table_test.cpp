// The option table: every row reads what it writes, touches nothing else, and says what is wrong.
#include "workloads/plan/options/option_table.hpp"

#include <algorithm>
#include <random>
#include <set>

#include <boost/json.hpp>
#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "workloads/plan/options/framework_profile.hpp"
#include "workloads/plan/options/implied_defaults.hpp"
#include "workloads/plan/options/plan_json.hpp"
#include "workloads/plan/options/plan_summary.hpp"
#include "workloads/plan/options/read_plan.hpp"
#include "workloads/plan/training_plan.hpp"

using namespace highwater;
using Catch::Contains;

namespace {

constexpr int kTries = 20;

/// Texts that the option takes, drawn from its words or its range.
class TextMaker {
 public:
  explicit TextMaker(unsigned seed) : random_(seed) {}

  std::string text_for(const Option& option) {
    if (option.name == "seq" && coin()) {
      return whole({1, 4096}) + "," + whole({1, 4096});
    }
    if (option.name == "hidden") {  // in heads of 64, as both models have
      return fmt::format("{}", 64 * std::uniform_int_distribution(1, 64)(random_));
    }
    if (const auto* words = std::get_if<AllowedWords>(&option.axis.allowed)) {
      return word(*words);
    }
    if (const auto* range = std::get_if<WholeRange>(&option.axis.allowed)) {
      return whole(*range);
    }
    if (const auto* range = std::get_if<RealRange>(&option.axis.allowed)) {
      return fmt::format("{}", std::uniform_real_distribution(range->least, range->most)(random_));
    }
    return free_text(option.name);
  }

 private:
  bool coin() { return std::bernoulli_distribution()(random_); }

  std::string whole(const WholeRange& range) {
    return fmt::format("{}", std::uniform_int_distribution(range.least, range.most)(random_));
  }

  /// "every-N" stands for "every-3".
  std::string word(const AllowedWords& words) {
    const std::size_t last = words.list.size() - 1;
    std::string text(words.list[std::uniform_int_distribution<std::size_t>(0, last)(random_)]);
    if (text.ends_with("-N")) {
      text.replace(text.size() - 1, 1, whole({1, 99}));
    }
    return text;
  }

  std::string free_text(std::string_view option) {
    if (option == "model") {
      return coin() ? "gpt2" : "llama-160m";
    }
    if (option == "moe-load") {
      return coin() ? "even" : "busiest:1.5";
    }
    if (option == "image-size") {
      return coin() ? "224" : "480x640";
    }
    if (option == "peft") {
      return coin() ? "none" : R"({"peft_type": "IA3"})";
    }
    if (option == "teacher") {
      return coin() ? "gpt2" : "llama-3.2-1b";
    }
    if (option == "freeze") {
      return coin() ? "wte,h.0" : "all-but:classifier";
    }
    return option == "lora-targets" ? (coin() ? "q_proj" : "c_attn,c_proj")
                                    : fmt::format("{}.{}", 2, whole({0, 15}));
  }

  std::mt19937 random_;
};

TrainingPlan read(const OptionWords& words) {
  std::vector<std::string> problems;
  TrainingPlan plan = read_plan_words(words, problems);
  CAPTURE(problems);
  CHECK(problems.empty());
  return plan;
}

}  // namespace

TEST_CASE("option table: names are unique and every row is complete", "[plan][options]") {
  std::set<std::string_view> names;
  for (const Option& option : option_table()) {
    CAPTURE(option.name);
    CHECK(names.insert(option.name).second);
    CHECK(find_option(option.name) == &option);
    const bool has_words = std::holds_alternative<AllowedWords>(option.axis.allowed);
    CHECK((!option.help.empty() || has_words));
    CHECK((!option.source.empty() || option.name == "model"));
  }
  CHECK(names.size() > 90);
  CHECK(find_option("no-such-option") == nullptr);
}

TEST_CASE("option table: each row reads what it writes and leaves the others alone",
          "[plan][options][property]") {
  TextMaker maker(1);
  const OptionWords defaults = plan_words(TrainingPlan{});
  for (const Option& option : option_table()) {
    for (int i = 0; i < kTries; ++i) {
      const std::string text = maker.text_for(option);
      CAPTURE(option.name, text);
      TrainingPlan plan;
      REQUIRE_FALSE(option.set(plan, text).has_value());
      TrainingPlan again;
      REQUIRE_FALSE(option.set(again, option.text(plan)).has_value());
      CHECK(plan_words(again) == plan_words(plan));
      for (const Option& other : option_table()) {
        const bool comes_along = &other == &option || option.name == "framework";
        CHECK((comes_along || other.text(plan) == other.text(TrainingPlan{})));
      }
    }
  }
}

TEST_CASE("option table: a plan's words make the same plan again", "[plan][options][property]") {
  TextMaker maker(2);
  for (int i = 0; i < 5 * kTries; ++i) {
    OptionWords words;
    for (const Option& option : option_table()) {
      words.emplace_back(option.name, maker.text_for(option));
    }
    const TrainingPlan plan = read(words);
    CHECK(plan_words(read(plan_words(plan))) == plan_words(plan));
  }
}

TEST_CASE("option table: a wrong value gets a remedy and changes nothing", "[plan][options]") {
  const OptionWords defaults = plan_words(TrainingPlan{});
  for (const Option& option : option_table()) {
    TrainingPlan plan;
    const Complaint complaint = option.set(plan, option.name == "lora-targets" ? "a,,b"
                                                 : option.name == "python"     ? ""
                                                                               : "?!");
    CAPTURE(option.name);
    REQUIRE(complaint.has_value());
    CHECK_FALSE(complaint->empty());
    CHECK(plan_words(plan) == defaults);
  }
}

TEST_CASE("option table: a misspelt word gets the word that was meant", "[plan][options]") {
  for (const Option& option : option_table()) {
    const auto* words = std::get_if<AllowedWords>(&option.axis.allowed);
    if (words == nullptr || words->list.front().size() < 3) {
      continue;
    }
    TrainingPlan plan;
    const std::string misspelt = std::string(words->list.front()) + "q";
    CAPTURE(option.name, misspelt);
    CHECK_THAT(option.set(plan, misspelt).value_or(""),
               Contains("did you mean " + std::string(words->list.front()) + "?"));
  }
  CHECK_THAT(unknown_option("optimiser"), Contains("did you mean --optimizer?"));
}

TEST_CASE("option table: numbers outside of a row's range are refused", "[plan][options]") {
  for (const Option& option : option_table()) {
    TrainingPlan plan;
    CAPTURE(option.name);
    if (const auto* range = std::get_if<WholeRange>(&option.axis.allowed)) {
      CHECK_FALSE(option.set(plan, fmt::format("{}", range->least)).has_value());
      CHECK_FALSE(option.set(plan, fmt::format("{}", range->most)).has_value());
      CHECK(option.set(plan, fmt::format("{}", range->least - 1)).has_value());
    } else if (const auto* real = std::get_if<RealRange>(&option.axis.allowed)) {
      CHECK_FALSE(option.set(plan, fmt::format("{}", real->most)).has_value());
      CHECK(option.set(plan, fmt::format("{}", real->most * 2)).has_value());
      CHECK(option.set(plan, "nan").has_value());
    }
  }
}

TEST_CASE("option table: frameworks' and implied defaults are words of their rows",
          "[plan][options]") {
  for (const FrameworkDefault& row : framework_defaults()) {
    CAPTURE(row.option, row.word);
    TrainingPlan plan;
    apply_framework(row.framework, plan);
    REQUIRE(find_option(row.option) != nullptr);
    CHECK(option_called(row.option).text(plan) == row.word);
    CHECK_FALSE(row.source.empty());
  }
  for (const ImpliedDefault& row : implied_defaults()) {
    CAPTURE(row.option, row.word);
    TrainingPlan plan;
    REQUIRE(find_option(row.option) != nullptr);
    CHECK_FALSE(option_called(row.option).set(plan, row.word).has_value());
    CHECK(option_called(row.option).text(plan) == row.word);
  }
}

TEST_CASE("option table: what is implied holds only where nothing is given", "[plan][options]") {
  const auto with = [](OptionWords words) {
    words.emplace_back("model", "gpt2");
    return read(words);
  };
  const OptionWords fsdp2{{"dp", "4"}, {"dp-kind", "fsdp2"}};
  CHECK(with(fsdp2).init == ModelInit::meta);
  CHECK(with({{"dp", "4"}, {"dp-kind", "fsdp2"}, {"init", "cpu"}}).init == ModelInit::cpu);
  CHECK(with({{"framework", "colossalai-gemini"}}).checkpoint.reentrant);
  CHECK_FALSE(
      with({{"framework", "colossalai-gemini"}, {"checkpoint", "none"}}).checkpoint.reentrant);
  CHECK(with({{"framework", "megatron"}, {"checkpoint", "selective"}}).checkpoint.kind ==
        CheckpointKind::selective_attention);
}

TEST_CASE("option table: JSON has numbers as numbers and lists as lists", "[plan][options]") {
  const boost::json::object plan = plan_json(read({{"model", "gpt2"},
                                                   {"seq", "512,256"},
                                                   {"batch", "4"},
                                                   {"grad-clip", "1"},
                                                   {"lora-dropout", "0.05"},
                                                   {"checkpoint", "every-2"},
                                                   {"torch", "2.6"}}));
  CHECK(plan.at("seq") == boost::json::array({512, 256}));
  CHECK(plan.at("batch") == 4);
  CHECK(boost::json::serialize(plan.at("grad_clip")) == "1");
  CHECK(plan.at("lora_dropout") == 0.05);
  CHECK(plan.at("dropout").is_null());
  CHECK(plan.at("moe_capacity_factor") == "none");
  CHECK(plan.at("moe_load") == "even");
  CHECK(plan.at("moe_imbalance") == 1);
  CHECK(plan.at("bucket_cap_mb") == "default");
  CHECK(plan.at("use_cache") == true);
  CHECK(plan.at("checkpoint") == "every-2");
  CHECK(plan.at("torch") == "2.6");
  CHECK_FALSE(plan.contains("lora_targets"));
}

TEST_CASE("option table: a summary has what decides most bytes and what is not at its default",
          "[plan][options]") {
  CHECK(plan_summary(read({{"model", "gpt2"}, {"dp", "2"}})) ==
        "gpt2, framework hf, batch 1, seq 1024, precision fp32, attention sdpa, checkpoint none, "
        "optimizer adamw, dp 2, torch 2.15, transformers 5.24");
}
