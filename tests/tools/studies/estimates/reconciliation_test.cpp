// Reconciling a closed form with a simulated peak is exact: whatever the plan, the lines sum to
// the form on one side and to the simulated process on the other.
#include "tools/studies/estimates/reconciliation.hpp"

#include <array>
#include <cmath>

#include <catch2/catch.hpp>

#include "tests/support/dice.hpp"
#include "tests/support/recorded_releases.hpp"
#include "tools/studies/estimates/compared_estimates.hpp"
#include "tools/studies/runs/memory_request.hpp"
#include "tools/studies/runs/planned_run.hpp"
#include "tools/studies/runs/simulate_run.hpp"
#include "tools/text/site.hpp"
#include "workloads/plan/catalog/presets.hpp"
#include "workloads/plan/rules/plan_problems.hpp"
#include "workloads/plan/training_plan.hpp"

using namespace highwater;
using highwater::test::Dice;

namespace {

std::int64_t signed_count(Bytes bytes) {
  return static_cast<std::int64_t>(bytes.count());
}

void check_parts(const Simulation& simulation) {
  const ProcessBreakdown& parts = simulation.parts;
  const ReplayResult& result = simulation.replay.result;
  CHECK(parts.total() == result.peak.reserved + simulation.outside.context);
  const PartSet in_blocks{MemoryPart::rounding, MemoryPart::split_tails};
  Bytes tensors;
  for (std::size_t i = 0; i <= static_cast<std::size_t>(MemoryPart::communication); ++i) {
    tensors += parts.bytes[i];
  }
  CHECK(tensors + parts.of(in_blocks) == result.peak.allocated);
  for (std::size_t i = 0; i < kMemoryPartCount; ++i) {
    Bytes sum;
    for (const Holder<std::string>& detail : parts.details[i]) {
      sum += detail.held;
    }
    CHECK(sum == parts.bytes[i]);
  }
}

void check_bridge(const ComparedEstimate& compared, const Simulation& simulation) {
  INFO(compared.outcome.formula->name);
  const Reconciliation& reconciliation = compared.reconciliation;
  std::int64_t difference = 0;
  std::int64_t details = 0;
  for (const ReconciliationLine& line : reconciliation.lines) {
    difference += line.difference();
    for (const Holder<std::string>& detail : line.details) {
      details += signed_count(detail.held);
    }
  }
  CHECK(reconciliation.estimated == std::llround(compared.bytes()));
  CHECK(reconciliation.simulated == signed_count(simulation.parts.total()));
  CHECK(reconciliation.difference() == difference);
  CHECK(details == reconciliation.simulated);
}

void check_all(const Simulation& simulation) {
  check_parts(simulation);
  const EstimateComparison comparison = compare_estimates(simulation);
  CHECK_FALSE(comparison.compared.empty());  // Accelerate speaks of loading, too
  for (const ComparedEstimate& compared : comparison.compared) {
    check_bridge(compared, simulation);
  }
  CHECK(comparison.compared.size() + comparison.refused.size() == formulas().size());
}

TrainingPlan random_plan(Dice& dice) {
  TrainingPlan plan;
  plan.versions = test::kRecordedReleases;
  constexpr std::array<std::string_view, 5> kModels{"gpt2", "opt-125m", "llama-160m", "t5-small",
                                                    "bloom-560m"};
  plan.model = model_preset(kModels[dice.below(kModels.size())]);
  plan.batch = 1 + static_cast<std::int64_t>(dice.below(3));
  plan.seq = {16 + static_cast<std::int64_t>(dice.below(100))};
  plan.steps = 2;
  plan.grad_accum = 1 + static_cast<int>(dice.below(2));
  plan.precision = static_cast<Precision>(dice.below(5));
  plan.attention = dice.one_in(2) ? Attention::eager : Attention::sdpa;
  plan.checkpoint.kind = dice.one_in(2) ? CheckpointKind::none : CheckpointKind::full;
  plan.optimizer.kind = static_cast<OptimizerKind>(dice.below(7));
  plan.optimizer.impl = dice.one_in(2) ? OptimizerImpl::standard : OptimizerImpl::loop;
  plan.training = !dice.one_in(8);
  return plan;
}

}  // namespace

