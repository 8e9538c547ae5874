#include "workloads/sources/programs/recognition.hpp"

#include <algorithm>
#include <array>

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
  constexpr std::array<std::string_view, 14> kNames{"model",
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
                                                    "pretrained_checkpoint"};
  const std::string_view name = key.substr(key.rfind('.') + 1);
  return std::ranges::any_of(kNames,
                             [&](std::string_view each) { return is_same_key(each, name); });
}

}  // namespace

KnownShare known_share(const Program& program, const SettingList& settings) {
  KnownShare share{.program = &program};
  for (const Setting& setting : settings.list()) {
    if (!has_name(setting)) {
      continue;
    }
    const KeyRule* const rule = rule_of(program, setting);
    const bool is_known = rule != nullptr;
    share.says_something |= is_known && rule->use != KeyRule::Use::no_effect;
    share.all += 1;
    share.known += is_known ? 1 : 0;
    if (!is_known && share.first_unknown == nullptr) {
      share.first_unknown = &setting;
    }
  }
  return share;
}

KnownShare best_share(const SettingList& settings) {
  KnownShare best;
  for (const Program* const program : programs()) {
    if (has_mark(*program, settings)) {
      const KnownShare share = known_share(*program, settings);
      best = share.known > best.known ? share : best;
    }
  }
  return best;
}

bool knows_half(const KnownShare& share) {
  return share.program != nullptr && 2 * share.known >= share.all;
}

bool is_recognised(const KnownShare& share) {
  return knows_half(share) && share.says_something;
}

const Program* program_of_file(const SettingList& settings) {
  const KnownShare best = best_share(settings);
  return is_recognised(best) ? best.program : nullptr;
}

const Setting* unread_model(const Program& program, const SettingList& settings) {
  const auto found = std::ranges::find_if(settings.list(), [&](const Setting& setting) {
    return has_name(setting) && setting.kind == SettingKind::text && !setting.value.empty() &&
           names_model(setting.key) && rule_of(program, setting) == nullptr;
  });
  return found == settings.list().end() ? nullptr : &*found;
}

}  // namespace highwater
