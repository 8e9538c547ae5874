// The training loop: what a script that trains with PyTorch does, in order, variable by variable.
//
// Names that survive an iteration (tokens, labels, outputs, loss) die when they are bound again, as
// in Python: the new value exists before the old one is freed.
#include "workloads/training/generate.hpp"

#include <iterator>
#include <memory>
#include <optional>
#include <sstream>
#include <utility>
#include <variant>

#include "traces/error.hpp"
#include "workloads/colossalai/tensor_parallel_1d.hpp"
#include "workloads/eager/autocast.hpp"
#include "workloads/eager/graph_recorder.hpp"
#include "workloads/megatron/pipeline_stage.hpp"
#include "workloads/models/causal_loss.hpp"
#include "workloads/nn/lora.hpp"
#include "workloads/nn/save_on_cpu.hpp"
#include "workloads/pipelining/naive_run.hpp"
#include "workloads/pipelining/pipeline_run.hpp"
#include "workloads/plan/offload.hpp"
#include "workloads/plan/pipeline/model_split.hpp"
#include "workloads/strategy/strategy.hpp"

namespace highwater {

namespace {

using eager::Place;
using eager::Runtime;
using eager::Tensor;
using models::Inputs;
using models::Outputs;

std::optional<SdpaBackend> forced_backend(Attention attention) {
  switch (attention) {
    case Attention::sdpa_flash:
      return SdpaBackend::flash;
    case Attention::sdpa_efficient:
      return SdpaBackend::efficient;
    case Attention::sdpa_math:
      return SdpaBackend::math;
    case Attention::sdpa_cudnn:
      return SdpaBackend::cudnn;
    case Attention::eager:
    case Attention::sdpa:
      return std::nullopt;
  }
  return std::nullopt;
}

Place first_place(ModelInit init) {
  switch (init) {
    case ModelInit::device:
      return Place::cuda;
    case ModelInit::cpu:
    case ModelInit::pretrained_half:
      return Place::host;
    case ModelInit::meta:
      return Place::meta;
  }
  return Place::cuda;
}

DType first_dtype(const TrainingPlan& plan) {
  return plan.init == ModelInit::pretrained_half ? DType::fp32 : model_dtype(plan.precision);
}

// torchtitan's decoders give logits only; the script computes the loss.
bool model_takes_labels(const TrainingPlan& plan) {
  return plan.model_code == ModelCode::megatron ||
         (plan.model_code == ModelCode::hf && !plan.model.config.family().traits.torchtitan_style);
}

bool is_inside_model(LossKind kind) {
  return kind == LossKind::hf || kind == LossKind::fused;
}

/// One run of a plan.
class Training {
 public:
  explicit Training(const TrainingPlan& plan)
      : plan_(plan),
        runtime_(plan.gpu, release_of(plan.versions.torch), release_of(plan.versions.transformers),
                 {.launches = plan.parallel.event_lag, .queries = plan.parallel.event_queries}),
        context_{.runtime = runtime_,
                 .plan = plan,
                 .place = first_place(plan.init),
                 .dtype = first_dtype(plan),
                 .training = plan.training} {}

  GeneratedGraph run_recorded() {
    eager::GraphRecorder recorder(runtime_);
    runtime_.recorder = &recorder;
    RequestTrace trace = run();  // which ends the recording
    return {std::move(trace), recorder.take()};
  }

  GeneratedRun run_with_host() {
    RequestTrace trace = run();
    const HostMemory& host = runtime_.host_memory;
    return {std::move(trace), host.account(), host.pinned_blocks()};
  }

  RequestTrace run() {
    set_up();
    for (int step = 0; step < plan_.steps; ++step) {
      train_step(step);
    }
    return runtime_.take_trace();
  }