TEST_CASE("reconciliation: exact for every family and three batch sizes",
          "[cli][estimates][reconciliation][long]") {
  const std::vector<std::string_view> models{
      "gpt2",          "opt-125m", "bloom-560m",        "gpt-neo-125M", "codegen-350M",
      "gptj-tiny",     "biogpt",   "tiny_starcoder_py", "llama-160m",   "qwen2-0.5b",
      "mixtral-small", "t5-small", "plain-160m"};
  for (const std::string_view model : models) {
    for (const std::int64_t batch : {1, 2, 5}) {
      PlannedRun run;
      run.plan.model = model_preset(model);
      run.plan.batch = batch;
      run.plan.seq = {64};
      run.plan.steps = 2;
      run.plan.attention = supports_sdpa(run.plan) ? Attention::sdpa : Attention::eager;
      CAPTURE(model, batch);
      check_all(simulate(run, {}));
    }
  }
}

TEST_CASE("reconciliation: exact for random plans under random settings",
          "[cli][estimates][reconciliation][property][long]") {
  Dice dice(4);
  for (int i = 0; i < 60; ++i) {
    PlannedRun run{random_plan(dice)};
    if (!plan_problems(run.plan).empty()) {
      continue;
    }
    MemoryRequest memory;
    constexpr std::array<const char*, 4> kSettings{
        "", "expandable_segments:True", "max_split_size_mb:32",
        "roundup_power2_divisions:4,garbage_collection_threshold:0.7"};
    memory.alloc_conf = kSettings[dice.below(kSettings.size())];
    if (dice.one_in(3)) {
      memory.capacity = Bytes{(600 + dice.below(3000)) << 20U};
    }
    CAPTURE(i, run.plan.model.name, *memory.alloc_conf);
    check_all(simulate(run, memory));
  }
}

TEST_CASE("reconciliation: terms that cover a part in common are one line",
          "[cli][estimates][reconciliation]") {
  ProcessBreakdown parts;
  const auto set = [&](MemoryPart part, std::uint64_t bytes) {
    parts.bytes[static_cast<std::size_t>(part)] = Bytes{bytes};
    parts.details[static_cast<std::size_t>(part)] = {{"x", Bytes{bytes}, 1}};
  };
  set(MemoryPart::parameters, 100);
  set(MemoryPart::gradients, 70);
  set(MemoryPart::optimizer_states, 10);
  set(MemoryPart::outside, 5);
  const Estimate estimate{{
      {"weights", "", 60, {MemoryPart::parameters}},
      {"gradients and states", "", 30.5, {MemoryPart::gradients, MemoryPart::optimizer_states}},
      {"16-bit", "", 20.5, {MemoryPart::parameters, MemoryPart::gradients}},
      {"margin", "", 1, {}},
  }};
  const Reconciliation result = reconcile(estimate, parts);
  REQUIRE(result.lines.size() == 3);
  CHECK(result.lines[0].name == "parameters + gradients + optimizer states");
  CHECK(result.lines[0].terms ==
        std::vector<std::string>{"weights", "gradients and states", "16-bit"});
  CHECK(result.lines[0].estimated == 111);
  CHECK(result.lines[0].simulated == 180);
  CHECK(result.lines[1].name == "margin");
  CHECK(result.lines[1].difference() == -1);
  CHECK(result.lines[2].name == "outside the allocator");
  CHECK(result.lines[2].terms.empty());
  CHECK(result.estimated == 112);
  CHECK(result.simulated == 185);
}

TEST_CASE("peak parts: a tied head's gradients and autocast's copies do not count as logits",
          "[cli][estimates]") {
  PlannedRun run;
  run.plan.model = model_preset("gpt2");
  run.plan.seq = {16};
  run.plan.precision = Precision::amp_bf16;
  const Simulation simulation = simulate(run, {});
  const auto& tables = simulation.trace->tables;
  Bytes copies;
  StringId phase;
  for (const Event& event : simulation.trace->events) {
    phase = event.kind == EventKind::phase ? event.text() : phase;
    if (event.kind != EventKind::alloc) {
      continue;
    }
    const LiveBlock block{event.allocation, event.stack, event.bytes(), event.category, phase};
    const MemoryPart part = part_of(block, tables);
    const Site site = site_of(tables, event.stack);
    copies += part == MemoryPart::weight_copies ? event.bytes() : Bytes{};
    if (site.module == "lm_head") {
      const bool is_result = site.autograd.empty() && site.op == "mm";
      CHECK((part == MemoryPart::logits) == (is_result && event.category == Category::activation));
    }
    CHECK_FALSE((site.autograd == "AccumulateGrad" && part == MemoryPart::logits));
  }
  // Every matrix and bias of the linear layers in bf16, the tied head among them, in three steps.
  const std::uint64_t linear = 50257 * 768 + 12 * (12 * 768 * 768 + 9 * 768);
  CHECK(copies == Bytes{3 * 2 * linear});
}

