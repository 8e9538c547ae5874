#include "tools/studies/plan_search/strategy_candidates.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/engine/engine.hpp"
#include "workloads/plan/options/framework_profile.hpp"
#include "workloads/plan/tensor_grid.hpp"

namespace highwater {
namespace {

/// Sizes of the axes; dp is the remaining factor.
struct Factors {
  int dp = 1;
  int tp = 1;
  int pp = 1;
};

struct StrategyRow {
  std::string_view name;
  bool uses_dp = true;  ///< needs more than one data-parallel rank to be a distinct strategy
  bool uses_tp = false;
  bool uses_pp = false;
  void (*apply)(TrainingPlan&);
  bool is_for_mixtures = false;
  bool spans_machines = false;  ///< needs several whole machines of data-parallel ranks
};

// Sequence parallelism where the model's code lets PrepareModuleInput see its arguments.
void use_dtensors(TrainingPlan& plan) {
  plan.parallel.tp_kind = TensorParallel::dtensor;
  plan.parallel.sequence_parallel = has_torchtitan_names(plan);
}

// As torchtitan: no rank ever holds the whole model.
void use_fsdp2(TrainingPlan& plan) {
  plan.parallel.dp_kind = DataParallel::fsdp2;
  plan.init = plan.init == ModelInit::device ? ModelInit::meta : plan.init;
}

// HSDP: sharded within a machine, a copy on each.
void use_hybrid_shards(TrainingPlan& plan) {
  use_fsdp2(plan);
  plan.parallel.fsdp.replicas = plan.parallel.dp / kRanksOfMachine;
}

// A program's own loop, at the base plan's precision.
void use_framework(Framework framework, TrainingPlan& plan) {
  const Precision precision = plan.precision;
  apply_framework(framework, plan);
  plan.precision = precision;
}

void use_megatron(TrainingPlan& plan) {
  use_framework(Framework::megatron, plan);
  plan.parallel.sequence_parallel = plan.parallel.tp > 1;
}

void use_distributed_optimizer(TrainingPlan& plan) {
  use_megatron(plan);
  plan.parallel.dp_kind = DataParallel::zero1;
}

// As many ranks as experts can be spread over evenly.
void use_expert_parallel(TrainingPlan& plan) {
  use_distributed_optimizer(plan);
  plan.parallel.ep = std::gcd(plan.parallel.dp, static_cast<int>(shape_of(plan.model).experts));
}

// Sequences are split instead of distributed.
void use_context_parallel(TrainingPlan& plan) {
  use_distributed_optimizer(plan);
  plan.parallel.cp = std::exchange(plan.parallel.dp, 1);
}

// The same by accelerate, which checkpoints as well.
void use_accelerate_context_parallel(TrainingPlan& plan) {
  use_framework(Framework::accelerate_fsdp2, plan);
  use_fsdp2(plan);
  plan.parallel.cp = std::exchange(plan.parallel.dp, 1);
}

void use_nemo(TrainingPlan& plan) {
  use_framework(Framework::nemo, plan);
  plan.parallel.sequence_parallel = plan.parallel.tp > 1;
}

void use_gemini(TrainingPlan& plan) {
  use_framework(Framework::colossalai_gemini, plan);
}

// LLMem's fallback; the chunks are filled from the host, since the model may be larger than a GPU.
void use_gemini_on_host(TrainingPlan& plan) {
  use_gemini(plan);
  plan.parallel.gemini.placement = GeminiPlacement::cpu;
  plan.init = ModelInit::cpu;
}

// A plain loop around Colossal-AI's GPT, whose layers are split over a grid of ranks.
void use_grid(TensorParallel kind, TrainingPlan& plan) {
  plan.parallel.tp_kind = kind;
  plan.batch = grid_batch_parts(plan.parallel);
  plan.init = ModelInit::device;
  plan.attention = Attention::eager;
  plan.use_cache = false;
}

// As many grids, one behind the other, as the largest square among the ranks leaves.
void use_deep_grid(TrainingPlan& plan) {
  use_grid(TensorParallel::colossalai_2d, plan);
  const int side = grid_side(plan.parallel);
  plan.parallel.tp_depth = std::max(2, plan.parallel.tp / (side * side));
  use_grid(TensorParallel::colossalai_2p5d, plan);
}

// The axes are set before; a row sets everything else.
constexpr std::array kStrategies{
    StrategyRow{"one GPU", false, false, false, [](TrainingPlan&) {}},
    StrategyRow{"DDP", true, false, false,
                [](TrainingPlan& plan) { plan.parallel.dp_kind = DataParallel::ddp; }},
    StrategyRow{"FSDP1", true, false, false,
                [](TrainingPlan& plan) { plan.parallel.dp_kind = DataParallel::fsdp1; }},
    StrategyRow{"FSDP2", true, false, false, use_fsdp2},
    StrategyRow{"FSDP2, sharded within a machine (HSDP)", true, false, false, use_hybrid_shards,
                false, true},
    StrategyRow{"FSDP2 + context parallel (accelerate)", true, false, false,
                use_accelerate_context_parallel},
    StrategyRow{"tensor parallel (DTensor)", false, true, false, use_dtensors},
    StrategyRow{"FSDP2 + tensor parallel", true, true, false,
                [](TrainingPlan& plan) {
                  use_fsdp2(plan);
                  use_dtensors(plan);
                }},
    StrategyRow{"Colossal-AI 2D tensor parallel", false, true, false,
                [](TrainingPlan& plan) { use_grid(TensorParallel::colossalai_2d, plan); }},
    StrategyRow{"Colossal-AI 2.5D tensor parallel", false, true, false, use_deep_grid},
    StrategyRow{"Colossal-AI 3D tensor parallel", false, true, false,
                [](TrainingPlan& plan) { use_grid(TensorParallel::colossalai_3d, plan); }},
    StrategyRow{"DeepSpeed ZeRO-1", true, false, false,
                [](TrainingPlan& plan) {
                  use_framework(Framework::deepspeed, plan);
                  plan.parallel.dp_kind = DataParallel::zero1;
                }},
    StrategyRow{"DeepSpeed ZeRO-2", true, false, false,
                [](TrainingPlan& plan) {
                  use_framework(Framework::deepspeed, plan);
                  plan.parallel.dp_kind = DataParallel::zero2;
                }},
    StrategyRow{"DeepSpeed ZeRO-3", true, false, false,
                [](TrainingPlan& plan) {
                  use_framework(Framework::deepspeed, plan);
                  plan.parallel.dp_kind = DataParallel::zero3;
                }},
    StrategyRow{"DeepSpeed ZeRO-2, optimizer on the host", true, false, false,
                [](TrainingPlan& plan) {
                  use_framework(Framework::deepspeed, plan);
                  plan.parallel.dp_kind = DataParallel::zero2;
                  plan.parallel.offload = Offload::optimizer;
                }},
    StrategyRow{"Megatron", false, true, true, use_megatron},
    StrategyRow{"Megatron, distributed optimizer", true, true, true, use_distributed_optimizer},
    StrategyRow{"Megatron, expert parallel", true, true, true, use_expert_parallel, true},
    StrategyRow{"Megatron, context parallel", true, true, true, use_context_parallel},
    StrategyRow{"NeMo, Apex's distributed Adam", true, true, true, use_nemo},
    StrategyRow{"Colossal-AI Gemini", true, false, false, use_gemini},
    StrategyRow{"Colossal-AI Gemini, chunks on the host", true, false, false, use_gemini_on_host},
    StrategyRow{"Colossal-AI Gemini + tensor parallel", false, true, false, use_gemini},
};

std::vector<Factors> factorisations(int gpus) {
  std::vector<Factors> all;
  for (int tp = 1; tp <= std::min(gpus, kRanksOfMachine); ++tp) {
    for (int pp = 1; pp <= gpus / tp; ++pp) {
      if (gpus % (tp * pp) == 0) {
        all.push_back({gpus / (tp * pp), tp, pp});
      }
    }
  }
  return all;
}

/// Colossal-AI's GPT is a GPT-2, its ranks fill their grid, and nothing beside it is split.
bool suits_grid(const TrainingPlan& plan) {
  const Parallelism& p = plan.parallel;
  return !splits_over_grid(p) ||
         (family_name(plan.model) == "gpt2" && fills_grid(p) && p.gpus() == p.tp);
}

// A row is tried where it uses each axis that has more than one rank, and is not another row under
// a second name.
bool takes(const StrategyRow& row, const Factors& factors) {
  const bool is_one = factors.dp * factors.tp * factors.pp == 1;
  if (is_one || row.name == "one GPU") {
    return is_one && row.name == "one GPU";
  }
  if (row.spans_machines && (factors.dp <= kRanksOfMachine || factors.dp % kRanksOfMachine != 0)) {
    return false;
  }
  const bool splits_model = factors.tp > 1 || factors.pp > 1;
  return (row.uses_dp ? factors.dp > 1 : splits_model) && (row.uses_tp || factors.tp == 1) &&
         (row.uses_pp || factors.pp == 1) && (!row.uses_tp || row.uses_pp || factors.tp > 1);
}

TrainingPlan applied(TrainingPlan plan, const StrategyRow& row, const Factors& factors) {
  plan.parallel.dp = factors.dp;
  plan.parallel.tp = factors.tp;
  plan.parallel.pp = factors.pp;
  if (factors.pp > 1 && plan.grad_accum == 1) {
    plan.grad_accum = kMicroBatchesPerStage * factors.pp;
  }
  row.apply(plan);
  return plan;
}

// Overrides the framework's own choice.
std::vector<TrainingPlan> with_checkpoints(TrainingPlan plan, const TrainingPlan& base) {
  if (base.checkpoint.kind != CheckpointKind::none || !base.training) {
    plan.checkpoint.kind = base.checkpoint.kind;
    plan.checkpoint.n = base.checkpoint.n;
    return {plan};
  }
  std::vector<TrainingPlan> plans;
  for (const CheckpointKind kind : {CheckpointKind::full, CheckpointKind::none,
                                    CheckpointKind::every_n, selective_kind(plan.framework)}) {
    TrainingPlan& each = plans.emplace_back(plan);
    each.checkpoint.kind = kind;
    each.checkpoint.n = kind == CheckpointKind::every_n ? 2 : 1;
    each.checkpoint.reentrant = plan.checkpoint.reentrant && kind != CheckpointKind::none;
  }
  return plans;
}

// Selective recomputation is not a separate strategy: a program without it lacks nothing.
bool is_optional(const TrainingPlan& plan) {
  return plan.checkpoint.kind == CheckpointKind::selective_op ||
         plan.checkpoint.kind == CheckpointKind::selective_attention;
}

/// Of a plan that the model is to carry out, unless PyTorch was asked for.
std::vector<std::string> obstacles(TrainingPlan plan) {
  auto problems = plan_problems(plan);
  if (plan.engine != EngineKind::torch) {
    plan.engine = EngineKind::model;
  }
  choose_engine(plan, problems);
  return problems;
}

}  // namespace

Candidates strategy_candidates(const TrainingPlan& base, int gpus) {
  Candidates result;
  std::map<std::string, std::set<std::string>> left_out;  // by reason, the strategies' names
  const bool is_mixture = shape_of(base.model).experts > 0;
  for (const StrategyRow& row : kStrategies) {
    if (row.is_for_mixtures && !is_mixture) {
      continue;
    }
    for (const Factors& factors : factorisations(gpus)) {
      if (!takes(row, factors)) {
        continue;
      }
      TrainingPlan first = applied(base, row, factors);
      if (!suits_grid(first)) {
        continue;
      }
      std::vector<Candidate> runnable;
      for (TrainingPlan& plan : with_checkpoints(std::move(first), base)) {
        const auto problems = obstacles(plan);
        if (problems.empty()) {
          runnable.push_back({row.name, std::move(plan)});
        } else if (!is_optional(plan) || base.checkpoint.kind != CheckpointKind::none) {
          left_out[problems.front()].emplace(row.name);
        }
      }
      if (!runnable.empty()) {
        result.runnable.push_back(std::move(runnable));
      }
    }
  }
  for (const auto& [reason, names] : left_out) {
    result.left_out.push_back(fmt::format("{}: {}", fmt::join(names, "; "), reason));
  }
  return result;
}

}  // namespace highwater
