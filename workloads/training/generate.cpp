// The training loop: what a script that trains with PyTorch does, in order. What a step runs
// between zero_grad and the optimizer is a StepRunner.
#include "workloads/training/generate.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <limits>
#include <memory>
#include <utility>

#include "traces/error.hpp"
#include "workloads/colossalai/tensor_parallel_1d.hpp"
#include "workloads/eager/graph_recorder.hpp"
#include "workloads/megatron/pipeline_stage.hpp"
#include "workloads/megatron/repeated_passes.hpp"
#include "workloads/nn/float8_linear.hpp"
#include "workloads/nn/freeze.hpp"
#include "workloads/nn/lora.hpp"
#include "workloads/nn/quantized/load_quantized.hpp"
#include "workloads/pipelining/pipeline_run.hpp"
#include "workloads/pipelining/spread_model.hpp"
#include "workloads/plan/lora_targets.hpp"
#include "workloads/plan/offload.hpp"
#include "workloads/plan/pipeline/model_split.hpp"
#include "workloads/plan/rules/plan_problems.hpp"
#include "workloads/plan/torchtitan_release.hpp"
#include "workloads/plan/training_plan.hpp"
#include "workloads/strategy/strategy.hpp"
#include "workloads/torchtitan/train_step.hpp"
#include "workloads/torchtune/recipe_step.hpp"
#include "workloads/training/averaged_model.hpp"
#include "workloads/training/batch_loader.hpp"
#include "workloads/training/evaluation_loop.hpp"
#include "workloads/training/micro_batch_loop.hpp"
#include "workloads/training/more_rounds.hpp"
#include "workloads/training/outside_memory.hpp"
#include "workloads/training/parameters.hpp"

namespace highwater {

namespace {

using eager::Place;
using eager::Runtime;

constexpr Bytes kNoLimit{std::numeric_limits<std::uint64_t>::max()};

bool loads_quantized(const TrainingPlan& plan) {
  return is_quantized(plan.quantization) && !builds_quantized(plan);
}

// A quantised model comes to the device weight by weight, from where none has a block.
Place first_place(const TrainingPlan& plan) {
  if (loads_quantized(plan)) {
    return Place::host;
  }
  switch (plan.init) {
    case ModelInit::device:
    case ModelInit::pretrained:
      return Place::cuda;
    case ModelInit::cpu:
    case ModelInit::pretrained_half:
      return Place::host;
    case ModelInit::meta:
      return Place::meta;
  }
  return Place::cuda;
}

bool is_made_on_device(const TrainingPlan& plan) {
  return plan.init == ModelInit::device || plan.init == ModelInit::pretrained;
}

DType first_dtype(const TrainingPlan& plan) {
  return plan.init == ModelInit::pretrained_half ? DType::fp32 : model_dtype(plan.precision);
}

/// What is done with passes that ask for the same again.
enum class RepeatedPassesAre { carried_out, written, left_out };

/// Whether a trace may say in one event what equal blocks ask for that come and go together.
enum class EqualBlocksAre { single, joined };

/// How a plan is run.
struct RunMode {
  Bytes most_live = kNoLimit;
  EqualBlocksAre equal_blocks = EqualBlocksAre::single;
  RepeatedPassesAre passes = RepeatedPassesAre::carried_out;
};

/// A run that is short, and what it repeats to become the plan's.
struct CompactRun {
  GeneratedRun run;
  std::vector<RepeatedRound> rounds;
};

/// Events of other streams complete at once, not after so many kernels or allocations.
bool has_immediate_events(const TrainingPlan& plan) {
  return plan.parallel.event_lag == 0 && plan.parallel.event_queries == 0;
}

/// One run of a plan.
class Training {
 public:
  explicit Training(const TrainingPlan& plan, RunMode mode = {})
      : plan_(plan),
        runtime_(plan.gpu, release_of(plan.versions.torch), release_of(plan.versions.transformers),
                 {.launches = plan.parallel.event_lag, .queries = plan.parallel.event_queries}),
        context_{.runtime = runtime_,
                 .plan = plan,
                 .place = first_place(plan),
                 .dtype = first_dtype(plan),
                 .training = plan.training},
        mode_(mode) {
    runtime_.limit_live(mode.most_live);
    runtime_.room = plan.device_room.value_or(memory_for_allocator(plan.gpu, plan));
    runtime_.cudnn_workspaces = plan.cudnn_workspaces;
    runtime_.repeats_passes = mode.passes != RepeatedPassesAre::carried_out;
    runtime_.joins_equal_blocks =
        mode.equal_blocks == EqualBlocksAre::joined && has_immediate_events(plan);
  }

