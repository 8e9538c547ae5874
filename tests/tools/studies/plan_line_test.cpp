// A plan as a command line: read back it is the same plan, and it says nothing that goes without
// saying.
#include "tools/studies/plan_line.hpp"

#include <algorithm>

#include <boost/json.hpp>
#include <boost/program_options/variables_map.hpp>
#include <catch2/catch.hpp>

#include "tests/support/command_run.hpp"
#include "tools/commands/commands.hpp"
#include "tools/options/plan_options.hpp"
#include "tools/studies/plan_search/candidates.hpp"
#include "workloads/plan/catalog/presets.hpp"
#include "workloads/plan/options/framework_profile.hpp"

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

TEST_CASE("plan line: pasted, it has the peak of its row", "[cli][plan]") {
  for (const std::string device : {"--gpu rtx2080ti", "--capacity 3GiB --gpu v100-16"}) {
    const auto plan = json_of("plan --model " HIGHWATER_TEST_DATA
                              "/loops/llama.json --gpus 2 --seq 256 --precision fp16 "
                              "--attention sdpa-math " +
                              device);
    const auto& best = plan.at("strategies").at("results").at(0);
    REQUIRE(best.at("fits").as_bool());
    std::string line = best.at("command").as_string().c_str();
    CAPTURE(line);
    const auto simulated = json_of(line.substr(std::string("highwater ").size()));
    CHECK(simulated.at("peak").at("reserved_bytes") == best.at("peak_reserved_bytes"));
  }
}
