// --hidden: a model of another width.
//
// Expected sizes are published ones of the same family (transformers' config.json of
// meta-llama/Llama-2-13b-hf, openai-community/gpt2-large, facebook/opt-1.3b), or by hand.
#include <catch2/catch.hpp>

#include "workloads/plan/model/model_width.hpp"
#include "workloads/plan/model/parameter_count.hpp"
#include "workloads/plan/options/read_plan.hpp"
#include "workloads/plan/training_plan.hpp"

using namespace highwater;
using Catch::Contains;

namespace {

TrainingPlan wide(const char* model, const char* hidden) {
  std::vector<std::string> problems;
  TrainingPlan plan = read_plan_words({{"model", model}, {"hidden", hidden}}, problems);
  CHECK(problems.empty());
  return plan;
}

}  // namespace

TEST_CASE("hidden: widths of published sizes", "[cli][plan]") {
  const ModelShape llama = shape_of(wide("llama-2-7b", "5120").model);
  CHECK(llama.hidden == 5120);
  CHECK(llama.heads == 40);
  CHECK(llama.kv_heads == 40);
  CHECK(llama.ffn == 13824);  // 13760 exactly, to a multiple of 256
  const ModelShape gpt2 = shape_of(wide("gpt2", "1280").model);
  CHECK(gpt2.heads == 20);
  CHECK(gpt2.ffn == 5120);
  const ModelShape opt = shape_of(wide("opt-125m", "2048").model);
  CHECK(opt.heads == 32);
  CHECK(opt.ffn == 8192);
}

TEST_CASE("hidden: key-value heads keep their ratio", "[cli][plan]") {
  const ModelConfig config = wide("llama-3-8b", "5120").model.config;
  const ModelShape shape = shape_of(config);
  CHECK(shape.heads == 40);
  CHECK(shape.kv_heads == 10);
  CHECK(shape.ffn == 17920);
  const std::int64_t layer = 2 * 5120 * 5120 + 2 * 5120 * 1280 + 3 * 5120 * 17920 + 2 * 5120;
  CHECK(parameter_count(config).trainable() == 2 * std::int64_t{128256} * 5120 + 32 * layer + 5120);
  const ModelSpec own = wide("llama-3-8b", "4096").model;
  CHECK(width_step(own) == 512);      // four heads and one key-value head
  CHECK(width_step(own, 4) == 2048);  // a key-value head for each of four ranks
  CHECK(width_step(wide("gemma-2b", "2048").model) == 256);  // one key-value head stays one
  CHECK(shape_of(wide("gemma-2b", "3072").model).kv_heads == 1);
}

TEST_CASE("hidden: the model's own width changes nothing, and goes into words", "[cli][plan]") {
  const TrainingPlan own = wide("llama-3-8b", "4096");
  std::vector<std::string> problems;
  const TrainingPlan plain = read_plan_words({{"model", "llama-3-8b"}}, problems);
  CHECK(shape_of(own.model) == shape_of(plain.model));
  CHECK(*find_word(plan_words(own), "hidden") == "4096");
  CHECK(find_word(plan_words(plain), "hidden") == nullptr);
  read_plan_words({{"model", "llama-3-8b"}, {"hidden", "4100"}}, problems);
  REQUIRE(problems.size() == 1);
  CHECK_THAT(problems[0], Contains("use a multiple of 512"));
}
