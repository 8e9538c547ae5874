// Rules: which engine carries out a plan, what it is told, and what it says where it cannot.
#include "tools/engine/engine.hpp"

#include <algorithm>

#include <boost/json.hpp>
#include <catch2/catch.hpp>

#include "tests/support/command_run.hpp"
#include "tests/support/temp_dir.hpp"
#include "tools/engine/engine_request.hpp"
#include "tools/engine/recorded_attributes.hpp"
#include "workloads/plan/model/other_model.hpp"
#include "workloads/plan/options/read_plan.hpp"
#include "workloads/plan/training_plan.hpp"

using namespace highwater;
using Catch::Matchers::Contains;

namespace {

constexpr const char* kNoPython = "/no/such/python";

TrainingPlan plan_of(OptionWords words) {
  words.emplace_back("model", "gpt2");
  words.emplace_back("python", kNoPython);
  std::vector<std::string> problems;
  TrainingPlan plan = read_plan_words(words, problems);
  REQUIRE(problems.empty());
  return plan;
}

std::vector<std::string> changed(const OptionWords& words) {
  std::vector<std::string> names = changed_options(plan_of(words));
  std::erase(names, "python");
  std::ranges::sort(names);
  return names;
}

std::string write_config(const test::TempDir& folder, const std::string& text) {
  const std::string path = folder / "config.json";
  test::write_file(path, text);
  return path;
}

}  // namespace

TEST_CASE("engine: auto leaves a plan that is covered to the model and starts no Python",
          "[engine]") {
  TrainingPlan plan = plan_of({{"batch", "2"}});
  std::vector<std::string> problems;
  choose_engine(plan, problems);
  CHECK(problems.empty());
  CHECK(plan.engine == EngineKind::automatic);
  CHECK_THAT(how_made(plan), Contains("generated as PyTorch"));
}

TEST_CASE("engine: what the model lacks is said with what would run it", "[engine]") {
  TrainingPlan plan = plan_of({{"dp", "2"}, {"dp-kind", "zero3"}, {"mode", "eval"}});
  std::vector<std::string> problems;
  choose_engine(plan, problems);
  REQUIRE(problems.size() == 1);
  CHECK_THAT(problems.front(),
             Contains("--engine torch") && Contains(kNoPython) && Contains("no GPU is needed"));
}

TEST_CASE("engine: an option that is kept plain against what others imply is told", "[engine]") {
  const OptionWords sharded{{"dp", "2"}, {"dp-kind", "fsdp2"}};
  CHECK(changed(sharded) == std::vector<std::string>{"dp", "dp_kind"});
  CHECK(changed({{"dp", "2"}, {"dp-kind", "fsdp2"}, {"init", "cpu"}}) ==
        std::vector<std::string>{"dp", "dp_kind", "init"});
}

TEST_CASE("engine: torch without its Python is one sentence", "[engine]") {
  TrainingPlan plan = plan_of({{"engine", "torch"}});
  std::vector<std::string> problems;
  choose_engine(plan, problems);
  REQUIRE(problems.size() == 1);
  CHECK_THAT(problems.front(), Contains(kNoPython) && Contains("--python"));
}

TEST_CASE("engine: a model without a family is named", "[engine][cli]") {
  const test::TempDir folder;
  const std::string path =
      write_config(folder, R"({"model_type": "persimmon", "hidden_size": 64})");
  const auto result = run_line("simulate --model " + path + " --python " + kNoPython);
  CHECK(result.code == ExitCode::usage);
  CHECK_THAT(result.err,
             Contains("'persimmon'") && Contains("highwater models") && Contains("--python"));
  CHECK(run_line("estimate --model " + path).code == ExitCode::usage);
  CHECK(run_line("models " + path).code == ExitCode::bad_input);
}

