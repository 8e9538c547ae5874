// Rules of activation checkpointing (torch.utils.checkpoint of PyTorch 2.6): an implementation
// without anything to recompute, and what cannot be recomputed by itself.
#include <array>
#include <variant>

#include "workloads/plan/rules/tables.hpp"

namespace highwater::plan_rules {
namespace {

// Attention written out in the module's forward cannot be checkpointed alone.
bool has_attention_function(const TrainingPlan& plan) {
  const auto& config = plan.model.config;
  const bool is_written_out =
      std::holds_alternative<BloomConfig>(config) || std::holds_alternative<T5Config>(config) ||
      (std::holds_alternative<PlainConfig>(config) && plan.attention == Attention::eager);
  return !is_written_out;
}

constexpr std::array kCheckpointRules{
    Rule{[](const Facts& f) {
           return f.plan->checkpoint.reentrant && f.plan->checkpoint.kind == CheckpointKind::none;
         },
         "checkpoint-impl reentrant: nothing is checkpointed; give checkpoint full or every-N too"},
    Rule{[](const Facts& f) {
           return f.plan->checkpoint.reentrant &&
                  f.plan->checkpoint.kind == CheckpointKind::selective_op;
         },
         "checkpoint-impl reentrant: torch selects by operator in the nonreentrant implementation "
         "only; leave checkpoint-impl out"},
    Rule{[](const Facts& f) {
           return f.plan->checkpoint.kind == CheckpointKind::selective_attention &&
                  !has_attention_function(*f.plan);
         },
         "checkpoint selective-attention: {family} has no attention function that could be "
         "checkpointed by itself; give selective-op or full"},
};

}  // namespace

std::span<const Rule> checkpoint_rules() {
  return kCheckpointRules;
}

}  // namespace highwater::plan_rules
