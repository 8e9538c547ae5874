#include "workloads/sources/programs/recognition.hpp"

#include <algorithm>
#include <array>
#include <map>

#include "workloads/sources/programs/program.hpp"
#include "workloads/sources/rules/plain_key.hpp"

namespace highwater {
namespace {

const KeyRule* rule_of(const Program& program, const Setting& setting) {
  return program.keys.find(plain_key(program, setting.key));
}

/// Words of a launch line without a name say nothing about whose they are.
bool has_name(const Setting& setting) {
  return setting.key != "argument" && !setting.is_replaced;
}

bool has_key(const SettingList& settings, std::string_view pattern) {
  return pattern.find('*') == std::string_view::npos ? settings.find(pattern) != nullptr
                                                     : settings.has_like(pattern);
}

bool has_mark(const Program& program, const SettingList& settings) {
  return program.marks.empty() || std::ranges::any_of(program.marks, [&](std::string_view mark) {
           return has_key(settings, mark);
         });
}

/// The last part of keys by which programs name a model.
bool names_model(std::string_view key) {
  constexpr std::array<std::string_view, 16> kNames{"model",
                                                    "model_name",
                                                    "model_name_or_path",
                                                    "pretrained_model_name_or_path",
                                                    "model_id",
                                                    "model_path",
                                                    "model_id_or_path",
                                                    "base_model",
                                                    "hf_model",
                                                    "base_model_name_or_path",
                                                    "pretrained_model",
                                                    "hf_path",
                                                    "checkpoint_path",
                                                    "pretrained_checkpoint",
                                                    "base_model_id",
                                                    "base_model_path"};
  const std::string_view name = key.substr(key.rfind('.') + 1);
  return std::ranges::any_of(kNames,
                             [&](std::string_view each) { return is_same_key(each, name); });
}

/// "train_batch_size", and no batch of something else than training.
bool names_batch(std::string_view key) {
  constexpr std::array<std::string_view, 10> kOthers{"eval", "valid", "test",    "predict", "infer",
                                                     "dev",  "gener", "rollout", "prob",    "log"};
  const std::string_view name = key.substr(key.rfind('.') + 1);
  return matches_key("*batch_size*", name) &&
         std::ranges::none_of(kOthers, [&](std::string_view other) {
           return name.find(other) != std::string_view::npos;
         });
}

bool names_length(std::string_view key) {
  constexpr std::array<std::string_view, 28> kNames{"max_length",
                                                    "max_len",
                                                    "max_seq_length",
                                                    "max_seq_len",
                                                    "seq_length",
                                                    "seq_len",
                                                    "sequence_length",
                                                    "sequence_len",
                                                    "max_input_length",
                                                    "max_input_len",
                                                    "max_source_length",
                                                    "max_source_len",
                                                    "max_text_length",
                                                    "max_token_length",
                                                    "model_max_length",
                                                    "cutoff_len",
                                                    "cutoff_length",
                                                    "block_size",
                                                    "context_length",
                                                    "max_context_length",
                                                    "per_device_max_tokens",
                                                    "max_tokens_per_device",
                                                    "max_tokens_per_gpu",
                                                    "max_token_len",
                                                    "context_len",
                                                    "ctx_len",
                                                    "ctx_length",
                                                    "max_ctx_len"};
  const std::string_view name = key.substr(key.rfind('.') + 1);
  return std::ranges::any_of(kNames,
                             [&](std::string_view each) { return is_same_key(each, name); });
}

bool names(Decisive what, const Setting& setting) {
  switch (what) {
    case Decisive::model:
      return setting.kind == SettingKind::text && names_model(setting.key);
    case Decisive::batch:
      return names_batch(setting.key);
    case Decisive::length:
      return names_length(setting.key);
  }
  return false;
}

std::string_view section_of(std::string_view key) {
  const std::size_t dot = key.find('.');
  return dot == std::string_view::npos ? std::string_view{} : key.substr(0, dot);
}

/// "lora.r", "lora_rank", "peft.lora_alpha".
bool names_adapter(std::string_view key) {
  constexpr std::array<std::string_view, 3> kNames{"lora_r", "lora_rank", "lora_alpha"};
  constexpr std::array<std::string_view, 3> kSections{"lora", "qlora", "peft"};
  constexpr std::array<std::string_view, 3> kOfSections{"r", "rank", "alpha"};
  const auto is_one_of = [](const auto& names, std::string_view word) {
    return std::ranges::any_of(names,
                               [&](std::string_view each) { return is_same_key(each, word); });
  };
  const std::string_view name = key.substr(key.rfind('.') + 1);
  return is_one_of(kNames, name) ||
         (is_one_of(kSections, section_of(key)) && is_one_of(kOfSections, name));
}

/// Whether a rank stands there that the program would not look at: the file of a script that does.
bool leaves_adapters_out(const Program& program, const SettingList& settings) {
  return !program.adapters_with.empty() &&
         std::ranges::any_of(settings.list(),
                             [](const Setting& each) { return names_adapter(each.key); }) &&
         std::ranges::none_of(program.adapters_with,
                              [&](std::string_view key) { return settings.find(key) != nullptr; });
}

}  // namespace

KnownShare known_share(const Program& program, const SettingList& settings) {
  KnownShare share{.program = &program};
  std::map<std::string_view, bool> sections;  // whether one of its keys is known
  for (const Setting& setting : settings.list()) {
    if (!has_name(setting)) {
      continue;
    }
    const KeyRule* const rule = rule_of(program, setting);
    const bool is_known = rule != nullptr;
    share.says_something |= is_known && rule->use != KeyRule::Use::no_effect;
    share.all += 1;
    share.known += is_known ? 1 : 0;
    sections[section_of(setting.key)] |= is_known;
    if (!is_known && share.first_unknown == nullptr) {
      share.first_unknown = &setting;
    }
    if (!is_known && share.unread_adapter == nullptr && names_adapter(setting.key)) {
      share.unread_adapter = &setting;
    }
  }
  share.sections = sections.size();
  share.known_sections = static_cast<std::size_t>(
      std::ranges::count_if(sections, [](const auto& each) { return each.second; }));
  return share;
}

KnownShare best_share(const SettingList& settings, SettingsOf where) {
  KnownShare best;
  for (const Program* const program : programs()) {
    const bool is_guessed = where == SettingsOf::file || !program->is_known_by_name_only;
    if (is_guessed && has_mark(*program, settings) && !leaves_adapters_out(*program, settings)) {
      const KnownShare share = known_share(*program, settings);
      best = share.known > best.known ? share : best;
    }
  }
  return best;
}

bool knows_half(const KnownShare& share) {
  return share.program != nullptr && 2 * share.known >= share.all &&
         2 * share.known_sections >= share.sections;
}

bool is_recognised(const KnownShare& share) {
  return knows_half(share) && share.says_something && share.unread_adapter == nullptr;
}

const Program* program_of_file(const SettingList& settings) {
  const KnownShare best = best_share(settings, SettingsOf::file);
  return is_recognised(best) ? best.program : nullptr;
}

const Setting* unread_key(const Program& program, const SettingList& settings, Decisive what) {
  const auto found = std::ranges::find_if(settings.list(), [&](const Setting& setting) {
    return has_name(setting) && setting.kind != SettingKind::null && !setting.value.empty() &&
           names(what, setting) && rule_of(program, setting) == nullptr;
  });
  return found == settings.list().end() ? nullptr : &*found;
}

}  // namespace highwater