  GeneratedGraph run_recorded() {
    eager::GraphRecorder recorder(runtime_);
    const eager::Scoped<eager::GraphRecorder*> scope(runtime_.recorder, &recorder);
    RequestTrace trace = run();  // which ends the recording
    return {std::move(trace), recorder.take()};
  }

  GeneratedRun run_with_host() {
    RequestTrace trace = run();
    host_.training = runtime_.host_memory.account();
    return {.trace = std::move(trace),
            .host = std::move(host_),
            .pinned_blocks = runtime_.host_memory.pinned_blocks(),
            .trainable = std::nullopt,
            .buckets = strategy_->bucket_use()};
  }

  CompactRun run_compact() {
    GeneratedRun run = run_with_host();
    return {.run = std::move(run), .rounds = std::move(rounds_)};
  }

  RequestTrace run() {
    set_up();
    for (int step = 0; step < plan_.steps; ++step) {
      train_step(step);
    }
    RequestTrace trace = runtime_.take_trace();
    trace.header.torch = runtime_.torch;
    return trace;
  }

 private:
  void set_up() {
    runtime_.mark_phase("init");
    make_model();
    host_.making = runtime_.host_memory.next_account();
    bring_to_device();
    if (plan_.framework == Framework::colossalai_gemini && plan_.parallel.tp > 1) {
      dist::construct_tied_heads(*model_);
    }
    if (plan_.init == ModelInit::pretrained_half) {
      context_.dtype = model_dtype(plan_.precision);
      nn::convert(*model_, context_.dtype);
    }
    // transformers 4.46 to 5.24, trainer.py _inner_training_loop: accelerator.free_memory().
    if (runs_trainer(plan_.framework) && plan_.training) {
      runtime_.empty_cache();
    }
    strategy_ = make_strategy(*model_, plan_);
    if (plan_.init == ModelInit::meta) {
      model_->init_states();
    }
    if (plan_.ema) {
      average_.emplace(*model_);
    }
    runner_ = make_runner();
    host_.initialising = runtime_.host_memory.next_account();
  }

  void bring_to_device() {
    if (pipelining::is_naive(plan_.parallel)) {
      pipelining::dispatch(*model_);
    } else if (!is_made_on_device(plan_) && !brings_model_to_device(plan_)) {
      nn::move_to_cuda(*model_);
    }
  }

  // Weights of a checkpoint that are quantised come from the pages of its files, one by one.
  void make_model() {
    const bool stays_on_host = !loads_quantized(plan_);
    const eager::Scoped<bool> counts(runtime_.counts_host_memory, stays_on_host);
    if (plan_.init == ModelInit::pretrained) {
      warm_cache();
    }
    model_ = models::build_model(context_);
    if (loads_quantized(plan_)) {
      load_quantized();
    }
    if (plan_.float8) {
      nn::convert_to_float8_training(*model_);
    }
    if (!plan_.frozen.empty()) {
      nn::apply_freeze(*model_);
    }
    if (plan_.lora.rank > 0 && !builds_adapters(plan_)) {
      nn::apply_lora(*model_);
    }
  }

  // transformers 5.24, modeling_utils.py caching_allocator_warmup: one block of all weights, in
  // fp16 and freed at once, of which those that are read next become parts. The whole device but
  // 1.2 GiB at most.
  void warm_cache() {
    constexpr std::int64_t kLeftAlone = 1'288'490'188;
    std::int64_t elements = 0;
    for (const ParameterInfo& parameter : model_parameters(plan_.model)) {
      elements += parameter.elements;
    }
    const std::int64_t most =
        static_cast<std::int64_t>(plan_.gpu.total_memory.count()) - kLeftAlone;
    const std::int64_t bytes = std::min(elements * item_size(context_.dtype), most);
    const eager::Tensor warm = eager::empty(runtime_, {bytes / 2}, DType::fp16);
  }

