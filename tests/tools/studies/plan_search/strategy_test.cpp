// What `plan` tries, in which order, and what it leaves out.
#include <sched.h>
#include <set>
#include <string>
#include <utility>

#include <catch2/catch.hpp>

#include "tests/support/recorded_releases.hpp"
#include "tools/studies/plan_search/job_division.hpp"
#include "tools/studies/plan_search/least_memory.hpp"
#include "tools/studies/plan_search/memory_trial.hpp"
#include "tools/studies/plan_search/overlap_buffers.hpp"
#include "tools/studies/plan_search/row_reasons.hpp"
#include "tools/studies/plan_search/strategy_search.hpp"
#include "tools/studies/plan_search/training_kind.hpp"
#include "workloads/plan/catalog/presets.hpp"
#include "workloads/plan/rules/plan_problems.hpp"
#include "workloads/plan/training_plan.hpp"

using namespace highwater;
using Catch::Contains;

namespace {

TrainingPlan base(std::string_view model) {
  TrainingPlan plan;
  plan.versions = test::kRecordedReleases;
  plan.model = model_preset(model);
  plan.precision = Precision::bf16;
  plan.seq = {256};
  plan.gpu = *find_gpu("a100-80");
  return plan;
}

std::size_t kind(std::string_view word) {
  return find_training_kind(word).value();
}

Candidates candidates(const TrainingPlan& plan, int gpus,
                      std::size_t most_given_up = kind("lora")) {
  return candidates_for(plan,
                        {.gpus = gpus, .global_batch = 8 * gpus, .most_given_up = most_given_up});
}

StrategySearch search(const TrainingPlan& plan, int gpus, Bytes device,
                      SearchOptions options = {}) {
  options.global_batch = options.global_batch.value_or(8 * gpus);
  return search_strategies(
      {.run = {.plan = plan}, .device = device, .gpus = gpus, .options = std::move(options)});
}

using Words = std::set<std::string>;

/// Words of --allow.
Words kinds_of(const StrategySearch& found) {
  Words kinds;
  for (const StrategyResult& each : found.results) {
    kinds.emplace(training_kinds()[each.kind].word);
  }
  return kinds;
}

/// This thread, and those that it starts, have one core for a scope.
class OneCore {
 public:
  OneCore() {
    sched_getaffinity(0, sizeof before_, &before_);
    cpu_set_t one;
    CPU_ZERO(&one);
    std::size_t core = 0;
    while (core + 1 < static_cast<std::size_t>(CPU_SETSIZE) && !CPU_ISSET(core, &before_)) {
      ++core;
    }
    CPU_SET(core, &one);
    sched_setaffinity(0, sizeof one, &one);
  }

  OneCore(const OneCore&) = delete;
  OneCore& operator=(const OneCore&) = delete;

  ~OneCore() { sched_setaffinity(0, sizeof before_, &before_); }

 private:
  cpu_set_t before_{};
};

constexpr Bytes gib(std::uint64_t number) {
  return Bytes{number << 30U};
}

}  // namespace

TEST_CASE("strategies: every candidate uses all GPUs and can be simulated", "[cli][plan]") {
  for (const int gpus : {1, 2, 6, 8}) {
    const Candidates found = candidates(base("llama-160m"), gpus);
    CHECK_FALSE(found.runnable.empty());
    for (const Candidate& candidate : found.runnable) {
      const Parallelism& p = candidate.plan.parallel;
      CAPTURE(gpus, std::string(candidate.strategy->name), p.dp, p.tp, p.pp, p.cp);
      CHECK(p.gpus() == gpus);
      CHECK(p.tp <= kRanksOfMachine);
      for (const Variation& each : candidate.variations) {
        const TrainingPlan plan = varied(candidate, each);
        CAPTURE(each.batch, each.grad_accum, each.chunks);
        CHECK(plan_problems(plan).empty());
        CHECK(generator_gaps(plan).empty());
      }
    }
  }
}

TEST_CASE("strategies: a step has the sequences that were asked for", "[cli][plan]") {
  for (const Candidate& candidate : candidates(base("llama-160m"), 4).runnable) {
    for (const Variation& each : candidate.variations) {
      const std::int64_t sequences = each.batch * each.grad_accum * candidate.plan.parallel.dp;
      CAPTURE(std::string(candidate.strategy->name));
      CHECK((sequences == 32 || candidate.strategy->traits.takes_one_micro_batch));
    }
  }
}

