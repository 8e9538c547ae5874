// A training plan: every axis of a run in one plain struct, one member per axis.
//
// Axes are independent; the rules that cross them are rows of tables (workloads/plan/rules). The
// generator and the closed forms both read this struct.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "traces/release.hpp"
#include "traces/units.hpp"
#include "workloads/plan/dtype.hpp"
#include "workloads/plan/gpu.hpp"
#include "workloads/plan/input_sizes.hpp"
#include "workloads/plan/model/model_spec.hpp"
#include "workloads/plan/moe_load.hpp"
#include "workloads/plan/optimizer.hpp"
#include "workloads/plan/parallelism.hpp"
#include "workloads/plan/precision.hpp"
#include "workloads/plan/quantization.hpp"

namespace highwater {

/// Whose Python code runs: transformers' classes, torchtitan's (`plain` in recordings),
/// torchtune's or Megatron-Core's.
enum class ModelCode : std::uint8_t { hf, torchtitan, torchtune, megatron };

/// Whose training loop, optimizer and defaults.
enum class Framework : std::uint8_t {
  torch,             ///< a bare loop that keeps nothing but the loss, as in the recordings
  hf,                ///< a plain loop around a model of transformers, as people write it
  trainer,           ///< transformers' Trainer
  trl_sft,           ///< TRL's SFTTrainer
  accelerate_fsdp2,  ///< accelerate's FSDP plugin, version 2
  torchtitan,
  torchtune,
  lightning,
  deepspeed,
  megatron,
  nemo,
  colossalai_gemini
};

/// What makes a plan's requests.
enum class EngineKind : std::uint8_t {
  automatic,  ///< the model where it covers the plan, else PyTorch
  model,      ///< this program's own generator
  torch,      ///< an installed PyTorch, on a simulated device
  both        ///< both, to be compared
};

/// Which attention runs; `sdpa` is PyTorch's own choice by dtype, mask and GPU.
enum class Attention : std::uint8_t {
  eager,
  sdpa,
  sdpa_flash,
  sdpa_efficient,
  sdpa_math,
  sdpa_cudnn,
  flex  ///< flex_attention, compiled: torchtitan 0.3
};

enum class CheckpointKind : std::uint8_t {
  none,
  full,                ///< every block
  every_n,             ///< block i where i mod n = n-1
  selective_op,        ///< per operator: outputs of matmuls and attention are kept
  selective_attention  ///< only the core attention is recomputed (Megatron's "selective")
};

struct Checkpoint {
  CheckpointKind kind = CheckpointKind::none;
  int n = 1;               ///< of every_n
  bool reentrant = false;  ///< use_reentrant=True
};

enum class LossKind : std::uint8_t {
  hf,       ///< labels are passed to the model: transformers' own loss, as in the version profile
  shift,    ///< cross entropy outside, logits sliced and made contiguous (the older HF way)
  flat,     ///< cross entropy outside, without the shift
  chunked,  ///< head and cross entropy over `chunks` parts of the sequence (torchtune, torchtitan)
  fused,    ///< head and loss in one function, no logits kept (Liger)
  trl       ///< log-probabilities from hidden states, tile by tile; no logits (SFTTrainer)
};

struct Loss {
  LossKind kind = LossKind::hf;
  int chunks = 8;  ///< of chunked
};

/// Whether the function that applies the head also computes the loss, so that logits never exist.
constexpr bool fuses_head(LossKind kind) {
  return kind == LossKind::fused || kind == LossKind::trl;
}

/// How the model gets onto the device.
enum class ModelInit : std::uint8_t {
  device,          ///< built under `with torch.device("cuda")`
  cpu,             ///< built on the host, then .to("cuda")
  meta,            ///< built on meta, then to_empty("cuda")
  pretrained_half  ///< built in fp32 on the host, .to("cuda"), then .half() or .bfloat16()
};

enum class ZeroGradAt : std::uint8_t {
  start,     ///< before the step's first forward
  backward,  ///< between its first forward and backward
  end
};

/// How batches arrive: copied from the host, or made on the device.
enum class DataSource : std::uint8_t { to, device };

/// The [batch, seq] mask that the model is given: one that hides nothing, or padding.
enum class AttentionMask : std::uint8_t { none, full, padded };

/// How a mixture's experts run. Which tokens they get depends on data; how many is MoeLoad's.
enum class Experts : std::uint8_t {
  eager,       ///< transformers' loop over experts
  even,        ///< the recordings' loop with equal shares
  batched_mm,  ///< weights gathered per token
  grouped_mm,  ///< one grouped product over tokens sorted by expert: transformers' own choice
  deepspeed    ///< deepspeed.moe.layer.MoE in the place of transformers' block
};

/// MoE(noisy_gate_policy=...) of DeepSpeed: Gumbel noise on the logits, or a factor on the inputs.
enum class GateNoise : std::uint8_t { none, rsample, jitter };

/// Further arguments of deepspeed.moe.layer.MoE.
struct DeepspeedMoe {
  GateNoise noise = GateNoise::none;
  bool use_residual = false;  ///< an MLP for every token beside the experts
};

struct Lora {
  int rank = 0;  ///< 0: no LoRA
  double dropout = 0.0;
  std::vector<std::string> targets;  ///< module name endings; empty: PEFT's default of the family
  bool dora = false;                 ///< with a magnitude for each output (use_dora)
};

/// Versions whose behaviour the generator imitates. A later one is taken as the newest known.
struct Versions {
  std::string torch{kNewestTorch};
  std::string transformers{kNewestTransformers};
  std::string deepspeed = "0.19";
  std::string torchtitan = "0.0";  ///< the published code; --framework torchtitan: 0.3
};

struct TrainingPlan {
  ModelSpec model;
  ModelCode model_code = ModelCode::hf;
  Framework framework = Framework::torch;
  std::int64_t batch = 1;               ///< sequences per micro-batch
  std::vector<std::int64_t> seq{1024};  ///< tokens per sequence, one per micro-batch, repeated
  InputSizes inputs;                    ///< what else the model is fed
  int steps = 3;
  int grad_accum = 1;
  Precision precision = Precision::fp32;
  Attention attention = Attention::sdpa;
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
  Quantization quantization;
  bool compile = false;  ///< torch.compile; the generator has eager runs only
  bool float8 = false;   ///< torchao's float8 products
  bool empty_cache_every_step = false;
  Parallelism parallel;
  Gpu gpu = default_gpu();
  Versions versions;
  EngineKind engine = EngineKind::automatic;
  std::string python = "python3";  ///< whose PyTorch carries out the plan
};

/// Whether transformers' Trainer runs the loop: itself, or as the base of TRL's.
bool runs_trainer(Framework framework);

/// Whether accelerate prepared the model (Accelerator.prepare).
bool runs_accelerate(Framework framework);

/// Whether a model that was sharded on meta gets its weights from a checkpoint, one by one.
bool loads_checkpoint(Framework framework);

/// Whether forward and loss run under autocast. accelerate leaves mixed precision under fully_shard
/// to FSDP's own.
bool runs_autocast(const TrainingPlan& plan);

/// Everything wrong with `plan`, one sentence each with a remedy; empty if it can run.
std::vector<std::string> plan_problems(const TrainingPlan& plan);

/// The parts of `plan` that the generator does not support yet, one sentence each; closed forms may
/// still apply.
std::vector<std::string> generator_gaps(const TrainingPlan& plan);

/// Whether DeepSpeed's engine runs the training: ZeRO over data-parallel ranks, unless the
/// framework has its own.
bool uses_deepspeed(const TrainingPlan& plan);

/// Whether the decoder's modules are named and called as torchtitan's are (tok_embeddings, wq,
/// ...).
bool has_torchtitan_names(const TrainingPlan& plan);

/// False for classes that have only eager attention in transformers (BLOOM, GPT-Neo, T5, ...): they
/// run eager attention unless another is requested.
bool supports_sdpa(const TrainingPlan& plan);

/// Tokens per sequence of micro-batch `index` (counted over all steps).
std::int64_t sequence_length(const TrainingPlan& plan, std::int64_t index);

}  // namespace highwater
