// DeepSpeed's configuration as a recording has it: its keys mean what they mean in a file.
#include <algorithm>

#include <boost/json/serialize.hpp>

#include "workloads/sources/observed_parts.hpp"
#include "workloads/sources/programs/hugging_face/hugging_face.hpp"
#include "workloads/sources/rules/key_table.hpp"
#include "workloads/sources/settings/read_settings.hpp"

namespace highwater {
namespace {

constexpr std::string_view kPath = "strategy.config.";
constexpr std::string_view kZero = "zero_optimization.";

/// "overlap_comm" of "zero_optimization.overlap_comm", "offload_param" of what is below it; empty
/// outside.
std::string_view member_of_zero(std::string_view key) {
  return key.starts_with(kZero)
             ? key.substr(kZero.size(), key.find('.', kZero.size()) - kZero.size())
             : std::string_view{};
}

// Outside "zero_optimization" batches, precision and clipping were seen as they are.
bool decides(const KeyRule& rule, std::string_view member) {
  return !member.empty() || rule.use == KeyRule::Use::not_supported;
}

}  // namespace

void read_observed_deepspeed(const ObservedFacts& facts, std::span<const std::string_view> known,
                             SourceKeys& keys) {
  const boost::json::value* const config = facts.find("strategy.config");
  if (config == nullptr || !config->is_object()) {
    return;
  }
  static const KeyTable kTable = key_table("deepspeed", {program_table::hugging_face_readers()});
  const SettingList all = read_json_settings(boost::json::serialize(*config), "strategy.config");
  for (Setting setting : all.list()) {
    const std::string key = setting.key;
    const std::string_view member = member_of_zero(key);
    if (std::ranges::find(known, member) != known.end()) {
      continue;
    }
    const KeyRule* const rule = kTable.find(key);
    setting.key = std::string(kPath) + key;
    if (rule != nullptr && decides(*rule, member)) {
      apply_rule(*rule, setting, all, keys);
    } else if (rule == nullptr && !member.empty()) {
      keys.add_not_supported(setting.key, setting.value, "plans have no such option");
    }
  }
}

}  // namespace highwater
