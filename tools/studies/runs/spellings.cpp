#include "tools/studies/runs/spellings.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "tools/studies/runs/simulate_run.hpp"
#include "tools/text/usage_errors.hpp"
#include "traces/error.hpp"
#include "workloads/plan/model/other_model.hpp"

namespace highwater {
namespace {

bool is_plain_loop(const TrainingPlan& plan) {
  return (plan.framework == Framework::hf || plan.framework == Framework::accelerate) &&
         plan.training;
}

bool has_lora(const TrainingPlan& plan) {
  return plan.lora.rank > 0 && plan.training;
}

/// A model of the name that is given, whole on its GPU.
bool loads_by_name(const TrainingPlan& plan) {
  return plan.framework == Framework::trl_sft && plan.parallel.dp_kind == DataParallel::ddp &&
         !is_quantized(plan.quantization);
}

/// A loop that PyTorch carries out, whose batches a tokenizer may make. A model that is given no
/// mask is refused at once.
bool may_pad_texts(const TrainingPlan& plan) {
  const bool is_scripts = plan.framework == Framework::hf ||
                          plan.framework == Framework::accelerate ||
                          plan.framework == Framework::trainer;
  return is_scripts && plan.training && plan.engine == EngineKind::torch;
}

/// Those with which weight decay is usual; torchvision's and timm's recipes all have it.
bool may_decay(const TrainingPlan& plan) {
  return is_plain_loop(plan) && (plan.optimizer.kind == OptimizerKind::sgd_momentum ||
                                 plan.optimizer.kind == OptimizerKind::sgd);
}

/// torchvision's detectors of images of any size, whose batches are as high as their highest image
/// and as wide as their widest.
bool may_group_images(const TrainingPlan& plan) {
  constexpr std::array<std::string_view, 3> kDetectors{"rcnn", "retinanet", "fcos"};
  if (!is_other(plan.model.config) || plan.batch < 2 || plan.inputs.image) {
    return false;
  }
  const std::string_view python = plan.model.config.as<OtherConfig>().python;
  return python.starts_with("torchvision:") &&
         std::ranges::any_of(kDetectors, [&](std::string_view name) {
           return python.find(name) != std::string_view::npos;
         });
}

/// A way of writing, where it is met, and whether it is worth the seconds that PyTorch takes.
struct CommonSpelling {
  Spelling spelling;
  bool (*is_met)(const TrainingPlan& plan) = nullptr;
  bool by_torch = false;
};

/// Scripts of transformers' documents have the first, tutorials of PyTorch the second, and many
/// both. The scripts of PEFT's documents drop out 0.05 or 0.1; its default is 0, and any other
/// probability takes the same memory.
constexpr std::array kSpellings{
    CommonSpelling{{"keep-logits", "false", "loss = model(...).loss", "", ""}, is_plain_loop, true},
    CommonSpelling{{"zero-grad-at", "backward",
                    "optimizer.zero_grad() right before "
                    "loss.backward()",
                    "", ""},
                   is_plain_loop,
                   true},
    CommonSpelling{{"zero-grad-at", "backward",
                    "loss = model(...).loss and optimizer.zero_grad() right before loss.backward()",
                    "keep-logits", "false"},
                   is_plain_loop,
                   false},
    CommonSpelling{{"init", "device", "with torch.device(\"cuda\"): around the model", "", ""},
                   is_plain_loop,
                   false},
    CommonSpelling{
        {"attention-mask", "padded", "tokenizer(..., padding=True)", "", ""}, may_pad_texts, true},
    CommonSpelling{
        {"weight-decay", "0.0001", "SGD(..., weight_decay=...) above 0", "", ""}, may_decay, true},
    CommonSpelling{{"weight-decay", "0.0001",
                    "SGD(..., weight_decay=...) above 0 and optimizer.zero_grad() right before "
                    "loss.backward()",
                    "zero-grad-at", "backward"},
                   may_decay,
                   true},
    CommonSpelling{{"image-size", "480x640", "batches of images of one orientation", "", ""},
                   may_group_images,
                   true},
    CommonSpelling{
        {"init", "pretrained", "SFTTrainer(model=\"owner/name\")", "", ""}, loads_by_name, false},
    CommonSpelling{
        {"lora-dropout", "0.05", "LoraConfig(lora_dropout=...) above 0", "", ""}, has_lora, true}};

constexpr double kShown = 0.01;

bool differ(Bytes a, Bytes b) {
  const auto first = static_cast<double>(a.count());
  return std::abs(first - static_cast<double>(b.count())) >= kShown * first;
}

/// Whether the plan leaves the option open and means something else by it.
bool is_open(const PlannedRun& run, std::string_view option, std::string_view word) {
  const std::string name(option);
  return find_word(run.words, name) == nullptr && option_called(name).text(run.plan) != word;
}

OptionWords words_of(const Spelling& spelling) {
  OptionWords words{{std::string(spelling.option), std::string(spelling.word)}};
  if (!spelling.also_option.empty()) {
    words.emplace_back(spelling.also_option, spelling.also_word);
  }
  return words;
}

/// Absent for a plan that this way of writing makes illegal, or that has a part of it already.
std::optional<SpelledRun> spelled(const PlannedRun& run, const MemoryRequest& memory,
                                  const Spelling& spelling) {
  if (!is_open(run, spelling.option, spelling.word) ||
      (!spelling.also_option.empty() && !is_open(run, spelling.also_option, spelling.also_word))) {
    return std::nullopt;
  }
  try {
    PlannedRun other = checked_run(with_words(run.words, words_of(spelling)), run.plan.model);
    other.plan.parallel.rank = run.plan.parallel.rank;
    const PlanPeaks peaks = simulate_peaks(other, memory);
    return SpelledRun{spelling, peaks.peak,
                      peaks.available ? std::optional(peaks.fits) : std::nullopt};
  } catch (const UsageErrors&) {
    return std::nullopt;
  } catch (const InputError&) {  // PyTorch could not carry it out; the answer stands without it
    return std::nullopt;
  }
}

}  // namespace

std::vector<SpelledRun> other_spellings(const PlannedRun& run, const MemoryRequest& memory,
                                        const Usage& told) {
  std::vector<SpelledRun> others;
  const bool is_recorded = run.recording != nullptr;  // and so is how its script is written
  if (is_recorded) {
    return others;
  }
  const bool is_slow = run.plan.engine == EngineKind::torch;  // seconds for each
  for (const auto& [spelling, is_met, by_torch] : kSpellings) {
    if (!is_met(run.plan) || (is_slow && !by_torch)) {
      continue;
    }
    const std::optional<SpelledRun> other = spelled(run, memory, spelling);
    if (other && (differ(told.reserved, other->peak.reserved) ||
                  differ(told.allocated, other->peak.allocated))) {
      others.push_back(*other);
    }
  }
  return others;
}

}  // namespace highwater