TEST_CASE("strategies: a step that cannot be shared is said", "[cli][plan]") {
  const Candidates found =
      candidates_for(base("llama-160m"), {.gpus = 4, .global_batch = 6, .most_given_up = 0});
  const auto says = [](const std::string& text) {
    return text.find("6 sequences of a step cannot be divided") != std::string::npos;
  };
  CHECK(std::ranges::any_of(found.left_out, says));
}

TEST_CASE("strategies: fp32 states unless another kind of training is allowed", "[cli][plan]") {
  for (const Candidate& candidate : candidates(base("llama-160m"), 4, 0).runnable) {
    const bool has_engine = candidate.strategy->states == WideStates::engine;
    CAPTURE(std::string(candidate.strategy->name));
    CHECK((has_engine || model_dtype(candidate.plan.precision) == DType::fp32));
    CHECK(candidate.kind == 0);
  }
}

TEST_CASE("strategies: HSDP copies the model for each of several machines", "[cli][plan]") {
  const auto copies = [](int gpus) {
    std::set<int> replicas;
    for (const Candidate& candidate : candidates(base("llama-160m"), gpus, 0).runnable) {
      const Parallelism& p = candidate.plan.parallel;
      if (p.fsdp.replicas > 1) {
        CHECK(p.dp / p.fsdp.replicas == kRanksOfMachine);
        replicas.insert(p.fsdp.replicas);
      }
    }
    return replicas;
  };
  CHECK(copies(8).empty());
  CHECK(copies(12).empty());
  CHECK(copies(16) == std::set{2});
  CHECK(copies(32) == std::set{4});
}

TEST_CASE("strategies: experts are spread over divisors of their number", "[cli][plan]") {
  std::set<int> sizes;
  for (const Candidate& candidate : candidates(base("mixtral-small"), 4, 0).runnable) {
    sizes.insert(candidate.plan.parallel.ep);
  }
  CHECK(sizes == std::set{1, 2, 4});
}

TEST_CASE("strategies: a reason is given once, with the strategies that it keeps out",
          "[cli][plan]") {
  TrainingPlan bloom = base("bloom-560m");
  bloom.attention = Attention::eager;
  const Candidates found = candidates(bloom, 4, 0);
  CHECK_FALSE(found.runnable.empty());
  std::set<std::string> reasons;
  for (const std::string& sentence : found.left_out) {
    reasons.insert(sentence.substr(sentence.find(": ")));
  }
  CHECK(reasons.size() == found.left_out.size());
}

TEST_CASE("strategies: sizes that are given are the only ones", "[cli][plan]") {
  const TrainingPlan plan = base("llama-160m");
  const auto with = [&](const OptionWords& chosen, PipelineRule rule = PipelineRule::any) {
    return layouts(plan, 32, {.chosen = chosen}, rule);
  };
  const std::vector<Layout> all = layouts(plan, 32);
  const std::vector<Layout> some = with({{"tp", "4"}, {"cp", "2"}});
  CHECK(some.size() == static_cast<std::size_t>(std::ranges::count_if(
                           all, [](const Layout& each) { return each.tp == 4 && each.cp == 2; })));
  CHECK_FALSE(some.empty());
  CHECK(with({{"tp", "16"}}).front().tp == 16);  // beyond what is tried by itself
  CHECK(with({{"dp", "3"}}).empty());
  for (const Layout& each : with({}, PipelineRule::beside_full_machines)) {
    CHECK((each.pp == 1 || each.tp == 8));
  }
}

TEST_CASE("strategies: what is given of a variation is kept", "[cli][plan]") {
  CandidateChoice choice{.gpus = 4, .global_batch = 32};
  choice.fixed.chosen = {{"pp", "2"}, {"pp-chunks", "2"}, {"batch", "4"}};
  const Candidates found = candidates_for(base("llama-160m"), choice);
  CHECK_FALSE(found.runnable.empty());
  for (const Candidate& candidate : found.runnable) {
    CHECK(candidate.plan.parallel.pp == 2);
    for (const Variation& each : candidate.variations) {
      CHECK(each.chunks == 2);
      CHECK(each.batch == 4);
    }
  }
}

