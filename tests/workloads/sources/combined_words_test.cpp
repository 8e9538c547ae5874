// Several sources as one plan.
#include "workloads/sources/combined_words.hpp"

#include <catch2/catch.hpp>

using namespace highwater;

namespace {

PlanSource source(OptionWords words) {
  PlanSource result;
  result.words = std::move(words);
  return result;
}

std::string word(const OptionWords& words, std::string_view option) {
  const std::string* const found = find_word(words, option);
  return found == nullptr ? "" : *found;
}

}  // namespace

TEST_CASE("sources: later ones win", "[plan][sources]") {
  const std::vector<PlanSource> both{source({{"model", "gpt2"}, {"batch", "8"}, {"seq", "128"}}),
                                     source({{"batch", "2"}})};
  const OptionWords words = combined_words(both, {});
  CHECK(word(words, "batch") == "2");
  CHECK(word(words, "seq") == "128");
}

TEST_CASE("sources: data-parallel ranks are what other degrees leave of the GPUs",
          "[plan][sources]") {
  const std::vector<PlanSource> both{source({{"gpus", "16"}}),
                                     source({{"model", "gpt2"}, {"tp", "2"}, {"pp", "2"}})};
  CHECK(word(combined_words(both, {}), "dp") == "4");
  CHECK(word(combined_words(both, {{"tp", "4"}}), "dp") == "2");
  CHECK(word(combined_words(both, {{"dp", "3"}}), "dp").empty());
  CHECK(word(combined_words(both, {{"tp", "5"}}), "dp").empty());
}

TEST_CASE("sources: one rank has no options of reductions", "[plan][sources]") {
  const std::vector<PlanSource> one{
      source({{"model", "gpt2"}, {"find-unused-parameters", "true"}, {"bucket-cap-mb", "50"}})};
  CHECK(word(combined_words(one, {}), "find-unused-parameters").empty());
  CHECK(word(combined_words(one, {}), "bucket-cap-mb").empty());
  CHECK(word(combined_words(one, {{"dp", "2"}}), "find-unused-parameters") == "true");
}

TEST_CASE("sources: micro-batches follow from the sequences of a step", "[plan][sources]") {
  const std::vector<PlanSource> one{
      source({{"model", "gpt2"}, {"gpus", "4"}, {"batch", "2"}, {"global-batch", "32"}})};
  CHECK(word(combined_words(one, {}), "grad-accum") == "4");
  CHECK(word(combined_words(one, {{"batch", "3"}}), "grad-accum").empty());
  CHECK(word(combined_words(one, {{"grad-accum", "1"}}), "grad-accum").empty());
}

TEST_CASE("sources: without a number of ranks a pipeline is filled, and no more",
          "[plan][sources]") {
  const std::vector<PlanSource> one{
      source({{"model", "gpt2"}, {"pp", "4"}, {"batch", "1"}, {"global-batch", "1536"}})};
  CHECK(word(combined_words(one, {}), "grad-accum") == "8");
  CHECK(word(combined_words(one, {{"dp", "2"}}), "grad-accum") == "768");
}

TEST_CASE("sources: a file of accelerate or DeepSpeed leaves the loop to the script",
          "[plan][sources]") {
  const std::vector<PlanSource> both{
      source({{"model", "gpt2"}, {"framework", "trainer"}, {"precision", "amp-bf16"}}),
      source({{"framework", "deepspeed"}, {"dp-kind", "zero2"}, {"gpus", "4"}})};
  const OptionWords words = combined_words(both, {});
  CHECK(word(words, "framework") == "trainer");
  CHECK(word(words, "precision") == "bf16");
  CHECK(word(combined_words(both, {{"precision", "fp32"}}), "precision") == "amp-bf16");
}

TEST_CASE("sources: a program's default gives way to what another file says", "[plan][sources]") {
  PlanSource line = source({{"model", "gpt2"}, {"batch", "2"}});
  line.defaults = {{"optimizer", "adamw"}};
  PlanSource file = source({{"optimizer", "sgd"}});
  file.defaults = {{"batch", "8"}, {"seq", "64"}};
  const OptionWords words = combined_words(std::vector<PlanSource>{line, file}, {});
  CHECK(word(words, "batch") == "2");
  CHECK(word(words, "optimizer") == "sgd");
  CHECK(word(words, "seq") == "64");
}

// YTohkaYang/LCKV run_clm.sh: --do_eval beside --use_liger_kernel was refused as --eval-batch.
TEST_CASE("sources: evaluation is left out with a loss that makes no logits", "[plan][sources]") {
  const OptionWords trainer{{"model", "gpt2"}, {"framework", "trainer"}, {"eval-batch", "32"}};
  const std::vector<PlanSource> plain{source(trainer)};
  CHECK(word(combined_words(plain, {}), "eval-batch") == "32");
  const std::vector<PlanSource> fused{source(trainer), source({{"loss", "fused"}})};
  CHECK(word(combined_words(fused, {}), "eval-batch").empty());
}