TEST_CASE("peak parts: the head of every family makes logits", "[cli][estimates]") {
  for (const std::string_view model : {"gpt2", "biogpt", "plain-160m", "t5-small", "llama-160m"}) {
    PlannedRun run;
    run.plan.model = model_preset(model);
    run.plan.seq = {16};
    run.plan.training = false;
    run.plan.attention = supports_sdpa(run.plan) ? Attention::sdpa : Attention::eager;
    CAPTURE(model);
    const auto shape = shape_of(run.plan.model);
    const Simulation simulation = simulate(run, {});
    const std::array sets{PartSet{MemoryPart::logits}};
    const auto highest = highest_of(*simulation.trace, simulation.trace->events.size(), sets);
    // The head's result and the loss's softmax of it, whether or not the loss shifts the labels.
    CHECK(highest[0] >= Bytes{static_cast<std::uint64_t>(2 * 15 * shape.vocab * 4)});
  }
}

TEST_CASE("peak parts: free memory of the main pool is slack, of others isolation",
          "[cli][estimates]") {
  // One large block lives, one of the same pool was freed; a small one keeps a small segment.
  RequestTrace trace;
  trace.stream_handles = {0};
  const auto alloc = [&](std::uint64_t bytes) {
    trace.events.push_back({.value = bytes,
                            .allocation = AllocationId(trace.allocation_count++),
                            .stream = StreamId(0U),
                            .kind = EventKind::alloc});
  };
  alloc(30ULL << 20U);
  alloc(12ULL << 20U);
  trace.events.push_back({.allocation = AllocationId(1U), .kind = EventKind::free});
  alloc(1000);
  ReplayOptions options;
  options.version = &nearest_preset("2.6");
  const ProcessBreakdown parts = process_breakdown(
      trace, options,
      {.event = 3, .reserved = Bytes{(30 + 12 + 2 + 8) << 20U}, .outside = Bytes{7}});
  CHECK(parts.of(MemoryPart::segment_slack) == Bytes{12ULL << 20U});
  CHECK(parts.of(MemoryPart::isolation) == Bytes{(2ULL << 20U) - 1024});
  CHECK(parts.of(MemoryPart::rounding) == Bytes{24});
  CHECK(parts.of(MemoryPart::later_growth) == Bytes{8ULL << 20U});
  CHECK(parts.of(MemoryPart::outside) == Bytes{7});
}

TEST_CASE("estimates: what a form covers outside of tensors counts, too", "[cli][estimates]") {
  PlannedRun run;
  run.plan.model = model_preset("gpt2");
  run.plan.seq = {16};
  const Simulation simulation = simulate(run, {});
  for (const ComparedEstimate& compared : compare_estimates(simulation).compared) {
    if (compared.outcome.formula->name == "dnnmem") {
      CHECK(compared.covered > simulation.outside.context + Bytes{4ULL * 124439808});
    }
  }
}

TEST_CASE("peak parts: logits and loss are told from other activations", "[cli][estimates]") {
  // fp32 logits of the shape [tokens, vocabulary]: three of them live at the peak of GPT-2.
  PlannedRun run;
  run.plan.model = model_preset("gpt2");
  run.plan.batch = 4;
  run.plan.seq = {256};
  const Simulation simulation = simulate(run, {});
  const std::uint64_t logits = 4ULL * 256 * 50257 * 4;
  CHECK(simulation.peak_place.phase == "backward");
  CHECK(simulation.parts.of(MemoryPart::logits) == Bytes{3 * logits + 4});
  CHECK(simulation.parts.of(MemoryPart::parameters) == Bytes{4ULL * 124439808});
  CHECK(simulation.parts.of(MemoryPart::optimizer_states) == Bytes{8ULL * 124439808});
}