 private:
  void set_up() {
    runtime_.mark_phase("init");
    model_ = models::build_model(context_);
    if (plan_.lora.rank > 0) {
      nn::apply_lora(*model_);
    }
    if (plan_.init != ModelInit::device && !brings_model_to_device(plan_)) {
      nn::move_to_cuda(*model_);
    }
    if (plan_.framework == Framework::colossalai_gemini && plan_.parallel.tp > 1) {
      dist::construct_tied_heads(*model_);
    }
    if (plan_.init == ModelInit::pretrained_half) {
      context_.dtype = model_dtype(plan_.precision);
      nn::convert(*model_, context_.dtype);
    }
    strategy_ = make_strategy(*model_, plan_);
    if (plan_.model_code != ModelCode::megatron && pipelining::is_naive(plan_.parallel)) {
      spread_.emplace(runtime_, plan_, *strategy_);
    } else if (plan_.parallel.pp > 1 && plan_.model_code != ModelCode::megatron) {
      pipelining_.emplace(runtime_, plan_, *strategy_);
    } else if (plan_.parallel.pp > 1) {
      pipeline_.emplace(runtime_, plan_, *strategy_, [this](std::int64_t index, BatchParts parts) {
        load_data(sequence_length(plan_, index), parts);
        return std::exchange(batch_, {});
      });
    }
    if (plan_.loss.kind == LossKind::chunked) {
      ignored_labels_ = batch_tensor(1);
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
    if (spread_) {
      spread_->run();
    } else if (pipelining_) {
      // sdpa_kernel() surrounds the schedule's step.
      const eager::Scoped<std::optional<SdpaBackend>> backend(runtime_.sdpa_backend,
                                                              forced_backend(plan_.attention));
      pipelining_->run();
    } else if (pipeline_) {
      pipeline_->run(step);
    } else {
      for (int micro = 0; micro < plan_.grad_accum; ++micro) {
        micro_batch(std::int64_t{step} * plan_.grad_accum + micro);
      }
    }
    if (plan_.training) {
      update();
    }
  }

  void update() {
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

  void micro_batch(std::int64_t index) {
    load_data(sequence_length(plan_, index));
    const bool is_last = (index + 1) % plan_.grad_accum == 0;
    strategy_->set_gradient_sync(is_last || !plan_.parallel.no_sync);
    runtime_.mark_phase("forward");
    compute_loss();
    if (!plan_.training) {
      return;
    }
    runtime_.mark_phase("backward");
    if (plan_.grad_accum > 1 && !strategy_->divides_loss()) {
      loss_ = eager::div(loss_, static_cast<double>(plan_.grad_accum));
    }
    strategy_->backward(loss_);
  }

  Tensor batch_tensor(std::int64_t length) {
    Tensor tensor = eager::empty(runtime_, {plan_.batch, length}, DType::int64);
    runtime_.categorize(tensor, Category::input);
    if (plan_.data == DataSource::to) {
      runtime_.synchronize();  // the host waits for a copy from pageable memory
    }
    return tensor;
  }

  // get_batch_on_this_cp_rank: the whole sequence is freed once its part exists.
  void take_own_part(Tensor& whole) {
    if (!whole.defined()) {
      return;
    }
    const Tensor index = eager::empty(runtime_, {2}, DType::int64);
    Tensor part =
        eager::empty(runtime_, {plan_.batch, whole.size(1) / plan_.parallel.cp}, DType::int64);
    runtime_.categorize(part, Category::input);
    whole = std::move(part);
  }

  void load_data(std::int64_t length, BatchParts parts = {}) {
    runtime_.mark_phase("data");
    if (parts.tokens) {
      batch_.input_ids = batch_tensor(length);
    }
    if (parts.labels) {
      batch_.labels = batch_tensor(length);
    }
    if (plan_.parallel.cp > 1) {
      take_own_part(batch_.input_ids);
      take_own_part(batch_.labels);
    }
    if (plan_.attention_mask) {
      batch_.attention_mask = batch_tensor(length);
    }
  }

  // autocast, no_grad and sdpa_kernel() surround forward and loss, not backward.
  void compute_loss() {
    const eager::Scoped<std::optional<SdpaBackend>> backend(runtime_.sdpa_backend,
                                                            forced_backend(plan_.attention));
    std::optional<eager::AutocastContext> autocast;
    std::optional<eager::NoGrad> no_grad;
    if (!plan_.training) {
      no_grad.emplace(runtime_);
    }
    if (is_autocast(plan_.precision)) {
      autocast.emplace(runtime_, compute_dtype(plan_.precision));
    }
    std::optional<nn::SaveOnCpu> save_on_cpu;
    if (saves_on_cpu(plan_.parallel)) {
      save_on_cpu.emplace(runtime_);
    }
    if (is_inside_model(plan_.loss.kind) && model_takes_labels(plan_)) {
      loss_inside_model();
    } else if (plan_.loss.kind == LossKind::chunked) {
      loss_of_chunks();
    } else {
      loss_outside_model();
    }
  }

  void loss_inside_model() {
    Outputs outputs = strategy_->forward(batch_);
    if (plan_.keep_logits) {
      outputs_ = std::move(outputs);
      loss_ = outputs_.loss;
      return;
    }
    Tensor loss = outputs.loss;
    outputs = {};
    loss_ = std::move(loss);
  }

  void loss_outside_model() {
    Inputs inputs = batch_;
    inputs.labels.reset();
    Tensor logits = strategy_->forward(std::move(inputs)).logits;
    outputs_.logits = std::move(logits);
    runtime_.mark_phase("loss");
    loss_ = models::outside_loss(outputs_.logits, batch_.labels, plan_.loss.kind);
    if (!plan_.keep_logits) {
      outputs_.logits.reset();
    }
  }

  void loss_of_chunks() {
    Inputs inputs = batch_;
    inputs.labels.reset();
    auto chunks = strategy_->forward(std::move(inputs)).logit_chunks;
    runtime_.mark_phase("loss");
    loss_ = models::chunked_loss(chunks, batch_.labels, ignored_labels_);
  }

  const TrainingPlan& plan_;
  Runtime runtime_;
  nn::ModelContext context_;
  std::unique_ptr<models::LanguageModel> model_;
  std::unique_ptr<Strategy> strategy_;
  std::optional<PipelineStage> pipeline_;              ///< Megatron-Core's
  std::optional<pipelining::PipelineRun> pipelining_;  ///< PyTorch's own
  std::optional<pipelining::NaiveRun> spread_;         ///< over GPUs, by one process
  Inputs batch_;
  Outputs outputs_;
  Tensor loss_;
  Tensor ignored_labels_;  ///< for the chunked loss: one more label for each sequence
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

}  // namespace

RequestTrace generate(const TrainingPlan& plan) {
  require_valid(plan);
  return Training(plan).run();
}

GeneratedRun generate_run(const TrainingPlan& plan) {
  require_valid(plan);
  return Training(plan).run_with_host();
}

GeneratedGraph generate_with_graph(const TrainingPlan& plan) {
  require_valid(plan);
  return Training(plan).run_recorded();
}

}  // namespace highwater
