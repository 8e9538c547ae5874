// Evaluation between the steps of training, simulated where --eval-batch is (plan/rules/
// evaluation.cpp). Elsewhere: a forward pass without gradients takes less than a step of training
// over as many sequences, and may take more over more of them.
//
// Sources: transformers 5.24 trainer.py evaluation_loop (no_grad; prediction_loss_only where
// nothing computes metrics, so no logits are kept), training_args.py per_device_eval_batch_size: 8;
// axolotl 0.21 core/builders: eval_batch_size is micro_batch_size unless given.
#include <optional>
#include <string>

#include "workloads/sources/programs/hugging_face/hugging_face.hpp"
#include "workloads/sources/programs/hugging_face/settings_facts.hpp"

namespace highwater::program_table {
namespace {

constexpr std::string_view kTrainersBatch = "8";

std::optional<std::string> training_batch(const SettingList& all) {
  return text_of(all, {"per_device_train_batch_size", "per_gpu_train_batch_size"});
}

/// Sequences of one GPU that are evaluated at once; absent: as many as in training.
std::optional<std::string> evaluation_batch(const SettingList& all) {
  const auto given =
      text_of(all, {"per_device_eval_batch_size", "per_gpu_eval_batch_size", "eval_batch_size"});
  return given || !training_batch(all) ? given : std::string(kTrainersBatch);
}

bool is_evaluating(const SettingList& all) {
  return is_any_on(all, {"eval_strategy", "evaluation_strategy", "do_eval", "do_predict",
                         "eval_on_start", "evaluate_during_training"});
}

std::optional<long long> number_of(const std::optional<std::string>& text) {
  return text ? whole_number(*text) : std::nullopt;
}

}  // namespace

void read_evaluation(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  const auto batch = evaluation_batch(all);
  const auto evaluated = number_of(batch);
  const auto trained =
      number_of(training_batch(all) ? training_batch(all) : text_of(all, {"micro_batch_size"}));
  if (says_no(setting)) {
    note_off(setting, keys);
  } else if (!evaluated) {
    keys.add_no_effect(
        setting.key, setting.value,
        "evaluation takes no gradients, and no more sequences at once than training");
  } else {
    const bool is_small = trained && *evaluated <= *trained;
    keys.use_if_simulated(setting.key, setting.value, "eval-batch", std::to_string(*evaluated),
                          is_small ? MemorySign::little : MemorySign::more);
  }
}

void read_eval_accumulation(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  if (says_no(setting) || !is_evaluating(all)) {
    note_off(setting, keys);
  } else if (const auto steps = whole_number(setting.value)) {
    keys.use_if_simulated(setting.key, setting.value, "eval-accumulation-steps",
                          std::to_string(*steps), MemorySign::little);
  }
}

}  // namespace highwater::program_table