  /// What a script does before it adds adapters.
  void load_quantized() {
    nn::load_quantized(*model_);
    const bool waits = returns_to_host(plan_) || quantizes_on_host(plan_);
    context_.place = waits ? Place::host : Place::cuda;
    if (plan_.quantization.prepares_training) {
      nn::prepare_for_kbit_training(*model_);
    }
  }

  void train_step(int step) {
    runtime_.mark_step(static_cast<std::uint64_t>(step));
    // At the start of the step it is the optimizer's zero_grad; without an optimizer gradients add
    // up.
    if (plan_.training && plan_.zero_grad_at == ZeroGradAt::start &&
        plan_.optimizer.kind != OptimizerKind::none) {
      zero_grad();
    }
    runner_->run(step);
    if (plan_.training) {
      update();
    }
    if (evaluates_after(plan_.evaluation, {.step = step, .steps = plan_.steps})) {
      EvaluationLoop(runtime_, plan_, *model_).run();
    }
  }

  void update() {
    strategy_->finish_gradients();
    if (plan_.grad_clip) {
      runtime_.mark_phase("clip");
      strategy_->clip_gradients();
    }
    if (plan_.optimizer.kind != OptimizerKind::none) {
      runtime_.mark_phase("optimizer");
      strategy_->step();
    }
    if (plan_.zero_grad_at == ZeroGradAt::end) {
      zero_grad();
    }
    if (plan_.empty_cache_every_step) {
      runtime_.mark_phase("empty_cache");
      runtime_.empty_cache();
    }
  }

  void zero_grad() {
    runtime_.mark_phase("zero_grad");
    strategy_->zero_grad();
  }

  std::unique_ptr<StepRunner> make_runner() {
    const bool is_megatron = plan_.model_code == ModelCode::megatron;
    if (is_recent_torchtitan(plan_)) {
      return std::make_unique<torchtitan::TrainStep>(*model_, plan_, *strategy_);
    }
    if (plan_.framework == Framework::torchtune) {
      return std::make_unique<torchtune::RecipeStep>(runtime_, plan_, *strategy_);
    }
    if (!is_megatron && plan_.parallel.pp > 1 && !pipelining::is_naive(plan_.parallel)) {
      return std::make_unique<pipelining::PipelineRun>(*model_, plan_, *strategy_);
    }
    if (is_megatron && plan_.parallel.pp > 1) {
      return std::make_unique<PipelineStage>(
          runtime_, plan_, *strategy_,
          [loader = BatchLoader(runtime_, plan_)](std::int64_t index, BatchParts parts) {
            models::Inputs batch;
            loader.load(index, parts, batch);
            return batch;
          },
          mode_.passes == RepeatedPassesAre::left_out ? &rounds_ : nullptr);
    }
    return std::make_unique<MicroBatchLoop>(runtime_, plan_, *strategy_);
  }

  const TrainingPlan& plan_;
  Runtime runtime_;
  nn::ModelContext context_;
  std::unique_ptr<models::LanguageModel> model_;
  std::unique_ptr<Strategy> strategy_;
  std::optional<AveragedModel> average_;
  std::unique_ptr<StepRunner> runner_;
  HostPeaks host_;
  RunMode mode_;
  std::vector<RepeatedRound> rounds_;  ///< that are left out
};

void require_valid(const TrainingPlan& plan) {
  auto problems = plan_problems(plan);
  std::ranges::move(generator_gaps(plan), std::back_inserter(problems));
  if (problems.empty()) {
    return;
  }
  std::string all;
  for (const auto& problem : problems) {
    all += (all.empty() ? "" : "; ") + problem;
  }
  throw InputError("plan", "options", all, "");
}

/// Micro-batches are alike.
bool writes_passes(const TrainingPlan& plan) {
  const Parallelism& p = plan.parallel;
  return p.pp > 1 && plan.seq.size() == 1 && has_immediate_events(plan) &&
         p.offload == Offload::none;
}

/// Carries out what is asked, at most with so much in blocks. @throws LiveLimitReached
class Runs {
 public:
  Runs(Bytes most_live, EqualBlocksAre equal_blocks)
      : most_live_(most_live), equal_blocks_(equal_blocks) {}

