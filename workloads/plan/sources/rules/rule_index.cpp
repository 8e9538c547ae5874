#include "workloads/plan/sources/rules/rule_index.hpp"

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "workloads/plan/sources/settings/key_pattern.hpp"

namespace highwater {
namespace {

/// Keys by their name; patterns, of which a table has few, one by one.
class RuleIndex {
 public:
  explicit RuleIndex(std::span<const KeyRule> rules) : rules_(rules) {
    for (std::size_t i = 0; i < rules.size(); ++i) {
      if (rules[i].key.find('*') == std::string_view::npos) {
        names_.try_emplace(common_key(rules[i].key), i);
      } else {
        patterns_.push_back({i, KeyPattern(rules[i].key)});
      }
    }
  }

  [[nodiscard]] const KeyRule* find(std::string_view key) const {
    const std::string common = common_key(key);
    const auto name = names_.find(common);
    std::size_t first = name == names_.end() ? rules_.size() : name->second;
    for (const Pattern& pattern : patterns_) {
      if (pattern.place >= first) {
        break;
      }
      if (pattern.key.matches_common(common)) {
        first = pattern.place;
        break;
      }
    }
    return first == rules_.size() ? nullptr : &rules_[first];
  }

 private:
  struct Pattern {
    std::size_t place = 0;
    KeyPattern key;
  };

  std::span<const KeyRule> rules_;
  std::unordered_map<std::string, std::size_t> names_;
  std::vector<Pattern> patterns_;
};

/// Made when a table is asked first. Some tables are parts of others and begin alike.
const RuleIndex& index_of(std::span<const KeyRule> rules) {
  static std::mutex mutex;
  static std::unordered_map<const KeyRule*, std::unordered_map<std::size_t, RuleIndex>> made;
  const std::scoped_lock lock(mutex);
  return made[rules.data()].try_emplace(rules.size(), rules).first->second;
}

}  // namespace

const KeyRule* find_rule(std::span<const KeyRule> rules, std::string_view key) {
  return index_of(rules).find(key);
}

}  // namespace highwater
