#include <algorithm>

#include <fmt/format.h>

#include "workloads/plan/optimizer_table.hpp"
#include "workloads/sources/observed_parts.hpp"

namespace highwater {
namespace {

/// The optimizer whose class a recording names, or nullptr.
const OptimizerRow* optimizer_of_class(std::string_view name) {
  const auto found = std::ranges::find_if(optimizer_table(), [&](const OptimizerRow& row) {
    return std::ranges::find(row.classes, name) != row.classes.end();
  });
  return found == optimizer_table().end() ? nullptr : &*found;
}

/// torch.distributed.optim.ZeroRedundancyOptimizer, whose own optimizer steps this rank's part.
bool spreads_states(const ObservedFacts& facts) {
  return facts.text("optimizers.0.class") == "torch.ZeroRedundancyOptimizer";
}

/// Where the optimizer is that makes the states.
std::string stepping_path(const ObservedFacts& facts) {
  return spreads_states(facts) ? "optimizers.1" : "optimizers.0";
}

/// Options of an optimizer that leave its memory as it is.
bool is_harmless(std::string_view option) {
  return option == "nesterov" || option == "maximize" || option == "beta1";
}

void read_extras(const ObservedFacts& facts, bool has_momentum, SourceKeys& keys) {
  const std::string path = stepping_path(facts);
  const boost::json::value* const options = facts.find(path + ".options");
  if (options == nullptr || !options->is_object()) {
    return;
  }
  const bool is_muon = facts.text(path + ".class") == "torch.Muon";
  const OptimizerRow* const row = optimizer_of_class(facts.text(path + ".class").value_or(""));
  const bool decays = row != nullptr && decays_gradients(row->kind) && runs_known_loop(facts);
  for (const auto& [name, value] : options->get_object()) {
    const std::string key = path + ".options." + std::string(name);
    if (name == "weight_decay" && decays) {
      keys.use(key, boost::json::serialize(value), "weight-decay", facts.shown(key));
    } else if (name == "weight_decay") {
      keys.add_no_effect(key, boost::json::serialize(value), "decays in place");
    } else if (is_harmless(name)) {
      keys.add_no_effect(key, boost::json::serialize(value), "no further tensor");
    } else if (name == "momentum" && is_muon) {
      keys.add_no_effect(key, boost::json::serialize(value), "Muon always keeps it");
    } else if (name != "momentum" || !has_momentum) {
      keys.add_not_supported(key, boost::json::serialize(value), "simulated without");
    }
  }
}

void read_class(const ObservedFacts& facts, SourceKeys& keys) {
  const std::string path = stepping_path(facts);
  const std::string name = facts.text(path + ".class").value_or("");
  const OptimizerRow* const known = optimizer_of_class(name);
  if (known == nullptr) {
    keys.add_not_supported(path + ".class", name, "give --optimizer");
    return;
  }
  const bool has_momentum =
      known->kind == OptimizerKind::sgd && facts.number(path + ".options.momentum").value_or(0) > 0;
  keys.use(path + ".class", name, "optimizer",
           has_momentum ? "sgd-momentum" : std::string(known->word));
  const std::string implementation = name.starts_with("deepspeed.")
                                         ? "deepspeed"
                                         : facts.text(path + ".implementation").value_or("default");
  keys.use(path + ".implementation", implementation, "optimizer-impl", implementation);
  read_extras(facts, has_momentum, keys);
}

/// torch.optim's multi-tensor kernels take no mixture of DTensors and others, so that scripts put
/// these into a group of their own, as plans do without being told.
bool splits_tensors(const ObservedFacts& facts) {
  const bool is_alone = facts.text("strategy.kind") == "none";
  return facts.find(is_alone ? "strategy.mesh" : "strategy.mesh.tp") != nullptr;
}

void read_groups(const ObservedFacts& facts, SourceKeys& keys) {
  const std::int64_t groups = facts.whole("optimizers.0.groups").value_or(1);
  if (groups == 2 && splits_tensors(facts)) {
    keys.add_no_effect("optimizers.0.groups", "2", "whole tensors beside those that are split");
  } else if (groups == 1 || groups == 2) {
    keys.use("optimizers.0.groups", std::to_string(groups), "param-groups", std::to_string(groups));
  } else {
    keys.add_not_supported("optimizers.0.groups", std::to_string(groups),
                           "simulated with one group of parameters");
  }
}

/// Muon takes matrices alone; --optimizer muon has the AdamW of all else.
bool is_muon_with_adamw(const ObservedFacts& facts) {
  return facts.text("optimizers.0.class") == "torch.Muon" &&
         facts.text("optimizers.1.class") == "torch.AdamW" && facts.find("optimizers.2") == nullptr;
}

/// An optimizer for each parameter steps while the backward runs.
void read_several(const ObservedFacts& facts, SourceKeys& keys) {
  if (facts.find("optimizers.1") == nullptr || spreads_states(facts)) {
    return;
  }
  const bool is_each_alone =
      facts.whole("optimizers.0.parameters") == 1 && facts.whole("optimizers.1.parameters") == 1;
  if (is_each_alone) {
    keys.use("optimizers", "one for each parameter", "optimizer-in-backward", "true");
  } else if (is_muon_with_adamw(facts)) {
    keys.add_no_effect("optimizers.1", "torch.AdamW", "muon stands for both");
  } else {
    keys.add_not_supported("optimizers", facts.shown("optimizers"), "only the first is simulated");
  }
}

/// Of an infinite norm as well, gradients' norms are computed (--grad-clip takes no larger one).
constexpr double kLargestNorm = 1e12;

void use_clip(const ObservedFacts& facts, std::optional<double> norm, SourceKeys& keys) {
  keys.use("gradients.clip", facts.shown("gradients.clip"), "grad-clip",
           norm && *norm > 0 ? fmt::format("{}", std::min(*norm, kLargestNorm)) : "none");
}

/// Loops that decide themselves when gradients are zeroed. transformers 5.24, trainer.py: also
/// where an epoch begins, by the line of before the first step; TRL between several forward passes
/// of one step.
bool zeroes_by_itself(const ObservedFacts& facts) {
  const std::string loop = facts.text("loop").value_or("");
  return loop == "trainer" || loop == "SFTTrainer" || runs_other_loop_of_trl(facts);
}

void read_gradients(const ObservedFacts& facts, SourceKeys& keys) {
  const auto norm = facts.number("gradients.clip");
  if (!norm && facts.text("loop") == "megatron") {
    keys.add_not_supported("gradients.clip", "not seen",
                           "Megatron-Core clips by a function of its own; give --grad-clip",
                           "grad-clip");
  } else {
    use_clip(facts, norm, keys);
  }
  const auto where = facts.text("gradients.zeroed_at");
  if (where && !zeroes_by_itself(facts)) {
    keys.use("gradients.zeroed_at", *where, "zero-grad-at", *where);
  }
  if (const auto frees = facts.flag("gradients.set_to_none")) {
    keys.use("gradients.set_to_none", flag_word(*frees), "set-to-none", flag_word(*frees));
  }
}

/// Without DDP each rank steps its part, too, of gradients that the script itself sums.
void read_redundancy(const ObservedFacts& facts, SourceKeys& keys) {
  const std::string name = "torch.ZeroRedundancyOptimizer";
  const std::string path = "optimizers.0.redundancy";
  if (facts.flag(path + ".overlaps").value_or(false)) {
    keys.add_not_supported(path + ".overlaps", "true",
                           "steps in DDP's hook, of buckets of its own; each rank has the states "
                           "of its part only, which takes less memory; simulated with all of them "
                           "on every rank");
  } else if (facts.text("strategy.kind") != "ddp") {
    keys.add_not_supported("optimizers.0.class", name,
                           "simulated beside DistributedDataParallel only; each rank has the "
                           "states of its part, which takes less memory; simulated with all of "
                           "them on every rank");
  } else {
    const bool has_buckets = facts.flag(path + ".buckets").value_or(false);
    keys.use("optimizers.0.class", name, "zero-redundancy", has_buckets ? "buckets" : "parameters");
  }
}

}  // namespace

void read_observed_optimizer(const ObservedFacts& facts, SourceKeys& keys) {
  if (spreads_states(facts)) {
    read_redundancy(facts, keys);
  }
  if (facts.find("optimizers.0") != nullptr) {
    read_class(facts, keys);
    read_groups(facts, keys);
    read_several(facts, keys);
  }
  read_gradients(facts, keys);
}

}  // namespace highwater
