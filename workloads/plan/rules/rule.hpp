// One rule about a plan, and predicates that several rules share.
//
// A rule says when PyTorch 2.6, transformers 5.12 or another modelled release would refuse the
// combination, or when one option makes another meaningless. Rules see the plan only through
// PlanFacts.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>

#include "traces/release.hpp"
#include "workloads/plan/attention.hpp"
#include "workloads/plan/dtype.hpp"
#include "workloads/plan/model/model_spec.hpp"
#include "workloads/plan/optimizer.hpp"

namespace highwater {
struct Parallelism;
struct TrainingPlan;
}  // namespace highwater

namespace highwater::plan_rules {

/// A plan and what several rules ask of it.
struct PlanFacts {
  const TrainingPlan* plan;
  ModelShape shape;
  std::int64_t longest = 0;  ///< tokens of the longest sequence
};

/// A part of a plan, in the words of its option. They can name facts in braces.
struct Part {
  bool (*is_in)(const PlanFacts& f);
  std::string_view words;
};

/// One row: when the rule is broken, and the message that says what to do. The message can name
/// facts in braces. With `parts` it is broken only by those of them that the plan has: {asked} in
/// the message, and {them} ("it" or "them").
struct Rule {
  bool (*is_broken)(const PlanFacts& f);
  std::string_view message;
  std::span<const Part> parts = {};
};

/// No axis can sensibly have more ranks than this.
inline constexpr int kMostGpus = 1 << 20;

/// The dtype that attention and matmuls compute in; FSDP's own mixed precision included, which
/// gathers parameters in another type.
DType compute_dtype(const PlanFacts& f);

/// False for classes without an SDPA path in the plan's release (_supports_sdpa is false).
bool has_sdpa(const TrainingPlan& plan);

bool is_attention(const PlanFacts& f, Attention attention);

bool is_any(OptimizerKind kind, std::initializer_list<OptimizerKind> kinds);

/// Whether the release `text`, "2.6", is older than `release`.
bool is_before(std::string_view text, Release release);

bool torch_is_before(const PlanFacts& f, Release release);

/// DistributedDataParallel over more than one rank.
bool is_ddp(const Parallelism& p);

/// Megatron-Core's model code.
bool runs_megatron(const PlanFacts& f);

/// ColossalAI's Gemini.
bool is_gemini(const PlanFacts& f);

/// Either FSDP, over more than one rank.
bool is_sharded(const Parallelism& p);

/// Tensor parallelism by DTensors, over more than one rank.
bool is_dtensor_parallel(const Parallelism& p);

/// Whether an axis can have so many ranks or parts.
bool is_a_size(int size);

/// Every axis has from 1 to kMostGpus ranks or parts: quotients and products make sense.
bool sizes_are_sound(const Parallelism& p);

}  // namespace highwater::plan_rules