TEST_CASE("strategies: settings hold where a program has them", "[cli][plan]") {
  CandidateChoice choice{.gpus = 4, .global_batch = 32};
  choice.fixed.settings = {{"fp32-grads", "false"}};
  std::set<bool> seen;
  for (const Candidate& candidate : candidates_for(base("llama-160m"), choice).runnable) {
    const bool has_it = candidate.plan.model_code == ModelCode::megatron;
    CHECK(candidate.plan.parallel.megatron.fp32_grads != has_it);
    seen.insert(has_it);
  }
  CHECK(seen.size() == 2);
}

// Megatron-LM's buffers of [sequence * batch / cp, hidden] in 16 bits, ten of them; llama-160m has
// 768.
TEST_CASE("strategies: buffers of overlapped sums", "[cli][plan]") {
  TrainingPlan plan = base("llama-160m");
  plan.model_code = ModelCode::megatron;
  plan.batch = 2;
  plan.parallel.tp = 2;
  plan.parallel.cp = 2;
  plan.parallel.sequence_parallel = true;
  const TimeAssumptions overlaps{.tensor_sums = TensorSums::beside_products};
  CHECK(overlap_buffers(plan, overlaps) == Bytes{std::uint64_t{10} * 256 * 768 * 2});
  CHECK(overlap_buffers(plan, {}) == Bytes{});
  plan.parallel.sequence_parallel = false;
  CHECK(overlap_buffers(plan, overlaps) == Bytes{});
}

TEST_CASE("strategies: those that fit are in order of time, within the margin", "[cli][plan]") {
  const Bytes device = gib(4);
  const StrategySearch found = search(base("llama-160m"), 2, device, {.margin = 0.1, .rows = 5});
  REQUIRE(found.results.size() == 5);
  double speed = found.results.front().time.sequences_per_second();
  for (const StrategyResult& result : found.results) {
    CHECK(result.fits);
    CHECK(static_cast<double>(result.peak.count()) <=
          0.9 * static_cast<double>(result.capacity.count()));
    CHECK(result.time.sequences_per_second() <= speed);
    speed = result.time.sequences_per_second();
  }
}

// The same as all candidates by themselves: whatever is pruned neither fits nor would be listed.
TEST_CASE("strategies: pruning loses no row", "[cli][plan]") {
  const TrainingPlan plan = base("llama-160m");
  const Bytes device = gib(3);
  const SearchOptions options{.global_batch = 8, .only = "FSDP", .margin = 0, .rows = 100};
  const StrategySearch found = search(plan, 2, device, options);
  std::set<std::string> listed;
  for (const StrategyResult& result : found.results) {
    listed.emplace(result.strategy->name);
    listed.insert(result.also.begin(), result.also.end());
  }
  const Candidates all = candidates_for(plan, {.gpus = 2, .global_batch = 8, .only = "FSDP"});
  std::set<std::string> fitting;
  for (const Candidate& candidate : all.runnable) {
    const Parallelism& p = candidate.plan.parallel;
    if (p.offload != Offload::none || p.cp > 1) {
      continue;  // needless beside the same without
    }
    for (const Variation& each : candidate.variations) {
      const MemoryTrial trial = try_part(varied(candidate, each), {.capacity = gib(2)}, gib(2));
      if (trial.fits) {
        fitting.emplace(candidate.strategy->name);
      }
    }
  }
  CHECK(std::ranges::includes(listed, fitting));
}

TEST_CASE("strategies: where nothing fits, what needs least is listed with its need",
          "[cli][plan]") {
  const StrategySearch found =
      search(base("llama-160m"), 1, gib(1), {.only = "one GPU", .most_given_up = 0});
  REQUIRE(found.results.size() == 1);
  CHECK_FALSE(found.results.front().fits);
  CHECK(found.results.front().peak > gib(1));
  CHECK(found.results.front().plan.checkpoint.kind == CheckpointKind::full);
}

