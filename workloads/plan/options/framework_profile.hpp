// Framework profiles: the defaults of the program that a plan imitates, where they differ from a
// plain PyTorch script's. Every one of them can be overridden by an option.
//
// A profile is rows of option, value and source (workloads/facts/frameworks.json), so what --help
// cites is what is set.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "traces/release.hpp"
#include "workloads/plan/checkpoint.hpp"
#include "workloads/plan/framework.hpp"

namespace highwater {

struct TrainingPlan;

/// One default of a framework.
struct FrameworkDefault {
  Framework framework;
  std::string_view option;
  std::string_view word;
  std::string_view source;
  std::optional<Release> since_torch = {};         ///< absent: with every release of PyTorch
  std::optional<Release> since_transformers = {};  ///< and of transformers
};

/// The rows of all frameworks; those of one stand together.
std::span<const FrameworkDefault> framework_defaults();

/// `plan` with the defaults of `framework` instead of those of its own.
void apply_framework(Framework framework, TrainingPlan& plan);

/// Whether the framework's default for `option` came with a newer PyTorch than the plan's.
bool is_default_later(const TrainingPlan& plan, std::string_view option);

/// The framework of a plan that names none: transformers' models are called as people call them,
/// other code in a bare loop.
Framework default_framework(ModelCode code);

/// What a plan is before any option is read.
const TrainingPlan& default_plan();

/// What `--checkpoint selective` means to `framework`: torch chooses by operator, Megatron-LM and
/// NeMo recompute the core attention (recompute_granularity selective).
CheckpointKind selective_kind(Framework framework);

}  // namespace highwater
