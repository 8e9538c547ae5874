#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "traces/release.hpp"
#include "workloads/plan/gpu.hpp"
#include "workloads/sources/observed_parts.hpp"

namespace highwater {
namespace {

void read_gpu(const ObservedFacts& facts, SourceKeys& keys) {
  const std::string name = facts.text("device.gpu").value_or("");
  const Gpu* const gpu = find_gpu(name);
  const auto capacity = facts.whole("device.capacity_bytes");
  if (gpu == nullptr) {
    keys.add_not_supported("device.gpu", name, "give --gpu");
  } else {
    keys.use("device.gpu", name, "gpu", name);
  }
  if (capacity &&
      (gpu == nullptr || static_cast<std::uint64_t>(*capacity) != gpu->total_memory.count())) {
    keys.use("device.capacity_bytes", std::to_string(*capacity), "capacity",
             std::to_string(*capacity));
  }
}

/// Recordings of before cuDNN was asked do not say how many of its plans there were.
void read_cudnn(const ObservedFacts& facts, SourceKeys& keys) {
  const auto not_counted = facts.whole("device.cudnn.not_counted");
  if (!not_counted || *not_counted > 0) {
    keys.use("device.cudnn.not_counted", facts.shown("device.cudnn.not_counted"),
             "cudnn-workspaces", "none");
  }
}

void read_rank(const ObservedFacts& facts, SourceKeys& keys) {
  if (const auto rank = facts.whole("device.rank")) {
    keys.use("device.rank", std::to_string(*rank), "rank", std::to_string(*rank));
  }
}

void read_settings(const ObservedFacts& facts, SourceKeys& keys) {
  const std::string settings = facts.text("device.alloc_conf").value_or("");
  if (!settings.empty()) {
    keys.use("device.alloc_conf", settings, "alloc-conf", settings);
  }
}

/// A package whose release a plan cannot name: the rules of one release are built in.
struct BuiltIn {
  std::string_view package;
  Release release;  ///< {0, 0}: of no consequence for what is simulated
};

constexpr std::array kReleaseOptions{std::string_view("torch"), std::string_view("transformers"),
                                     std::string_view("deepspeed"), std::string_view("torchtitan")};
constexpr std::array kBuiltIn{BuiltIn{"accelerate", {1, 15}}, BuiltIn{"peft", {0, 21}},
                              BuiltIn{"trl", {1, 16}},        BuiltIn{"torchtune", {0, 6}},
                              BuiltIn{"lightning", {2, 6}},   BuiltIn{"megatron-core", {0, 16}}};

/// trl 1.7, trainer/sft_config.py loss_type: chunked_nll unless told otherwise, nll before.
constexpr Release kTrlWithoutLogits{1, 7};

/// Many packages are imported by others and have no part in the run.
bool takes_part(const ObservedFacts& facts, std::string_view package) {
  const std::string loop = facts.text("loop").value_or("");
  if (package == "deepspeed") {
    return facts.text("strategy.kind") == "deepspeed";
  }
  if (package == "peft") {
    return facts.find("adapters.0") != nullptr;
  }
  if (package == "bitsandbytes") {
    return facts.text("optimizers.0.class").value_or("").starts_with("bitsandbytes");
  }
  if (package == "torchtitan" || package == "torchtune" || package == "lightning" ||
      package == "accelerate" || package == "megatron-core" || package == "torchao") {
    const bool is_trainer = loop == "trainer" || loop == "SFTTrainer";
    return package.starts_with(loop) || (package == "accelerate" && is_trainer);
  }
  return package != "trl" || loop == "SFTTrainer";
}

void read_release(const ObservedFacts& facts, const std::string& package,
                  const std::string& version, SourceKeys& keys) {
  const std::string path = "releases." + package;
  const auto release = parse_release(version);
  if (!takes_part(facts, package)) {
    keys.add_no_effect(path, version, "imported, but without a part in the run");
    return;
  }
  if (std::ranges::find(kReleaseOptions, package) != kReleaseOptions.end() && release) {
    keys.use(path, version, package, to_string(*release));
    return;
  }
  if (package == "trl" && release && *release < kTrlWithoutLogits) {
    keys.use(path, version, "loss", "hf");
    return;
  }
  const auto known = std::ranges::find(kBuiltIn, package, &BuiltIn::package);
  if (known != kBuiltIn.end() && release == known->release) {
    keys.add_no_effect(path, version, "the release that is simulated");
  } else if (known != kBuiltIn.end()) {
    keys.add_not_supported(path, version, "simulated as " + to_string(known->release));
  } else {
    keys.add_not_supported(path, version, "plans cannot name its release");
  }
}

void read_releases(const ObservedFacts& facts, SourceKeys& keys) {
  const boost::json::value* const releases = facts.find("releases");
  if (releases == nullptr || !releases->is_object()) {
    return;
  }
  for (const auto& [package, version] : releases->get_object()) {
    if (version.is_string()) {
      read_release(facts, package, std::string(version.get_string()), keys);
    }
  }
}

}  // namespace

void read_observed_device(const ObservedFacts& facts, SourceKeys& keys) {
  read_gpu(facts, keys);
  read_cudnn(facts, keys);
  read_rank(facts, keys);
  read_settings(facts, keys);
  read_releases(facts, keys);
}

}  // namespace highwater