TEST_CASE(
    "strategies: where full training does not fit, all lesser kinds are listed, or what is allowed",
    "[cli][plan]") {
  // 160 M parameters: 16 bytes each take 2.4 GiB, with moments in 8 bits 1.5, 8 bytes take 1.2,
  // frozen ones of two bytes 0.3.
  const TrainingPlan plan = base("llama-160m");
  const auto one_gpu = [&](Bytes device, std::optional<std::size_t> most = std::nullopt) {
    return search(plan, 1, device, {.only = "one GPU", .most_given_up = most});
  };
  CHECK(kinds_of(one_gpu(gib(4))) == Words{"full"});
  CHECK(kinds_of(one_gpu(gib(2))) == Words{"16-bit", "lora", "8-bit", "4-bit"});
  CHECK(kinds_of(one_gpu(gib(4), kind("lora"))) ==
        Words{"full", "8-bit-moments", "16-bit", "lora"});
  const StrategySearch all = one_gpu(gib(4), kind("lora"));
  CHECK(std::ranges::is_sorted(all.results, {}, &StrategyResult::kind));
  CHECK_THAT(why_not_higher(all.results.back(), all.results.front()),
             Contains("only adapters are trained"));
}

// Frozen parameters take 0.6 GiB in fp32 and 0.3 in 16 bits.
TEST_CASE("strategies: adapters of a plan in fp32 stand beside weights in 32, 16, 8 and 4 bits",
          "[cli][plan]") {
  TrainingPlan plan = base("llama-160m");
  plan.precision = Precision::fp32;
  CHECK(kinds_of(search(plan, 1, gib(2), {.only = "one GPU"})) ==
        Words{"lora", "lora-16-bit", "8-bit", "4-bit"});
}

// ZeRO-Offload (arXiv 2101.06840) is for one GPU as well: what nobody shares, the host can hold.
// States of 16 bytes take 2.4 GiB of the 1.9 beside the context; 2 bytes of parameters, as many of
// gradients and DeepSpeed's buckets fewer.
TEST_CASE("strategies: one GPU keeps states on the host where they do not fit",
          "[cli][plan][long]") {
  const StrategySearch found = search(base("llama-160m"), 1, Bytes{2500ULL << 20U});
  REQUIRE(found.found());
  const StrategyResult& first = found.results.front();
  CHECK(std::string(first.strategy->name).starts_with("DeepSpeed ZeRO-"));
  CHECK(first.kind == 0);
  CHECK(first.plan.parallel.offload != Offload::none);
  CHECK(found.results.back().kind > 0);  // and what gives up more without the host
  CHECK(found.results.back().plan.parallel.offload == Offload::none);
}

// A sentence, whatever is given: "has all that is given:; leave out one" named nothing.
TEST_CASE("strategies: what no division has is said in a sentence", "[cli][plan]") {
  const auto reasons = [](int gpus, std::string only, FixedOptions fixed = {}) {
    return candidates_for(base("llama-160m"),
                          {.gpus = gpus, .only = std::move(only), .fixed = fixed})
        .left_out;
  };
  CHECK(reasons(1, "DDP") ==
        std::vector<std::string>{"no row for 1 GPU has --only DDP; leave it out, or give another "
                                 "number of GPUs (--gpus)"});
  CHECK(reasons(2, "DDP", {.chosen = {{"tp", "2"}}}).front() ==
        "no row for 2 GPUs has --only DDP and --tp 2 together; leave out one of these, or give "
        "another number of GPUs (--gpus)");
}

// transformers switches checkpointing on for all layers or for none
// (gradient_checkpointing_enable).
TEST_CASE("strategies: programs around transformers checkpoint all layers or none", "[cli][plan]") {
  for (const Candidate& candidate : candidates(base("llama-160m"), 4).runnable) {
    const bool is_deepspeed = candidate.plan.framework == Framework::deepspeed;
    for (const Variation& each : candidate.variations) {
      CHECK((!is_deepspeed || each.checkpoint.kind == CheckpointKind::none ||
             each.checkpoint.kind == CheckpointKind::full));
    }
  }
}

TEST_CASE("strategies: a fused loss is tried behind all else", "[cli][plan]") {
  bool has_any = false;
  for (const Candidate& candidate : candidates(base("llama-160m"), 1).runnable) {
    CHECK(std::ranges::is_sorted(candidate.variations, {}, [](const Variation& each) {
      return each.loss == LossKind::fused;
    }));
    has_any = has_any || candidate.variations.back().loss == LossKind::fused;
  }
  CHECK(has_any);
}

