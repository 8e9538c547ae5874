// W&B's config.yaml as a plan.
#include <algorithm>

#include <catch2/catch.hpp>

#include "traces/error.hpp"
#include "workloads/sources/programs/program.hpp"
#include "workloads/sources/settings/read_settings.hpp"

using namespace highwater;
using Catch::Matchers::Contains;

namespace {

PlanSource wandb_yaml(const std::string& text) {
  return plan_of_settings(read_yaml_settings(text, "config.yaml"), "config.yaml");
}

std::string wandb_word(const PlanSource& source, std::string_view option) {
  std::string found = "-";
  for (const OptionWord& each : source.words) {
    found = each.first == option ? each.second : found;
  }
  return found;
}

/// {"key: value", ...} as W&B writes it.
std::string wrapped(std::initializer_list<std::pair<const char*, const char*>> rows) {
  std::string text = "_wandb:\n  value:\n    cli_version: 0.25.1\n    m: []\n";
  for (const auto& [key, value] : rows) {
    text += std::string(key) + ":\n  desc: null\n  value: " + value + "\n";
  }
  return text;
}

}  // namespace

TEST_CASE("W&B: TrainingArguments and the model's own configuration", "[plan][sources][wandb]") {
  const PlanSource plan = wandb_yaml(wrapped({{"_name_or_path", "gpt2"},
                                              {"model_type", "gpt2"},
                                              {"n_embd", "768"},
                                              {"torch_dtype", "float32"},
                                              {"per_device_train_batch_size", "16"},
                                              {"gradient_accumulation_steps", "2"},
                                              {"bf16", "true"},
                                              {"optim", "adamw_torch"},
                                              {"deepspeed", "None"},
                                              {"fsdp", "'[]'"},
                                              {"fsdp_config", "\"{'xla': False}\""},
                                              {"max_length", "20"}}));
  CHECK(wandb_word(plan, "model") == "gpt2");
  CHECK(wandb_word(plan, "batch") == "16");
  CHECK(wandb_word(plan, "grad-accum") == "2");
  CHECK(wandb_word(plan, "precision") == "amp-bf16");
  CHECK(wandb_word(plan, "framework") == "trainer");
  CHECK(wandb_word(plan, "seq") == "-");
  CHECK(wandb_word(plan, "dp-kind") == "-");
  const auto batch =
      std::ranges::find(plan.keys, "per_device_train_batch_size.value", &SourceKey::key);
  CHECK(batch != plan.keys.end());
}

TEST_CASE("W&B: a model without a known name has its sizes in the file", "[plan][sources][wandb]") {
  const PlanSource plan = wandb_yaml(wrapped({{"_name_or_path", "./my-model"},
                                              {"model_type", "llama"},
                                              {"hidden_size", "512"},
                                              {"num_hidden_layers", "4"},
                                              {"num_attention_heads", "8"},
                                              {"vocab_size", "1000"},
                                              {"intermediate_size", "1024"},
                                              {"per_device_train_batch_size", "4"}}));
  CHECK_THAT(wandb_word(plan, "model"),
             Contains("\"hidden_size\":512") && Contains("\"model_type\":\"llama\""));
}

TEST_CASE("W&B: adapters stand below peft_config", "[plan][sources][wandb]") {
  const std::string base = wrapped({{"_name_or_path", "meta-llama/Llama-3.2-1B"},
                                    {"model_type", "llama"},
                                    {"max_seq_length", "1024"},
                                    {"per_device_train_batch_size", "4"}});
  const std::string peft =
      "peft_config:\n  value:\n    default:\n      r: 8\n      lora_dropout: 0.1\n"
      "      target_modules:\n      - q_proj\n      - v_proj\n      task_type: ";
  const PlanSource plan = wandb_yaml(base + peft + "CAUSAL_LM\n");
  CHECK(wandb_word(plan, "lora") == "8");
  CHECK(wandb_word(plan, "lora-targets") == "q_proj,v_proj");
  CHECK(wandb_word(plan, "seq") == "1024");
  CHECK_THROWS_WITH(wandb_yaml(base + peft + "SEQ_CLS\n"), Contains("SEQ_CLS"));
}
