// The same loop as it is commonly written otherwise.
#include "tools/studies/runs/spellings.hpp"

#include <algorithm>

#include <catch2/catch.hpp>

#include "tools/studies/runs/simulate_run.hpp"

using namespace highwater;

namespace {

std::vector<SpelledRun> spellings_of(const OptionWords& words, const MemoryRequest& memory = {}) {
  const PlannedRun run = checked_run(words);
  return other_spellings(run, memory, simulate_peaks(run, memory).peak);
}

const SpelledRun* of_option(const std::vector<SpelledRun>& runs, std::string_view option) {
  const auto found =
      std::ranges::find(runs, option, [](const SpelledRun& run) { return run.spelling.option; });
  return found == runs.end() ? nullptr : &*found;
}

const OptionWords kGpt2{{"model", "gpt2"}, {"batch", "4"}, {"seq", "512"}};

}  // namespace

TEST_CASE("spellings: the peak without kept logits is the one of that plan", "[simulate]") {
  const std::vector<SpelledRun> runs =
      spellings_of(kGpt2, {.capacity = Bytes{std::uint64_t{80} << 30U}});
  const SpelledRun* const loss_only = of_option(runs, "keep-logits");
  REQUIRE(loss_only != nullptr);
  const PlannedRun told = checked_run(with_words(kGpt2, {{"keep-logits", "false"}}));
  CHECK(loss_only->peak.reserved == simulate_peaks(told, {}).peak.reserved);
  CHECK(loss_only->peak.reserved < simulate_peaks(checked_run(kGpt2), {}).peak.reserved);
  CHECK(loss_only->fits == true);
}

TEST_CASE("spellings: a loop that keeps the loss and zeroes before the backward has its figure",
          "[simulate]") {
  const std::vector<SpelledRun> runs = spellings_of(kGpt2);
  const auto both = std::ranges::find_if(
      runs, [](const SpelledRun& run) { return run.spelling.also_option == "keep-logits"; });
  REQUIRE(both != runs.end());
  const PlannedRun told =
      checked_run(with_words(kGpt2, {{"keep-logits", "false"}, {"zero-grad-at", "backward"}}));
  CHECK(both->peak.reserved == simulate_peaks(told, {}).peak.reserved);
}

TEST_CASE("spellings: adapters with dropout have their figure, in loops of frameworks, too",
          "[simulate]") {
  const OptionWords words =
      with_words(kGpt2, {{"framework", "trainer"}, {"lora", "8"}, {"lora-targets", "all-linear"}});
  const std::vector<SpelledRun> runs = spellings_of(words);
  const SpelledRun* const dropped = of_option(runs, "lora-dropout");
  REQUIRE(dropped != nullptr);
  const PlannedRun told = checked_run(with_words(words, {{"lora-dropout", "0.1"}}));
  CHECK(dropped->peak.allocated == simulate_peaks(told, {}).peak.allocated);
  CHECK(of_option(spellings_of(with_words(words, {{"lora-dropout", "0"}})), "lora-dropout") ==
        nullptr);
}

TEST_CASE("spellings: what the options say has one figure", "[simulate]") {
  CHECK(of_option(spellings_of(with_words(kGpt2, {{"keep-logits", "true"}})), "keep-logits") ==
        nullptr);
  CHECK(spellings_of(with_words(kGpt2, {{"framework", "trainer"}})).empty());
  CHECK(spellings_of(with_words(kGpt2, {{"mode", "eval"}})).empty());
}

// The weights become parts of one block.
TEST_CASE("spellings: a model that SFTTrainer is given by its name has its figure", "[simulate]") {
  const OptionWords words{
      {"model", R"({"model_type": "gpt2", "n_embd": 512, "n_layer": 4, "n_head": 8})"},
      {"framework", "trl-sft"},
      {"precision", "fp32"},
      {"batch", "4"},
      {"seq", "256"}};
  const std::vector<SpelledRun> runs = spellings_of(words);
  const SpelledRun* const named = of_option(runs, "init");
  REQUIRE(named != nullptr);
  const PlannedRun told = checked_run(with_words(words, {{"init", "pretrained"}}));
  CHECK(named->peak.reserved == simulate_peaks(told, {}).peak.reserved);
  const OptionWords half = with_words(words, {{"precision", "bf16"}, {"init", "pretrained"}});
  CHECK(of_option(spellings_of(half), "init") == nullptr);
}
