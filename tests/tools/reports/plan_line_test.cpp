// A plan as a command line: read back it is the same plan, and it says nothing that goes without
// saying.
#include "tools/reports/plan_line.hpp"

#include <algorithm>
#include <fstream>

#include <boost/json.hpp>
#include <boost/program_options/variables_map.hpp>
#include <catch2/catch.hpp>

#include "tests/support/command_run.hpp"
#include "tests/support/temp_dir.hpp"
#include "tools/commands/commands.hpp"
#include "tools/options/plan_options.hpp"
#include "tools/studies/plan_search/candidates.hpp"
#include "workloads/plan/catalog/presets.hpp"
#include "workloads/plan/options/framework_profile.hpp"
#include "workloads/plan/training_plan.hpp"

using namespace highwater;
using Catch::Contains;

namespace {

/// The plan of "highwater simulate ...", as the command line reads it.
TrainingPlan read(const std::string& line) {
  Arguments arguments = words(line);
  arguments.erase(arguments.begin(), arguments.begin() + 2);
  OptionParser parser(command("simulate"));
  add_plan_options(parser);
  return read_plan(parser.parse(arguments)).plan;
}

/// Without the GPU, which a line names only if the run has to fit on it.
auto words_of(const TrainingPlan& plan) {
  auto all = plan_words(plan);
  std::erase_if(all, [](const auto& word) { return word.first == "gpu"; });
  return all;
}

}  // namespace

TEST_CASE("plan line: every strategy's line makes the same plan again", "[cli][plan]") {
  TrainingPlan base;
  base.model = model_preset("llama-160m");
  base.precision = Precision::bf16;
  base.model_code = ModelCode::torchtitan;
  for (const int gpus : {1, 4, 16}) {
    for (const Candidate& candidate : candidates_for(base, {.gpus = gpus}).runnable) {
      const TrainingPlan plan = varied(candidate, candidate.variations.back());
      const std::string line = simulate_line(plan, {.model = "llama-160m"});
      CAPTURE(line);
      CHECK(words_of(read(line)) == words_of(plan));
    }
  }
}

TEST_CASE("plan line: only what differs is said", "[cli][plan]") {
  TrainingPlan plan = default_plan();
  plan.model = model_preset("gpt2");
  CHECK(simulate_line(plan, {.model = "gpt2"}) == "highwater simulate --model gpt2");
  plan.batch = 4;
  plan.set_to_none = false;
  plan.use_cache = false;
  CHECK(simulate_line(plan, {.model = "gpt2",
                             .is_gpu_named = true,
                             .capacity = Bytes{1000},
                             .alloc_conf = "expandable_segments:True"}) ==
        "highwater simulate --model gpt2 --batch 4 --use-cache=false --set-to-none=false --gpu "
        "a100-80 "
        "--capacity 1000 --alloc-conf expandable_segments:True");
  CHECK_THAT(simulate_line(plan, {.model = "gpt2", .alloc_conf = "it's"}),
             Contains("--alloc-conf 'it'\\''s'"));
}

namespace {

/// Every listed row has the peak that `simulate` finds for its own command.
void check_rows(const std::string& plan_line) {
  const auto plan = json_of(plan_line);
  for (const auto& row : plan.at("strategies").at("results").as_array()) {
    REQUIRE(row.at("fits").as_bool());
    const std::string line = row.at("command").as_string().c_str();
    CAPTURE(line);
    const auto simulated = json_of(line.substr(std::string("highwater ").size()));
    CHECK(simulated.at("peak").at("reserved_bytes") == row.at("peak_reserved_bytes"));
  }
}

/// Llama 3 8B with fewer layers.
void write_llama(const std::string& path, int layers) {
  std::ofstream(path) << boost::json::object{
      {"model_type", "llama"},       {"hidden_size", 4096},
      {"intermediate_size", 14336},  {"vocab_size", 128256},
      {"num_attention_heads", 32},   {"num_key_value_heads", 8},
      {"num_hidden_layers", layers}, {"max_position_embeddings", 8192}};
}

}  // namespace

TEST_CASE("plan line: pasted, it has the peak of its row", "[cli][plan]") {
  for (const std::string device : {"--gpu rtx2080ti", "--capacity 3GiB --gpu v100-16"}) {
    check_rows("plan --model " HIGHWATER_TEST_DATA
               "/loops/llama.json --gpus 2 --seq 256 --precision fp16 "
               "--attention sdpa-math --global-batch 64 --rows 1 " +
               device);
  }
}

// Ranks that hold equally much, and steps of many micro-batches, reserve unequally here.
TEST_CASE("plan line: rows of a large model have the peaks of their whole jobs",
          "[cli][plan][long]") {
  const test::TempDir folder;
  const std::string model = (folder / "config.json").string();
  write_llama(model, 8);
  const std::string job = "plan --gpus 8 --seq 8192 --precision bf16 --global-batch 32 --model ";
  check_rows(job + model + " --gpu a100-40 --rows 5");
  check_rows(job + model + " --gpu rtx4090 --rows 2");
}