TEST_CASE("engine: mistakes in the command line are found before a Python is asked",
          "[engine][cli]") {
  const test::TempDir folder;
  const std::string plan = " --model " + write_config(folder, R"({"model_type": "persimmon"})") +
                           " --python " + kNoPython;
  const auto [line, mistake] = GENERATE(table<std::string, std::string>(
      {{"simulate --rank 9", "--rank 9"},
       {"simulate --engine torch --max-reserved x", "x"},
       {"generate --rank 9 --output x.hwt", "--rank 9"},
       {"generate --engine torch --graph x.dot --output x.hwt", "--graph"},
       {"sweep --set batch=1,none", "--set batch=none"},
       {"explain --top 0", "--top 0"},
       {"advise --memory-fraction 0.5", "--memory-fraction"},
       {"plan --gpus 0 --gpu h100-80", "--gpus 0"}}));
  CAPTURE(line);
  const auto result = run_line(line + plan);
  CHECK(result.code == ExitCode::usage);
  CHECK_THAT(result.err, Contains(mistake) && !Contains(kNoPython));
}

TEST_CASE("engine: a script is told what its framework does not do by itself", "[engine]") {
  CHECK(changed({}) == std::vector<std::string>{});
  CHECK(changed({{"batch", "4"}, {"framework", "hf"}}) == std::vector<std::string>{"batch"});
  CHECK(changed({{"framework", "trainer"}, {"grad-clip", "1"}}) == std::vector<std::string>{});
  CHECK(changed({{"framework", "trainer"}, {"grad-clip", "2"}}) ==
        std::vector<std::string>{"grad_clip"});
  // Trainer accumulates without reduction by itself.
  CHECK(changed({{"framework", "trainer"}, {"dp", "2"}, {"grad-accum", "2"}}) ==
        std::vector<std::string>{"dp", "grad_accum"});
}

TEST_CASE("engine: a request has the whole plan and the model's own config", "[engine]") {
  const boost::json::object request = engine_request(plan_of({{"batch", "4"}}));
  CHECK(request.at("options").at("batch") == 4);
  CHECK(request.at("rank") == 0);
  const std::string text(request.at("model").at("config").as_string());
  CHECK(boost::json::parse(text).at("n_layer") == 12);
}

TEST_CASE("engine: a model of a library, or of a file, is Python", "[engine][cli]") {
  const test::TempDir folder;
  const std::string file = folder / "net.py";
  test::write_file(file, "");
  for (const std::string& named : {std::string("timm:resnet50"), file + ":make"}) {
    CAPTURE(named);
    TrainingPlan plan;
    plan.model = python_model(named);
    CHECK(names_python_model(named));
    CHECK(engine_request(plan).at("model").at("python").as_string() == std::string_view(named));
    CHECK(names_file(plan.model.config) == (named != "timm:resnet50"));
    const auto result = run_line("simulate --model " + named + " --python " + kNoPython);
    CHECK(result.code == ExitCode::usage);
    CHECK_THAT(result.err, Contains("only --engine torch runs") && Contains(kNoPython));
  }
  CHECK_FALSE(names_python_model("net.py"));
  CHECK_FALSE(names_python_model("timm:"));
  CHECK_FALSE(names_python_model("keras:resnet50"));
  CHECK_THAT(run_line("simulate --model " + file + "x.py:make").err, Contains("no such file"));
}

TEST_CASE("engine: categories are taken out of the stacks, modules stay", "[engine]") {
  RequestTrace trace;
  const auto frame = [&](const char* file, const char* function) {
    return trace.tables.stacks.intern_frame(
        {trace.tables.strings.intern(file), trace.tables.strings.intern(function), 0});
  };
  const std::vector frames{frame("module", "model.layers.0"), frame("category", "gradient"),
                           frame("train.py", "<module>")};
  const StackId stack = trace.tables.stacks.intern_stack(frames);
  trace.events.push_back({.value = 512, .allocation = AllocationId{0U}, .stack = stack});
  trace.events.push_back({.value = 512, .allocation = AllocationId{1U}});
  trace.allocation_count = 2;
  take_attributes(trace);
  CHECK(trace.events[0].category == Category::gradient);
  CHECK(trace.events[1].category == Category::unknown);
  const auto left = trace.tables.stacks.stack(trace.events[0].stack);
  CHECK(std::vector(left.begin(), left.end()) == std::vector{frames[0], frames[2]});
}
