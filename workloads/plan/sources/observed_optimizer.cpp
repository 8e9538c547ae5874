#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "workloads/plan/sources/observed_parts.hpp"

namespace highwater {
namespace {

struct OptimizerWord {
  std::string_view name;
  std::string_view word;
};

constexpr std::array kOptimizerClasses{
    OptimizerWord{"torch.AdamW", "adamw"},
    OptimizerWord{"torch.Muon", "muon"},
    OptimizerWord{"torchao.AdamW8bit", "adamw-torch-8bit"},
    OptimizerWord{"torchao.AdamW4bit", "adamw-torch-4bit"},
    OptimizerWord{"torchao.AdamWFp8", "adamw-torch-fp8"},
    OptimizerWord{"torchao.CPUOffloadOptimizer", "adamw-cpu-offload"},
    OptimizerWord{"bitsandbytes.AdamW32bit", "adamw-32bit"},
    OptimizerWord{"bitsandbytes.AdamW", "adamw-32bit"},
    OptimizerWord{"bitsandbytes.Adam32bit", "adamw-32bit"},
    OptimizerWord{"bitsandbytes.Adam", "adamw-32bit"},
    OptimizerWord{"bitsandbytes.PagedAdamW8bit", "paged-adamw-8bit"},
    OptimizerWord{"bitsandbytes.PagedAdamW32bit", "paged-adamw-32bit"},
    OptimizerWord{"bitsandbytes.PagedAdamW", "paged-adamw-32bit"},
    OptimizerWord{"bitsandbytes.PagedAdam8bit", "paged-adamw-8bit"},
    OptimizerWord{"bitsandbytes.PagedAdam32bit", "paged-adamw-32bit"},
    OptimizerWord{"bitsandbytes.PagedAdam", "paged-adamw-32bit"},
    OptimizerWord{"bitsandbytes.Lion8bit", "lion-8bit"},
    OptimizerWord{"bitsandbytes.Lion32bit", "lion-32bit"},
    OptimizerWord{"bitsandbytes.Lion", "lion-32bit"},
    OptimizerWord{"bitsandbytes.PagedLion8bit", "paged-lion-8bit"},
    OptimizerWord{"bitsandbytes.PagedLion32bit", "paged-lion-32bit"},
    OptimizerWord{"bitsandbytes.PagedLion", "paged-lion-32bit"},
    OptimizerWord{"bitsandbytes.AdEMAMix8bit", "ademamix-8bit"},
    OptimizerWord{"bitsandbytes.AdEMAMix", "ademamix-32bit"},
    OptimizerWord{"bitsandbytes.PagedAdEMAMix8bit", "paged-ademamix-8bit"},
    OptimizerWord{"bitsandbytes.PagedAdEMAMix", "paged-ademamix-32bit"},
    OptimizerWord{"bitsandbytes.RMSprop8bit", "rmsprop-8bit"},
    OptimizerWord{"bitsandbytes.RMSprop32bit", "rmsprop-32bit"},
    OptimizerWord{"bitsandbytes.SGD8bit", "sgd-8bit"},
    OptimizerWord{"bitsandbytes.SGD32bit", "sgd-32bit"},
    OptimizerWord{"bitsandbytes.Adagrad8bit", "adagrad-8bit"},
    OptimizerWord{"bitsandbytes.Adagrad32bit", "adagrad-32bit"},
    OptimizerWord{"bitsandbytes.LAMB", "lamb-32bit"},
    OptimizerWord{"bitsandbytes.LAMB32bit", "lamb-32bit"},
    OptimizerWord{"bitsandbytes.LARS", "lars-32bit"},
    OptimizerWord{"bitsandbytes.LARS32bit", "lars-32bit"},
    OptimizerWord{"transformers.Adafactor", "adafactor-hf"},
    OptimizerWord{"lion_pytorch.Lion", "lion"},
    OptimizerWord{"optimi.StableAdamW", "stable-adamw"},
    OptimizerWord{"schedulefree.AdamWScheduleFree", "schedule-free-adamw"},
    OptimizerWord{"schedulefree.RAdamScheduleFree", "schedule-free-radam"},
    OptimizerWord{"schedulefree.SGDScheduleFree", "schedule-free-sgd"},
    OptimizerWord{"galore_torch.AdamW", "galore-adamw"},
    OptimizerWord{"galore_torch.AdamW8bit", "galore-adamw-8bit"},
    OptimizerWord{"galore_torch.Adafactor", "galore-adafactor"},
    OptimizerWord{"lomo_optim.Lomo", "lomo"},
    OptimizerWord{"lomo_optim.AdaLomo", "adalomo"},
    OptimizerWord{"apollo_torch.AdamW", "apollo-adamw"},
    OptimizerWord{"came_pytorch.CAME", "came"},
    OptimizerWord{"grokadamw.GrokAdamW", "grokadamw"},

    OptimizerWord{"torch.Adam", "adam"},
    OptimizerWord{"torch.SGD", "sgd"},
    OptimizerWord{"torch.RMSprop", "rmsprop"},
    OptimizerWord{"torch.Adagrad", "adagrad"},
    OptimizerWord{"torch.Adafactor", "adafactor"},
    OptimizerWord{"torch.NAdam", "nadam"},
    OptimizerWord{"torch.RAdam", "radam"},
    OptimizerWord{"torch.Adamax", "adamax"},
    OptimizerWord{"torch.Adadelta", "adadelta"},
    OptimizerWord{"torch.ASGD", "asgd"},
    OptimizerWord{"torch.Rprop", "rprop"},
    OptimizerWord{"bitsandbytes.AdamW8bit", "adamw-8bit"},
    OptimizerWord{"bitsandbytes.Adam8bit", "adamw-8bit"},
    OptimizerWord{"deepspeed.FusedAdam", "adamw"},
    OptimizerWord{"deepspeed.DeepSpeedCPUAdam", "adamw"}};

/// Options of an optimizer that leave its memory as it is.
bool is_harmless(std::string_view option) {
  return option == "nesterov" || option == "maximize" || option == "beta1";
}

void read_extras(const ObservedFacts& facts, bool has_momentum, SourceKeys& keys) {
  const boost::json::value* const options = facts.find("optimizers.0.options");
  if (options == nullptr || !options->is_object()) {
    return;
  }
  const bool is_muon = facts.text("optimizers.0.class") == "torch.Muon";
  for (const auto& [name, value] : options->get_object()) {
    const std::string key = "optimizers.0.options." + std::string(name);
    if (is_harmless(name)) {
      keys.add_no_effect(key, boost::json::serialize(value), "no further tensor");
    } else if (name == "momentum" && is_muon) {
      keys.add_no_effect(key, boost::json::serialize(value), "Muon always keeps it");
    } else if (name != "momentum" || !has_momentum) {
      keys.add_not_supported(key, boost::json::serialize(value), "simulated without");
    }
  }
}

void read_class(const ObservedFacts& facts, SourceKeys& keys) {
  const std::string name = facts.text("optimizers.0.class").value_or("");
  const auto known = std::ranges::find(kOptimizerClasses, name, &OptimizerWord::name);
  if (known == kOptimizerClasses.end()) {
    keys.add_not_supported("optimizers.0.class", name, "give --optimizer");
    return;
  }
  const bool has_momentum =
      known->word == "sgd" && facts.number("optimizers.0.options.momentum").value_or(0) > 0;
  keys.use("optimizers.0.class", name, "optimizer",
           has_momentum ? "sgd-momentum" : std::string(known->word));
  const std::string implementation =
      name.starts_with("deepspeed.")
          ? "deepspeed"
          : facts.text("optimizers.0.implementation").value_or("default");
  keys.use("optimizers.0.implementation", implementation, "optimizer-impl", implementation);
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
  if (facts.find("optimizers.1") == nullptr) {
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

void read_gradients(const ObservedFacts& facts, SourceKeys& keys) {
  const auto norm = facts.number("gradients.clip");
  keys.use("gradients.clip", facts.shown("gradients.clip"), "grad-clip",
           norm && *norm > 0 ? fmt::format("{}", *norm) : "none");
  if (const auto where = facts.text("gradients.zeroed_at")) {
    keys.use("gradients.zeroed_at", *where, "zero-grad-at", *where);
  }
  if (const auto frees = facts.flag("gradients.set_to_none")) {
    keys.use("gradients.set_to_none", flag_word(*frees), "set-to-none", flag_word(*frees));
  }
}

}  // namespace

void read_observed_optimizer(const ObservedFacts& facts, SourceKeys& keys) {
  if (facts.find("optimizers.0") != nullptr) {
    read_class(facts, keys);
    read_groups(facts, keys);
    read_several(facts, keys);
  }
  read_gradients(facts, keys);
}

}  // namespace highwater
