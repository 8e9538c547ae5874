// Rules of activation checkpointing (torch.utils.checkpoint of PyTorch 2.6): an implementation
// chosen when nothing is recomputed, and parts that cannot be recomputed separately.
#include <array>

#include "workloads/plan/rules/tables.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater::plan_rules {
namespace {

// Attention written out in the module's forward cannot be checkpointed alone.
bool has_attention_function(const TrainingPlan& plan) {
  switch (plan.model.config.family().traits.attention_function) {
    case AttentionFunction::always:
      return true;
    case AttentionFunction::unless_eager:
      return plan.attention != Attention::eager;
    case AttentionFunction::never:
      return false;
  }
  return true;
}

constexpr std::array kCheckpointRules{
    Rule{[](const PlanFacts& f) {
           return f.plan->checkpoint.reentrant && f.plan->checkpoint.kind == CheckpointKind::none;
         },
         "checkpoint-impl reentrant: nothing is checkpointed; add checkpoint full or every-N"},
    Rule{[](const PlanFacts& f) {
           return f.plan->checkpoint.reentrant &&
                  f.plan->checkpoint.kind == CheckpointKind::selective_op;
         },
         "checkpoint-impl reentrant: only the nonreentrant implementation can select by operator; "
         "omit checkpoint-impl"},
    Rule{[](const PlanFacts& f) {
           return f.plan->checkpoint.kind == CheckpointKind::selective_attention &&
                  !has_attention_function(*f.plan);
         },
         "checkpoint selective-attention: {family} has no separate attention function to "
         "checkpoint; use selective-op or full"},
};

}  // namespace

std::span<const Rule> checkpoint_rules() {
  return kCheckpointRules;
}

}  // namespace highwater::plan_rules
