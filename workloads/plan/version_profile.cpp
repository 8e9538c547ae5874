#include "workloads/plan/version_profile.hpp"

#include <array>
#include <span>

#include "traces/release.hpp"
#include "workloads/plan/model/overloaded.hpp"

namespace highwater {

namespace {

/// A profile and the release it starts with.
struct Row {
  Release from;
  VersionProfile profile;
};

constexpr VersionProfile kNewest{};

/// The class computes the loss itself: CrossEntropyLoss of shifted logits.
constexpr VersionProfile own_loss(bool slices, LogitsUpcast upcast, bool casts_back = false) {
  return {slices, upcast, false, LossShift::logits, casts_back};
}

constexpr VersionProfile loss_function(bool slices, LossShift shift,
                                       LogitsUpcast upcast = LogitsUpcast::never,
                                       bool casts_back = false) {
  return {slices, upcast, true, shift, casts_back};
}

// LLaMA, Qwen2, Gemma, Mixtral.
constexpr std::array kLlama{Row{{0, 0}, own_loss(false, LogitsUpcast::never)},
                            Row{{4, 31}, own_loss(false, LogitsUpcast::head)},
                            Row{{4, 45}, own_loss(true, LogitsUpcast::head)},
                            Row{{4, 46}, loss_function(true, LossShift::logits)},
                            Row{{4, 49}, kNewest}};

constexpr std::array kMistral{Row{{0, 0}, own_loss(false, LogitsUpcast::head)},
                              Row{{4, 45}, own_loss(true, LogitsUpcast::head)},
                              Row{{4, 48}, loss_function(true, LossShift::logits)},
                              Row{{4, 49}, kNewest}};

// 4.51 and 4.52 were not read: the slices came after 4.50 and not later than 4.53.
constexpr std::array kGpt2{Row{{0, 0}, own_loss(false, LogitsUpcast::never)},
                           Row{{4, 48}, loss_function(false, LossShift::logits)},
                           Row{{4, 49}, loss_function(false, LossShift::labels)},
                           Row{{4, 53}, kNewest}};

// OPT, BLOOM, BioGPT, GPTBigCode.
constexpr std::array kOpt{Row{{0, 0}, own_loss(false, LogitsUpcast::never)},
                          Row{{4, 48}, loss_function(false, LossShift::logits)},
                          Row{{4, 49}, loss_function(false, LossShift::labels)},
                          Row{{5, 0}, kNewest}};

constexpr std::array kGptNeo{
    Row{{0, 0}, own_loss(false, LogitsUpcast::around_loss, true)},
    Row{{4, 48}, loss_function(false, LossShift::logits, LogitsUpcast::around_loss, true)},
    Row{{4, 49}, loss_function(false, LossShift::labels, LogitsUpcast::around_loss, true)},
    Row{{5, 0}, kNewest}};

// GPT-J and CodeGen.
constexpr std::array kGptJ{
    Row{{0, 0}, own_loss(false, LogitsUpcast::head, true)},
    Row{{4, 48}, loss_function(false, LossShift::logits, LogitsUpcast::head, true)},
    Row{{4, 49}, loss_function(false, LossShift::labels, LogitsUpcast::head, true)},
    Row{{5, 0}, kNewest}};

// Families added by newer releases, or absent from transformers.
constexpr std::array kAlways{Row{{0, 0}, kNewest}};

std::span<const Row> rows_of(const ModelConfig& config) {
  using Rows = std::span<const Row>;
  return std::visit(Overloaded{[](const Gpt2Config&) { return Rows(kGpt2); },
                               [](const OptConfig&) { return Rows(kOpt); },
                               [](const BloomConfig&) { return Rows(kOpt); },
                               [](const BioGptConfig&) { return Rows(kOpt); },
                               [](const GptBigCodeConfig&) { return Rows(kOpt); },
                               [](const GptNeoConfig&) { return Rows(kGptNeo); },
                               [](const GptJConfig&) { return Rows(kGptJ); },
                               [](const CodegenConfig&) { return Rows(kGptJ); },
                               [](const LlamaConfig& llama) {
                                 return llama.family == LlamaFamily::mistral ? Rows(kMistral)
                                                                             : Rows(kLlama);
                               },
                               [](const MixtralConfig&) { return Rows(kLlama); },
                               [](const auto&) { return Rows(kAlways); }},
                    config);
}

}  // namespace

VersionProfile version_profile(const TrainingPlan& plan) {
  const Release release = release_of(plan.versions.transformers);
  VersionProfile profile = kNewest;
  for (const Row& row : rows_of(plan.model.config)) {
    if (row.from <= release) {
      profile = row.profile;
    }
  }
  return profile;
}

}  // namespace highwater
