// A training plan: every axis of a run in one plain struct, one member per axis.
//
// Axes are independent; the rules that cross them are rows of tables (workloads/plan/rules). The
// generator and the closed forms both read this struct.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "workloads/plan/attention.hpp"
#include "workloads/plan/checkpoint.hpp"
#include "workloads/plan/experts.hpp"
#include "workloads/plan/framework.hpp"
#include "workloads/plan/gpu.hpp"
#include "workloads/plan/input_sizes.hpp"
#include "workloads/plan/lora.hpp"
#include "workloads/plan/loss.hpp"
#include "workloads/plan/model/model_spec.hpp"
#include "workloads/plan/moe_load.hpp"
#include "workloads/plan/optimizer.hpp"
#include "workloads/plan/parallelism.hpp"
#include "workloads/plan/precision.hpp"
#include "workloads/plan/quantization.hpp"
#include "workloads/plan/script.hpp"
#include "workloads/plan/versions.hpp"

namespace highwater {

struct TrainingPlan {
  ModelSpec model;
  ModelCode model_code = ModelCode::hf;
  Framework framework = Framework::torch;
  std::int64_t batch = 1;               ///< sequences per micro-batch
  std::vector<std::int64_t> seq{1024};  ///< tokens per sequence, one per micro-batch, repeated
  /// Tokens of the labels, which a decoder beside an encoder reads; absent: as many as in `seq`.
  std::optional<std::int64_t> target_seq;
  InputSizes inputs;  ///< what else the model is fed
  int steps = 3;
  int grad_accum = 1;
  Precision precision = Precision::fp32;
  Attention attention = Attention::sdpa;
  CudnnWorkspaces cudnn_workspaces = CudnnWorkspaces::counted;
  Checkpoint checkpoint;
  Optimizer optimizer;
  std::optional<double> grad_clip;
  bool set_to_none = true;
  ZeroGradAt zero_grad_at = ZeroGradAt::end;
  Loss loss;
  bool keep_logits = false;  ///< the output object lives until the next forward has returned
  bool use_cache = false;    ///< keys and values are returned by the model
  AttentionMask attention_mask = AttentionMask::none;
  std::optional<double> dropout;  ///< overrides the model's own probabilities
  bool training = true;           ///< false: forward only, without gradients
  DataSource data = DataSource::to;
  ModelInit init = ModelInit::device;
  Experts experts = Experts::eager;
  MoeLoad moe_load;
  DeepspeedMoe deepspeed_moe;
  Lora lora;
  std::string peft;  ///< the configuration of other adapters, as PEFT's JSON; empty: none
  Quantization quantization;
  /// A frozen copy of the model answers beside it (TRL's preference and reinforcement learning).
  bool reference_model = false;
  /// A frozen model beside it that is given the same batches, to learn from.
  std::optional<ModelSpec> teacher;
  /// Names of modules whose parameters are not trained.
  std::vector<std::string> frozen;
  bool compile = false;  ///< torch.compile; the generator has eager runs only
  bool float8 = false;   ///< torchao's float8 products
  bool empty_cache_every_step = false;
  Evaluation evaluation;
  bool ema = false;  ///< a copy of the model is averaged after each step
  Parallelism parallel;
  Gpu gpu = default_gpu();
  /// What the caching allocator can have of the device, which some programs ask; absent: what the
  /// GPU leaves to it.
  std::optional<Bytes> device_room;
  /// What a process has of the GPU outside the allocator besides NCCL: CUDA's context and the
  /// kernels that were loaded. Absent: as published (workloads/training/outside_memory.hpp).
  std::optional<Bytes> context;
  Versions versions;
  EngineKind engine = EngineKind::automatic;
  std::string python = kDefaultPython;  ///< whose PyTorch carries out the plan
};

/// Whether forward and loss run under autocast. accelerate leaves mixed precision under fully_shard
/// to FSDP's own.
bool runs_autocast(const TrainingPlan& plan);

/// Whether DeepSpeed's engine runs the training: ZeRO over data-parallel ranks, unless the
/// framework has its own.
bool uses_deepspeed(const TrainingPlan& plan);

/// Whether PEFT freezes the model and trains what it adds: LoRA, or adapters of another kind.
bool trains_adapters(const TrainingPlan& plan);

/// Whether Megatron-Core runs a plan, by itself or under NeMo.
bool runs_megatron_core(const TrainingPlan& plan);

/// Whether the decoder's modules are named and called as torchtitan's are (tok_embeddings, wq,
/// ...).
bool has_torchtitan_names(const TrainingPlan& plan);

/// Tokens per sequence of micro-batch `index` (counted over all steps).
std::int64_t sequence_length(const TrainingPlan& plan, std::int64_t index);

/// Whether the model has a decoder beside its encoder, whose sequences have a length of their own.
bool has_own_targets(const TrainingPlan& plan);

}  // namespace highwater
