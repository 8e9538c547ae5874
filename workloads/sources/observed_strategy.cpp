#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "workloads/sources/observed_parts.hpp"

namespace highwater {
namespace {

void use_flag(const ObservedFacts& facts, const std::string& name, std::string_view option,
              SourceKeys& keys) {
  if (const auto value = facts.flag("strategy." + name)) {
    keys.use("strategy." + name, flag_word(*value), option, flag_word(*value));
  }
}

void use_type(const ObservedFacts& facts, const std::string& name, std::string_view option,
              SourceKeys& keys) {
  const std::string type = facts.text("strategy." + name).value_or("");
  const std::string word = type.empty() ? "none" : plan_type(type);
  if (word.empty()) {
    keys.add_not_supported("strategy." + name, type, fmt::format("give --{}", option));
  } else {
    keys.use("strategy." + name, type.empty() ? "none" : type, option, word);
  }
}

void use_ranks(const ObservedFacts& facts, std::int64_t ranks, std::string_view kind,
               SourceKeys& keys) {
  keys.use("strategy.ranks", facts.shown("strategy.ranks"), "dp", std::to_string(ranks));
  keys.use("strategy.kind", facts.shown("strategy.kind"), "dp-kind", std::string(kind));
}

struct HookWord {
  std::string_view function;
  std::string_view word;
};

void read_hook(const ObservedFacts& facts, SourceKeys& keys) {
  constexpr std::array kHooks{
      HookWord{"allreduce_hook", "allreduce"}, HookWord{"fp16_compress_hook", "fp16-compress"},
      HookWord{"bf16_compress_hook", "bf16-compress"}, HookWord{"powerSGD_hook", "powersgd"}};
  const auto hook = facts.text("strategy.hooks.0");
  if (!hook) {
    return;
  }
  const auto known = std::ranges::find(kHooks, *hook, &HookWord::function);
  if (known == kHooks.end()) {
    keys.add_not_supported("strategy.hooks", *hook, "simulated without");
  } else {
    keys.use("strategy.hooks", *hook, "ddp-comm-hook", std::string(known->word));
  }
}

void read_ddp(const ObservedFacts& facts, std::int64_t ranks, SourceKeys& keys) {
  use_ranks(facts, ranks, "ddp", keys);
  const auto cap = facts.number("strategy.bucket_cap_mb");
  keys.use("strategy.bucket_cap_mb", facts.shown("strategy.bucket_cap_mb"), "bucket-cap-mb",
           cap ? fmt::format("{}", *cap) : "default");
  use_flag(facts, "bucket_view", "bucket-view", keys);
  use_flag(facts, "static_graph", "static-graph", keys);
  use_flag(facts, "find_unused_parameters", "find-unused-parameters", keys);
  read_hook(facts, keys);
}

void read_offload(const ObservedFacts& facts, SourceKeys& keys) {
  if (facts.flag("strategy.offload").value_or(false)) {
    keys.use("strategy.offload", "true", "offload", "both");
  }
}

void read_fsdp1(const ObservedFacts& facts, std::int64_t ranks, SourceKeys& keys) {
  use_ranks(facts, ranks, "fsdp1", keys);
  if (const auto strategy = facts.text("strategy.strategy")) {
    keys.use("strategy.strategy", *strategy, "strategy", *strategy);
  }
  use_type(facts, "param_dtype", "param-dtype", keys);
  use_type(facts, "reduce_dtype", "reduce-dtype", keys);
  use_flag(facts, "use_orig_params", "use-orig-params", keys);
  use_flag(facts, "limit_all_gathers", "limit-all-gathers", keys);
  use_flag(facts, "forward_prefetch", "forward-prefetch", keys);
  const std::string prefetch = facts.text("strategy.backward_prefetch").value_or("none");
  const std::size_t mark = prefetch.rfind('_');
  keys.use("strategy.backward_prefetch", prefetch, "backward-prefetch",
           mark == std::string::npos ? prefetch : prefetch.substr(mark + 1));
  read_offload(facts, keys);
}

/// A module that fully_shard has made a unit.
struct Unit {
  std::string name;  ///< empty: the model itself
  std::string kind;
  bool reshards = false;
};

std::vector<Unit> units_of(const ObservedFacts& facts) {
  std::vector<Unit> units;
  for (int i = 0; facts.find(fmt::format("strategy.units.{}", i)) != nullptr; ++i) {
    const std::string path = fmt::format("strategy.units.{}.", i);
    units.push_back({facts.text(path + "name").value_or(""),
                     facts.text(path + "class").value_or(""),
                     facts.flag(path + "reshards").value_or(true)});
  }
  return units;
}

/// The class that most units are of: the blocks.
std::string block_class(const std::vector<Unit>& units) {
  std::map<std::string, int> counts;
  for (const Unit& unit : units) {
    counts[unit.kind] += unit.name.empty() ? 0 : 1;
  }
  const auto most =
      std::ranges::max_element(counts, {}, [](const auto& entry) { return entry.second; });
  return most == counts.end() ? "" : most->first;
}

/// Empty where the units do not all do the same. With the ends as units, what the model itself
/// holds is what is left, and accelerate and torchtitan keep it.
std::string reshard_word(const std::vector<Unit>& units, const std::string& block, bool has_ends) {
  std::vector<bool> blocks;
  bool is_root_freed = false;
  for (const Unit& unit : units) {
    if (unit.kind == block && !unit.name.empty()) {
      blocks.push_back(unit.reshards);
    }
    is_root_freed = is_root_freed || (unit.name.empty() && unit.reshards);
  }
  if (blocks.empty()) {
    return "";
  }
  const auto kept = std::ranges::count(blocks, false);
  if (kept == 0) {
    return is_root_freed && !has_ends ? "all" : "always";
  }
  return std::size_t(kept) == blocks.size() ? "never"
         : kept == 1 && !blocks.back()      ? "but-last"
                                            : "";
}

/// fully_shard(reshard_after_forward=N).
void read_kept_parts(const ObservedFacts& facts, std::size_t units, SourceKeys& keys) {
  for (std::size_t i = 0; i < units; ++i) {
    const std::string path = fmt::format("strategy.units.{}.kept_over", i);
    if (const auto ranks = facts.whole(path)) {
      return keys.add_not_supported(
          path, std::to_string(*ranks),
          "between forward and backward parameters are spread over so many ranks only, which takes "
          "more memory; simulated as spread over all");
    }
  }
}

void read_units(const ObservedFacts& facts, SourceKeys& keys) {
  const std::vector<Unit> units = units_of(facts);
  const std::string block = block_class(units);
  const bool has_ends = std::ranges::any_of(
      units, [&](const Unit& unit) { return !unit.name.empty() && unit.kind != block; });
  keys.use("strategy.units", fmt::format("{} units, most of them {}", units.size(), block),
           "fsdp-units", has_ends ? "ends" : "blocks");
  read_kept_parts(facts, units.size(), keys);
  const std::string word = reshard_word(units, block, has_ends);
  if (word.empty()) {
    keys.add_not_supported("strategy.units", "reshards",
                           "not the same for all blocks; give "
                           "--reshard");
  } else {
    keys.use("strategy.units", "reshards", "reshard", word);
  }
}

void read_fsdp2(const ObservedFacts& facts, std::int64_t ranks, SourceKeys& keys) {
  use_ranks(facts, ranks, "fsdp2", keys);
  use_type(facts, "param_dtype", "param-dtype", keys);
  use_type(facts, "reduce_dtype", "reduce-dtype", keys);
  if (const auto replicas = facts.whole("strategy.replicas"); replicas && *replicas > 1) {
    keys.use("strategy.replicas", std::to_string(*replicas), "dp-replicate",
             std::to_string(*replicas));
  }
  read_units(facts, keys);
  read_offload(facts, keys);
}

/// A key of DeepSpeed's "zero_optimization" and the option that it is.
struct ZeroKey {
  std::string_view key;
  std::string_view option;
};

constexpr std::array kZeroKeys{
    ZeroKey{"overlap_comm", "overlap-comm"},
    ZeroKey{"reduce_bucket_size", "reduce-bucket-size"},
    ZeroKey{"sub_group_size", "sub-group-size"},
    ZeroKey{"stage3_prefetch_bucket_size", "prefetch-bucket-size"},
    ZeroKey{"stage3_param_persistence_threshold", "param-persistence-threshold"},
    ZeroKey{"stage3_max_live_parameters", "max-live-parameters"},
    ZeroKey{"stage3_max_reuse_distance", "max-reuse-distance"},
    ZeroKey{"contiguous_gradients", "contiguous-gradients"},
    ZeroKey{"reduce_scatter", "reduce-scatter"},
    ZeroKey{"round_robin_gradients", "round-robin-gradients"}};

/// Keys of "zero_optimization" that are read here.
std::vector<std::string_view> known_zero_keys() {
  std::vector<std::string_view> known{"stage", "offload_optimizer", "offload_param"};
  std::ranges::transform(kZeroKeys, std::back_inserter(known), &ZeroKey::key);
  return known;
}

void read_zero_key(const std::string& name, const boost::json::value& value, SourceKeys& keys) {
  const std::string path = "strategy.config.zero_optimization." + name;
  const std::string text = boost::json::serialize(value);
  const auto known = std::ranges::find(kZeroKeys, name, &ZeroKey::key);
  if (known == kZeroKeys.end()) {
    return;
  }
  if (value.is_bool() || value.is_int64()) {
    keys.use(path, text, known->option, text);
  } else {
    keys.add_not_supported(path, text, "neither a number nor true or false");
  }
}

constexpr std::array kOptimizerKeys{ZeroKey{"pin_memory", "pin-memory"},
                                    ZeroKey{"ratio", "offload-ratio"},
                                    ZeroKey{"buffer_count", "offload-optimizer-buffer-count"}};
constexpr std::array kParamKeys{
    ZeroKey{"pin_memory", "pin-memory"}, ZeroKey{"buffer_count", "offload-param-buffer-count"},
    ZeroKey{"buffer_size", "offload-param-buffer-size"}, ZeroKey{"max_in_cpu", "max-in-cpu"}};

/// Whether "offload_optimizer" or "offload_param" moves its part off the GPU; NVMe is for stage 3.
bool is_offloaded(const ObservedFacts& facts, const std::string& path, std::int64_t stage,
                  SourceKeys& keys) {
  const std::string device = facts.text(path + ".device").value_or("none");
  const bool is_known = device == "cpu" || (device == "nvme" && stage == 3);
  if (!is_known && device != "none") {
    keys.add_not_supported(path + ".device", device, "simulated without");
  }
  return is_known;
}

void read_offload_keys(const ObservedFacts& facts, const std::string& path,
                       std::string_view device_option, std::span<const ZeroKey> known,
                       SourceKeys& keys) {
  if (facts.text(path + ".device") == "nvme") {
    keys.use(path + ".device", "nvme", device_option, "nvme");
  }
  for (const ZeroKey& key : known) {
    const std::string name = path + "." + std::string(key.key);
    if (facts.find(name) != nullptr) {
      keys.use(name, facts.shown(name), key.option, facts.shown(name));
    }
  }
}

void read_zero_offload(const ObservedFacts& facts, std::int64_t stage, SourceKeys& keys) {
  const std::string zero = "strategy.config.zero_optimization.";
  const bool optimizer = is_offloaded(facts, zero + "offload_optimizer", stage, keys);
  const bool params = is_offloaded(facts, zero + "offload_param", stage, keys);
  if (optimizer) {
    read_offload_keys(facts, zero + "offload_optimizer", "offload-optimizer-device", kOptimizerKeys,
                      keys);
  }
  if (params && stage == 3) {
    read_offload_keys(facts, zero + "offload_param", "offload-param-device", kParamKeys, keys);
  }
  if (params && stage < 3) {
    keys.add_not_supported(zero + "offload_param", facts.shown(zero + "offload_param"),
                           "only stage 3 offloads parameters; simulated without");
  } else if (params) {
    keys.use(zero + "offload_param", facts.shown(zero + "offload_param"), "offload",
             optimizer ? "both" : "params");
  }
  if (optimizer && (!params || stage < 3)) {
    keys.use(zero + "offload_optimizer", facts.shown(zero + "offload_optimizer"), "offload",
             "optimizer");
  }
}

/// Ulysses: the ranks that have a part of each sequence. Returns their number.
std::int64_t read_shared_sequences(const ObservedFacts& facts, SourceKeys& keys) {
  const std::int64_t shared = sequence_ranks(facts);
  const std::string number = std::to_string(shared);
  if (shared > 1) {
    keys.use("strategy.sequence_ranks", number, "cp", number);
    keys.use("strategy.sequence_attention", "ulysses", "cp-kind", "ulysses");
  } else if (facts.whole("strategy.sequence_ranks").value_or(1) > 1) {
    keys.add_not_supported("strategy.sequence_ranks", facts.shown("strategy.sequence_ranks"),
                           "what exchanges the parts of a sequence was not seen; simulated as "
                           "whole sequences; give --seq, --dp, --cp and --cp-kind",
                           "cp");
  }
  return shared;
}

void read_deepspeed(const ObservedFacts& facts, std::int64_t ranks, SourceKeys& keys) {
  const std::int64_t stage = facts.whole("strategy.stage").value_or(0);
  use_ranks(facts, ranks / read_shared_sequences(facts, keys), fmt::format("zero{}", stage), keys);
  if (stage == 0) {
    return;
  }
  if (facts.flag("model.zero_init").value_or(false)) {
    keys.use("model.zero_init", "true", "zero-init", "true");
  }
  const boost::json::value* const zero = facts.find("strategy.config.zero_optimization");
  if (zero != nullptr && zero->is_object()) {
    for (const auto& [name, value] : zero->get_object()) {
      read_zero_key(name, value, keys);
    }
    read_zero_offload(facts, stage, keys);
  }
  read_observed_deepspeed(facts, known_zero_keys(), keys);
}

/// Ranks that split tensors, by the names that meshes give them.
std::int64_t read_mesh(const ObservedFacts& facts, SourceKeys& keys) {
  const boost::json::value* const mesh = facts.find("strategy.mesh");
  const bool is_alone = facts.text("strategy.kind") == "none";
  std::int64_t split = 1;
  for (const auto& [name, size] : mesh == nullptr ? boost::json::object() : mesh->as_object()) {
    const std::string_view dimension = name;
    if (size.is_int64() && (dimension.find("tp") != std::string_view::npos ||
                            (is_alone && mesh->as_object().size() == 1))) {
      split = size.get_int64();
      keys.use("strategy.mesh." + std::string(dimension), std::to_string(split), "tp",
               std::to_string(split));
      keys.use("strategy.mesh." + std::string(dimension), std::to_string(split), "tp-kind",
               "dtensor");
    } else if (dimension.find("cp") != std::string_view::npos) {
      keys.add_not_supported("strategy.mesh." + std::string(dimension),
                             boost::json::serialize(size), "give --cp");
    }
  }
  return split;
}

/// Hooks of torch.autograd.graph around the model's forward.
void read_saved_tensors(const ObservedFacts& facts, SourceKeys& keys) {
  const std::string place = facts.text("saved_tensors").value_or("");
  const bool is_offloaded = facts.flag("strategy.offload").value_or(false);
  if (place == "host" && !is_offloaded) {
    keys.use("saved_tensors", place, "offload", "activations");
  } else if (place == "host") {
    keys.add_not_supported("saved_tensors", place,
                           "--offload has one value; simulated with activations on the GPU, which "
                           "takes more memory");
  } else if (!place.empty()) {
    keys.add_not_supported("saved_tensors", place, "hooks of saved tensors; simulated without");
  }
}

/// The micro-batches before a step's last are not reduced.
void read_syncs(const ObservedFacts& facts, SourceKeys& keys) {
  for (int i = 0; facts.flag(fmt::format("strategy.syncs.{}", i)); ++i) {
    if (!*facts.flag(fmt::format("strategy.syncs.{}", i))) {
      return keys.use("strategy.syncs", facts.shown("strategy.syncs"), "no-sync", "true");
    }
  }
}

}  // namespace

std::int64_t sequence_ranks(const ObservedFacts& facts) {
  return facts.text("strategy.sequence_attention") == "ulysses"
             ? std::max<std::int64_t>(facts.whole("strategy.sequence_ranks").value_or(1), 1)
             : 1;
}

void read_observed_strategy(const ObservedFacts& facts, SourceKeys& keys) {
  const std::string kind = facts.text("strategy.kind").value_or("none");
  const std::int64_t world = facts.whole("strategy.ranks").value_or(1);
  const std::int64_t ranks = world / std::max<std::int64_t>(read_mesh(facts, keys), 1);
  if (kind == "ddp") {
    read_ddp(facts, ranks, keys);
  } else if (kind == "fsdp1") {
    read_fsdp1(facts, ranks, keys);
  } else if (kind == "fsdp2") {
    read_fsdp2(facts, ranks, keys);
  } else if (kind == "deepspeed") {
    read_deepspeed(facts, ranks, keys);
  } else if (ranks > 1 && facts.text("loop") == "megatron") {
    keys.add_not_supported("strategy.ranks", std::to_string(ranks),
                           "how Megatron-Core spreads the model over them was not seen; give --dp, "
                           "--tp, --pp and --sp",
                           "dp");
  } else if (ranks > 1) {
    keys.add_not_supported("strategy.ranks", std::to_string(ranks),
                           "no wrapper was seen that spreads the model over them");
  }
  read_saved_tensors(facts, keys);
  read_syncs(facts, keys);
}

}  // namespace highwater
