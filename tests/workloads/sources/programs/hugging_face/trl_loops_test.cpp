// Launch lines of TRL's trainers beside supervised fine-tuning as plans.
#include <catch2/catch.hpp>

#include "tests/support/source_words.hpp"
#include "traces/error.hpp"
#include "workloads/sources/programs/program.hpp"
#include "workloads/sources/settings/launch_line.hpp"
#include "workloads/sources/settings/read_settings.hpp"

using namespace highwater;
using Catch::Matchers::Contains;
using test::source_words;

namespace {

PlanSource of_loop(const std::string& text) {
  return plan_of_launch(read_launch_line(text, "x.sh"), "x.sh");
}

std::string fate_in_loop(const PlanSource& source, std::string_view key) {
  for (const SourceKey& row : source.keys) {
    if (row.key == key) {
      return std::string(to_string(row.fate));
    }
  }
  return "-";
}

const std::string kLoopModel = " --model_name_or_path Qwen/Qwen3-0.6B ";

}  // namespace

TEST_CASE("trl's loops: a launch line says which trainer runs", "[plan][sources][trl]") {
  // trl 1.16: the defaults of DPOConfig, RewardConfig, GRPOConfig.
  CHECK(source_words(of_loop("trl dpo" + kLoopModel),
                     {"framework", "model", "batch", "seq", "precision", "checkpoint"}) ==
        "trl-dpo Qwen/Qwen3-0.6B 8 1024 amp-bf16 full");
  CHECK(source_words(of_loop("python trl/scripts/reward.py" + kLoopModel + "--max_length 512"),
                     {"framework", "batch", "seq"}) == "trl-reward 8 512");
  CHECK(source_words(of_loop("python examples/scripts/orpo.py" + kLoopModel),
                     {"framework", "seq"}) == "trl-orpo 1024");
  CHECK(source_words(of_loop("trl kto" + kLoopModel + "--per_device_train_batch_size 2 --use_peft"),
                     {"framework", "batch", "lora"}) == "trl-kto 2 16");
}

TEST_CASE("trl's loops: prompts and completions are lengths of their own", "[plan][sources][trl]") {
  const PlanSource told =
      of_loop("trl grpo" + kLoopModel +
              "--max_prompt_length 256 --max_completion_length 128 --num_generations 4");
  CHECK(source_words(told, {"framework", "seq", "target-seq"}) == "trl-grpo 256 128");
  CHECK(fate_in_loop(told, "(prompts)") == "-");
  const PlanSource untold = of_loop("trl rloo" + kLoopModel);
  CHECK(source_words(untold, {"framework", "target-seq"}) == "trl-rloo 512");
  CHECK(fate_in_loop(untold, "(prompts)") == "not supported");
}

TEST_CASE("trl's loops: whether a second model answers", "[plan][sources][trl]") {
  const auto answers = [](const std::string& line) {
    return source_words(of_loop(line), {"reference-model"});
  };
  CHECK(answers("trl dpo" + kLoopModel) == "-");  // the framework's own default
  CHECK(answers("trl dpo" + kLoopModel + "--precompute_ref_log_probs") == "false");
  CHECK(answers("trl grpo" + kLoopModel) == "-");
  CHECK(answers("trl grpo" + kLoopModel + "--beta 0.04") == "true");
  CHECK(answers("trl rloo" + kLoopModel + "--beta 0.0") == "false");
  CHECK(fate_in_loop(of_loop("trl dpo" + kLoopModel + "--beta 0.2 --loss_type ipo"), "beta") ==
        "no effect");
  CHECK(fate_in_loop(of_loop("trl grpo" + kLoopModel + "--use_vllm"), "use_vllm") ==
        "not supported");
}

TEST_CASE("trl's loops: a file alone does not say which trainer it is for",
          "[plan][sources][trl]") {
  const std::string text = "model_name_or_path: gpt2\nbeta: 0.1\nmax_prompt_length: 512\n";
  CHECK_THROWS_WITH(plan_of_settings(read_yaml_settings(text, "x.yaml"), "x.yaml"),
                    Contains("trl dpo --config FILE"));
}

TEST_CASE("trl's loops: scripts of others around them are refused", "[plan][sources][trl]") {
  for (const char* script : {"run_dpo.py", "ppo.py", "grpo_math.py", "train_grpo.py"}) {
    CAPTURE(script);
    CHECK_THROWS_WITH(of_loop(std::string("python ") + script + kLoopModel),
                      Contains("another trainer"));
  }
}