// Frozen weights are not rounded at every step, so that DDP keeps them in 16 bits.
TEST_CASE("strategies: beside adapters that are asked for, weights are in 16 bits", "[cli][plan]") {
  TrainingPlan plan = base("llama-160m");
  plan.lora.rank = 16;
  const Candidates found = candidates_for(plan, {.gpus = 4, .only = "DDP"});
  REQUIRE(found.runnable.size() == 1);
  CHECK(found.runnable.front().plan.precision == Precision::bf16);
}

TEST_CASE("strategies: without data-parallel ranks a distributed optimizer divides nothing",
          "[cli][plan]") {
  Candidate plain;
  plain.plan.parallel.tp = 4;
  Candidate divided = plain;
  divided.plan.parallel.dp_kind = DataParallel::zero1;
  CHECK(division_of(plain) == division_of(divided));
  plain.plan.parallel.dp = divided.plan.parallel.dp = 2;
  CHECK_FALSE(division_of(plain) == division_of(divided));
}

TEST_CASE("strategies: programs that divide a job alike are one row", "[cli][plan]") {
  const StrategySearch found = search(base("llama-160m"), 2, gib(16), {.only = "FSDP", .rows = 20});
  const auto whole = [](const StrategyResult& row) {
    return row.plan.parallel.dp == 2 && row.plan.parallel.offload == Offload::none;
  };
  CHECK(std::ranges::count_if(found.results, whole) == 1);
  CHECK_FALSE(std::ranges::find_if(found.results, whole)->also.empty());
}

TEST_CASE("strategies: what keeps whole what a row of the same program shards is needless",
          "[cli][plan]") {
  Candidate whole;
  whole.plan.framework = Framework::megatron;
  whole.plan.parallel.dp = 4;
  StrategyResult row;
  row.plan = whole.plan;
  row.plan.parallel.dp_kind = DataParallel::zero1;
  CHECK(is_needless_beside(whole, row));
  SECTION("not the other way round") {
    std::swap(whole.plan.parallel.dp_kind, row.plan.parallel.dp_kind);
    CHECK_FALSE(is_needless_beside(whole, row));
  }
  SECTION("not beside other sizes") {
    row.plan.parallel.tp = 2;
    CHECK_FALSE(is_needless_beside(whole, row));
  }
  SECTION("not beside another program's") {
    row.plan.framework = Framework::nemo;
    CHECK_FALSE(is_needless_beside(whole, row));
  }
}

TEST_CASE("least memory: no simulation goes below it", "[cli][plan][long]") {
  for (const char* model : {"llama-160m", "gpt2", "mixtral-small", "t5-small"}) {
    TrainingPlan plan = base(model);
    plan.attention = supports_sdpa(plan) ? Attention::sdpa : Attention::eager;
    for (const Candidate& candidate : candidates(plan, 4).runnable) {
      const auto& variations = candidate.variations;
      for (const std::size_t i : {variations.size() / 3, variations.size() / 2}) {
        const Variation& each = variations[i];
        const TrainingPlan tried = varied(candidate, each);
        const MemoryTrial trial = try_part(tried, {}, Bytes{UINT64_MAX});
        const Parallelism& p = tried.parallel;
        CAPTURE(model, std::string(candidate.strategy->name), p.dp, p.tp, p.pp, p.cp, each.batch,
                each.grad_accum, each.chunks, static_cast<int>(each.checkpoint.kind));
        CHECK(least_memory(tried) <= trial.peak);
      }
    }
  }
}