  [[nodiscard]] CompactRun of(const TrainingPlan& plan, RepeatedPassesAre passes) const {
    if (writes_passes(plan)) {
      try {
        return Training(plan, {most_live_, equal_blocks_, passes}).run_compact();
      } catch (const megatron::PassesDiffer&) {  // each is carried out
      }
    }
    return Training(plan, {most_live_, equal_blocks_}).run_compact();
  }

  [[nodiscard]] GeneratedRun of(TrainingPlan plan, int micro_batches) const {
    plan.grad_accum = micro_batches;
    return of(plan, RepeatedPassesAre::written).run;
  }

 private:
  Bytes most_live_;
  EqualBlocksAre equal_blocks_;
};

/// What is offloaded is counted by the run itself.
bool uses_host(const GeneratedRun& run) {
  return !run.pinned_blocks.empty() || run.host.training != HostAccount{};
}

/// Whether the run with a round more is the shorter one with its rounds repeated.
bool may_be_lengthened(const RequestTrace& fewer, const std::vector<RepeatedRound>& rounds,
                       const std::function<GeneratedRun()>& run_more, ShownShapes& shown) {
  const std::uint64_t shape = shape_of_events(fewer);
  if (shown.contains(shape)) {
    return true;
  }
  const bool may_be = is_lengthened(fewer, rounds, run_more().trace);
  if (may_be) {
    shown.add(shape);
  }
  return may_be;
}

/// The plan's run made of two short ones; nothing where they do not show what it does.
std::optional<CompactRun> from_short_runs(const TrainingPlan& plan, const ShortRuns& runs,
                                          const Runs& carried_out, ShownShapes& shown) {
  CompactRun made{.run = carried_out.of(plan, runs.fewer)};
  const RequestTrace& fewer = made.run.trace;
  const auto forwards = forwards_of_micro_batch(fewer, runs.fewer);
  if (!forwards || uses_host(made.run)) {
    return std::nullopt;
  }
  auto rounds = repeated_rounds(fewer, *forwards * static_cast<std::size_t>(runs.round), 1);
  const auto run_more = [&] { return carried_out.of(plan, runs.more()); };
  if (!rounds || !may_be_lengthened(fewer, *rounds, run_more, shown)) {
    return std::nullopt;
  }
  made.rounds = std::move(*rounds);
  for (RepeatedRound& round : made.rounds) {
    round.times = static_cast<std::size_t>((plan.grad_accum - runs.fewer) / runs.round);
  }
  return made;
}

CompactRun compact_run(const TrainingPlan& plan, const RunMode& mode, ShownShapes& shown) {
  require_valid(plan);
  const Runs runs(mode.most_live, mode.equal_blocks);
  if (const std::optional<ShortRuns> lengths = short_runs(plan)) {
    if (std::optional<CompactRun> made = from_short_runs(plan, *lengths, runs, shown)) {
      return std::move(*made);
    }
  }
  return runs.of(plan, mode.passes);
}

}  // namespace

RequestTrace generate(const TrainingPlan& plan) {
  return generate_run(plan).trace;
}

RequestTrace generate_step_by_step(const TrainingPlan& plan) {
  require_valid(plan);
  return Training(plan).run();
}

GeneratedRun generate_run(const TrainingPlan& plan) {
  ShownShapes shown;
  CompactRun compact = compact_run(plan, {.passes = RepeatedPassesAre::written}, shown);
  if (!compact.rounds.empty()) {
    RunEvents all = lengthened(compact.run.trace, compact.rounds);
    compact.run.trace.events = std::move(all.events);
    compact.run.trace.allocation_count = all.allocation_count;
  }
  return std::move(compact.run);
}

std::optional<CompactTrace> generate_within(const TrainingPlan& plan, Bytes most_live,
                                            ShownShapes& shown) {
  try {
    const RunMode mode{most_live, EqualBlocksAre::joined, RepeatedPassesAre::left_out};
    CompactRun compact = compact_run(plan, mode, shown);
    return CompactTrace{std::move(compact.run.trace), std::move(compact.rounds)};
  } catch (const eager::LiveLimitReached&) {
    return std::nullopt;
  }
}

GeneratedGraph generate_with_graph(const TrainingPlan& plan) {
  require_valid(plan);
  return Training(plan).run_recorded();
}

}  // namespace highwater
