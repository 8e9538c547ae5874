// Changes of a plan in the words of the programs that train: what rules read, said backwards.
#include "workloads/sources/programs/own_changes.hpp"

#include <algorithm>
#include <iterator>
#include <map>

#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "workloads/sources/combined_words.hpp"
#include "workloads/sources/programs/program.hpp"
#include "workloads/sources/settings/read_settings.hpp"
#include "workloads/sources/settings/scalar.hpp"

using namespace highwater;

namespace {

PlanSource source_of_yaml(const std::string& text) {
  return plan_of_settings(read_yaml_settings(text, "train.yaml"), "train.yaml");
}

PlanSource source_of_line(const std::string& text) {
  return plan_of_launch(read_launch_line(text, "train.sh"), "train.sh");
}

std::vector<OwnChange> changes_of(const PlanSource& source, const OptionWords& wanted) {
  return own_changes(std::vector{source}, {}, wanted).value_or(std::vector<OwnChange>{});
}

std::string word_for(const ProgramChange& change) {
  return change.word == "*" ? "4" : std::string(change.word);
}

SettingList settings_of(const ProgramChange& change) {
  SettingList settings;
  for (const auto& [key, value] : change.set) {
    Setting setting = typed_scalar(value == "$" ? word_for(change) : std::string(value));
    setting.key = key;
    settings.add(setting);
  }
  return settings;
}

std::vector<std::string_view> keys_of(const ProgramChange& change) {
  std::vector<std::string_view> keys;
  std::ranges::transform(change.set, std::back_inserter(keys),
                         [](const auto& each) { return each.first; });
  return keys;
}

/// What some rows are for: models that are sharded, or in 4 bits.
std::vector<SettingList> contexts() {
  std::vector<SettingList> all(1);
  for (const auto& settings : std::vector<std::vector<std::pair<std::string, std::string>>>{
           {{"zero_optimization.stage", "3"}}, {{"use_peft", "true"}, {"load_in_4bit", "true"}}}) {
    SettingList list;
    for (const auto& [key, value] : settings) {
      Setting setting = typed_scalar(value);
      setting.key = key;
      list.add(setting);
    }
    all.push_back(list);
  }
  return all;
}

bool says_what_it_promises(const Program& program, const ProgramChange& change) {
  return std::ranges::any_of(contexts(), [&](SettingList settings) {
    const SettingList changed = settings_of(change);
    for (const Setting& setting : changed.list()) {
      settings.add(setting);
    }
    const PlanSource source = plan_of_program(program, settings, "file");
    const OptionWords words = combined_words(std::vector{source}, {});
    const std::string* const word = find_word(words, change.option);
    return word != nullptr && *word == word_for(change);
  });
}

}  // namespace

TEST_CASE("own changes: each row of the facts says what it promises, in one program at least",
          "[sources]") {
  std::map<std::string, bool> works;
  for (const Program* const program : programs()) {
    for (const ProgramChange& change : program->changes) {
      const std::string row =
          fmt::format("{} {}: {}", change.option, change.word, fmt::join(keys_of(change), ", "));
      works[row] = works[row] || says_what_it_promises(*program, change);
    }
  }
  CHECK(works.size() > 25);
  for (const auto& [row, is_true] : works) {
    CAPTURE(row);
    CHECK(is_true);
  }
}

TEST_CASE("own changes: a key that the file has is changed, one that it lacks is added",
          "[sources]") {
  const PlanSource source = source_of_yaml(
      "base_model: meta-llama/Llama-3.1-8B\nmicro_batch_size: 4\nsequence_len: 2048\n"
      "bf16: true\ngradient_accumulation_steps: 2\noptimizer: adamw_torch\n");
  CHECK(changes_of(source, {{"batch", "1"}, {"grad-accum", "8"}}) ==
        std::vector<OwnChange>{
            {"train.yaml", "micro_batch_size: 1, gradient_accumulation_steps: 8"}});
  CHECK(changes_of(source, {{"checkpoint", "full"}}) ==
        std::vector<OwnChange>{{"train.yaml", "gradient_checkpointing: true"}});
  CHECK(changes_of(source,
                   {{"optimizer", "adamw-8bit"}, {"alloc-conf", "expandable_segments:True"}}) ==
        std::vector<OwnChange>{
            {"train.yaml", "optimizer: adamw_bnb_8bit"},
            {"the environment", "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"}});
}

TEST_CASE("own changes: a launch line gets options", "[sources]") {
  const PlanSource source = source_of_line(
      "torchrun --nproc_per_node 1 run_clm.py --model_name_or_path gpt2 --output_dir out "
      "--per_device_train_batch_size 8 --block_size 512");
  CHECK(changes_of(source, {{"batch", "2"}, {"grad-accum", "4"}, {"checkpoint", "full"}}) ==
        std::vector<OwnChange>{{"train.sh",
                                "--per_device_train_batch_size 2 --gradient_accumulation_steps 4 "
                                "--gradient_checkpointing"}});
}

// Megatron's argparse takes no underscores.
TEST_CASE("own changes: options are spelled as the program's parser takes them", "[sources]") {
  const auto source = source_of_framework({{"framework", "megatron"}, {"batch", "4"}});
  REQUIRE(source);
  CHECK(changes_of(*source, {{"batch", "1"}, {"checkpoint", "full"}}) ==
        std::vector<OwnChange>{{"the launch line",
                                "--micro-batch-size 1 --recompute-granularity full "
                                "--recompute-method uniform --recompute-num-layers 1"}});
}

TEST_CASE("own changes: a framework's class in Python", "[sources]") {
  const auto source =
      source_of_framework({{"framework", "trl-sft"}, {"batch", "4"}, {"checkpoint", "none"}});
  REQUIRE(source);
  CHECK(changes_of(*source, {{"checkpoint", "full"}}) ==
        std::vector<OwnChange>{{"Python", "SFTConfig(gradient_checkpointing=True)"}});
  CHECK(changes_of(*source, {{"batch", "1"}, {"lora", "16"}}) ==
        std::vector<OwnChange>{
            {"Python", "SFTConfig(per_device_train_batch_size=1), peft_config=LoraConfig(r=16)"}});
  CHECK_FALSE(source_of_framework({{"framework", "hf"}}));
  CHECK_FALSE(source_of_framework({}));
}

TEST_CASE("own changes: an option without a key of the program gets no words", "[sources]") {
  const PlanSource source = source_of_yaml(
      "base_model: meta-llama/Llama-3.1-8B\nmicro_batch_size: 4\nsequence_len: 2048\n");
  CHECK_FALSE(own_changes(std::vector{source}, {}, {{"param-dtype", "fp8"}}));
  CHECK_FALSE(own_changes(std::vector{source}, {}, {{"checkpoint", "full"}, {"tp", "2"}}));
}

// TRL computes in the type of the weights (trl/trainer/utils.py, get_quantization_config), which is
// another plan than the one that is asked for.
TEST_CASE("own changes: a key that also moves other options is not offered", "[sources]") {
  const PlanSource source = source_of_yaml(
      "model_name_or_path: gpt2\nmax_length: 512\nuse_peft: true\nlora_r: 16\noutput_dir: out\n");
  const OptionWords wanted{{"quantize", "nf4"}, {"double-quant", "true"}};
  CHECK_FALSE(own_changes(std::vector{source}, {}, wanted));
  CHECK(own_changes(std::vector{source}, {}, {{"quantize", "int8"}}));
}
