#include "workloads/recorded/recorded_plan.hpp"

#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "traces/error.hpp"
#include "workloads/plan/catalog/hf_config.hpp"
#include "workloads/plan/options/read_plan.hpp"
#include "workloads/plan/training_plan.hpp"
#include "workloads/recorded/recorded_words.hpp"
#include "workloads/recorded/unsupported.hpp"

namespace highwater::recorded {
namespace {

ModelSpec model_of(const JsonField& root, const OptionWords& words, const std::string& source) {
  const std::string* const name = find_word(words, "model");
  if (name == nullptr) {
    root.at("case").fail("the case names no model");
  }
  try {
    ModelSpec model = model_from_json(root.at("model").value(), source);
    model.name = *name;
    return model;
  } catch (const InputError& error) {
    throw Unsupported{error.what()};  // a family that is not covered
  }
}

/// The recorded device as a plan names it: the profile that the rig was given, or the one of the
/// same compute capability, with the recorded amount of memory.
Gpu read_plan_gpu(const JsonField& fields, const RecordedGpu& recorded) {
  const auto rig = fields.find("rig");
  const auto profile = rig ? rig->find("profile") : std::nullopt;
  const Gpu* known = profile ? find_gpu(profile->text()) : nullptr;
  if (known == nullptr && default_gpu().major == recorded.major &&
      default_gpu().minor == recorded.minor) {
    known = &default_gpu();
  }
  for (const Gpu& gpu : known_gpus()) {
    if (known == nullptr && gpu.major == recorded.major && gpu.minor == recorded.minor) {
      known = &gpu;
    }
  }
  if (known == nullptr) {
    throw Unsupported{fmt::format("unknown GPU '{}' (compute capability {}.{})", recorded.name,
                                  recorded.major, recorded.minor)};
  }
  Gpu gpu = *known;
  gpu.total_memory = recorded.total_memory;
  return gpu;
}

bool runs_megatron(const OptionWords& words) {
  const std::string* const framework = find_word(words, "framework");
  return framework != nullptr && *framework == "megatron";
}

/// Megatron-Core's recorder gives all experts the same number of tokens.
bool says_routing(const OptionWords& words) {
  return find_word(words, "experts") != nullptr || runs_megatron(words);
}

/// A device that computes nothing routes no tokens to any expert: a loop over the experts that
/// received some then allocates nothing, unlike any real run.
void require_truth(const JsonField& root, const OptionWords& words) {
  const JsonField config = root.at("model").at("config");
  const auto has_experts = [&](std::string_view key) {
    const auto field = config.find(key);
    return field && field->value().is_int64() && field->integer() > 0;
  };
  const bool is_mixture = has_experts("num_local_experts") || has_experts("n_routed_experts") ||
                          has_experts("num_experts");
  const auto fake = root.find("fake_device");
  if (is_mixture && fake && fake->boolean() && !says_routing(words)) {
    throw Unsupported{
        "this recording is not ground truth: its fake device computed no routing, so no expert got "
        "a token"};
  }
}

/// A probe records single operations to establish facts; no plan corresponds to them.
void require_training(const JsonField& root) {
  const auto probe = root.at("case").find("probe");
  if (probe && !probe->is_null()) {
    throw Unsupported{fmt::format("a probe ({}) of single operations, not a training run",
                                  probe->at("kind").text())};
  }
}

/// The rank is an option of commands, not of plans.
int take_rank(OptionWords& words) {
  const std::string* const text = find_word(words, "rank");
  int rank = 0;
  if (text == nullptr) {
    return rank;
  }
  const char* const end = text->data() + text->size();
  if (std::from_chars(text->data(), end, rank) != std::from_chars_result{end, std::errc{}} ||
      rank < 0) {
    throw Unsupported{fmt::format("--rank {}: no rank", *text)};
  }
  std::erase_if(words, [](const OptionWord& word) { return word.first == "rank"; });
  return rank;
}

Versions versions_of(const RecordedCase& recorded) {
  const auto release = [](const std::string& of_file, const std::string& standard) {
    return of_file.empty() ? standard : of_file;
  };
  const Versions newest;
  return {.torch = recorded.torch,
          .transformers = release(recorded.transformers, newest.transformers),
          .deepspeed = release(recorded.deepspeed, newest.deepspeed)};
}

TrainingPlan plan_of_words(const OptionWords& words, const ModelSpec& model) {
  std::vector<std::string> problems;
  TrainingPlan plan = read_plan_words(words, problems, &model);
  if (!problems.empty()) {
    throw Unsupported{problems.front()};
  }
  return plan;
}

}  // namespace

TrainingPlan read_plan(const JsonField& root, const RecordedCase& recorded,
                       const std::string& source) {
  require_training(root);
  OptionWords words = words_of_case(root, source);
  require_truth(root, words);
  if (recorded.sequence_lengths.empty()) {
    throw Unsupported{"the file lacks the sequence lengths"};
  }
  const int rank = take_rank(words);
  if (!complaint_about("torch", recorded.torch)) {
    words.emplace_back("torch", recorded.torch);  // what other options imply can depend on it
  }
  if (recorded.is_simulated_device && find_word(words, "cudnn-workspaces") == nullptr) {
    words.emplace_back("cudnn-workspaces", "none");  // tools/python/measure has no cuDNN to ask
  }
  if (runs_megatron(words) && find_word(words, "transformer-impl") == nullptr) {
    words.emplace_back("transformer-impl", "local");  // record_megatron.py has no other layers
  }
  TrainingPlan plan = plan_of_words(words, model_of(root, words, source));
  plan.seq = recorded.sequence_lengths;
  plan.parallel.rank = rank;
  plan.gpu = read_plan_gpu(root.at("case"), recorded.gpu);
  plan.versions = versions_of(recorded);
  return plan;
}

}  // namespace highwater::recorded