// Weights and activations of a size that the rest of a step does not hide.
TEST_CASE("least memory: of large models it is below the peak, and not far", "[cli][plan]") {
  struct Job {
    const char* only;
    const char* model;
    int gpus;
    double share;  ///< of the peak that the bound comes to at least, on average
  };

  for (const Job& job : {Job{"Megatron, distributed", "llama-3-8b", 8, 0.8},
                         Job{"FSDP2 + tensor", "llama-3-8b", 8, 0.4},
                         Job{"FSDP2 + pipeline", "llama-3-8b", 8, 0.3}}) {
    TrainingPlan plan = base(job.model);
    plan.attention = Attention::sdpa;
    plan.seq = {8192};
    double shares = 0;
    const Candidates found = candidates_for(
        plan, {.gpus = job.gpus, .global_batch = 64, .only = job.only, .most_given_up = 0});
    for (const Candidate& candidate : found.runnable) {
      const Variation& each = candidate.variations[candidate.variations.size() / 4];
      const TrainingPlan tried = varied(candidate, each);
      const Bytes peak = try_part(tried, {}, Bytes{UINT64_MAX}).peak;
      const Parallelism& p = tried.parallel;
      CAPTURE(job.only, p.dp, p.tp, p.pp, p.cp, each.batch, each.grad_accum, each.chunks,
              static_cast<int>(each.checkpoint.kind), least_memory(tried).count(), peak.count());
      CHECK(least_memory(tried) <= peak);
      shares +=
          static_cast<double>(least_memory(tried).count()) / static_cast<double>(peak.count());
    }
    CAPTURE(job.only);
    CHECK(shares / static_cast<double>(found.runnable.size()) > job.share);
  }
}

// 70 billion weights take 140 GB in 16 bits and 35 GB in 4.
TEST_CASE("strategies: weights in 4 bits fit where those in 16 do not", "[cli][plan][long]") {
  TrainingPlan plan = base("llama-3-70b");
  plan.attention = Attention::sdpa;
  const StrategySearch found =
      search(plan, 1, gib(80), {.only = "one GPU", .most_given_up = kind("4-bit")});
  REQUIRE(found.found());
  CHECK(kinds_of(found) == Words{"4-bit"});
}

// Where ranks are alike and nothing grows.
TEST_CASE("memory trial: a part of the step has the peak of the whole", "[cli][plan][long]") {
  TrainingPlan plan = base("llama-160m");
  for (const char* only : {"FSDP2", "DDP", "Megatron", "ZeRO-3"}) {
    for (const Candidate& candidate :
         candidates_for(plan, {.gpus = 4, .global_batch = 64, .only = only}).runnable) {
      const auto last =
          std::ranges::find(candidate.variations.rbegin(), candidate.variations.rend(),
                            candidate.plan.loss.kind, &Variation::loss);
      REQUIRE(last != candidate.variations.rend());
      const TrainingPlan tried = varied(candidate, *last);
      const Bytes some = try_part(tried, {}, Bytes{UINT64_MAX}).peak;
      const Bytes all = try_whole(tried, {}, Bytes{UINT64_MAX}).peak;
      const Parallelism& p = tried.parallel;
      CAPTURE(std::string(candidate.strategy->name), p.dp, p.tp, p.pp, p.cp, tried.grad_accum);
      CHECK(some == all);
    }
  }
}

// A blocks' sum above the limit ends the run before all of it is there.
TEST_CASE("memory trial: a plan fits exactly where its peak is within the limit",
          "[cli][plan][long]") {
  TrainingPlan plan = base("llama-160m");
  for (const char* only : {"FSDP2", "Megatron, distributed"}) {
    for (const Candidate& candidate :
         candidates_for(plan, {.gpus = 4, .global_batch = 64, .only = only}).runnable) {
      const TrainingPlan tried = varied(candidate, candidate.variations.back());
      const Bytes peak = try_whole(tried, {}, Bytes{UINT64_MAX}).peak;
      CAPTURE(std::string(candidate.strategy->name), peak.count());
      CHECK(try_whole(tried, {}, peak).fits);
      CHECK_FALSE(try_whole(tried, {}, peak - Bytes{1}).fits);
      CHECK_FALSE(try_whole(tried, {}, Bytes{peak.count() / 4}).fits);
    }
  }
}

TEST_CASE("strategies: what is found does not depend on the number of cores", "[cli][plan]") {
  const auto found = [] { return search(base("llama-160m"), 4, gib(4), {.rows = 6}); };
  const StrategySearch many = found();
  const StrategySearch one = [&] {
    const OneCore core;
    return found();
  }();
  CHECK(one.simulated == many.simulated);
  CHECK(one.left_out == many.left_out);
  REQUIRE(one.results.size() == many.results.size());
  for (std::size_t i = 0; i < one.results.size(); ++i) {
    CHECK(one.results[i].strategy == many.results[i].strategy);
    CHECK(one.results[i].peak == many.results[i].peak);
    CHECK(one.results[i].also == many.results[i].also);
    CHECK(one.results[i].plan.batch == many.results[i].plan.batch);
  }
}
