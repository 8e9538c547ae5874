#include "workloads/sources/programs/own_changes.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <ranges>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "traces/error.hpp"
#include "workloads/sources/combined_words.hpp"
#include "workloads/sources/programs/own_settings.hpp"
#include "workloads/sources/programs/program.hpp"
#include "workloads/sources/rules/plain_key.hpp"
#include "workloads/sources/settings/scalar.hpp"
#include "workloads/sources/shortest_words.hpp"

namespace highwater {
namespace {

constexpr std::string_view kAllocConf = "alloc-conf";

/// PyTorch reads the first name since 2.9 and the second one in all releases
/// (c10/core/AllocatorConfig.h).
constexpr std::string_view kAllocVariable = "PYTORCH_CUDA_ALLOC_CONF";

/// Keys and values that may say a word.
struct OwnCandidate {
  std::vector<std::pair<std::string, std::string>> set;
  std::string python;
};

/// One key that is changed, as it is written.
struct WrittenKey {
  Setting setting;
  std::string python;
};

using WordMap = std::map<std::string, std::string>;

WordMap map_of(const OptionWords& words) {
  return {words.begin(), words.end()};
}

std::string filled_in(std::string_view pattern, const std::string& word) {
  std::string text;
  for (const char each : pattern) {
    each == '$' ? text += word : text += each;
  }
  return text;
}

/// As a file that lacks the key would have it.
std::string added_key(const OwnSettings& own, std::string_view key) {
  std::string text(key);
  if (own.form == ProgramForm::Kind::line && own.program->form.has_dashes) {
    std::ranges::replace(text, '_', '-');
  }
  return text;
}

/// The key as the file has it, or would have it; empty where it is not known how the program
/// writes it.
std::string written_key(const OwnSettings& own, std::string_view key) {
  for (const Setting& setting : own.settings.list()) {
    if (is_same_key(plain_key(*own.program, setting.key), key)) {
      return setting.key;
    }
  }
  for (const RenamedKey& row : own.program->renamed) {
    if (is_same_key(row.common, key)) {
      return std::string(row.own);
    }
  }
  const bool has_sections = !own.program->sections.empty() && own.form != ProgramForm::Kind::line;
  return has_sections ? std::string() : added_key(own, key);
}

void add_listed(const OwnSettings& own, const OptionWord& wanted,
                std::vector<OwnCandidate>& candidates) {
  for (const ProgramChange& change : own.program->changes) {
    if (change.option != wanted.first || (change.word != "*" && change.word != wanted.second)) {
      continue;
    }
    OwnCandidate candidate{.python = filled_in(change.python, wanted.second)};
    for (const auto& [key, value] : change.set) {
      const std::string written = written_key(own, key);
      candidate.set.emplace_back(written.empty() ? added_key(own, key) : written,
                                 filled_in(value, wanted.second));
    }
    candidates.push_back(std::move(candidate));
  }
}

/// Of a key that becomes an option, the value for a word of it.
std::string value_for(const KeyRule& rule, const std::string& word) {
  const auto found = std::ranges::find(rule.words, word, &ValueWord::word);
  return found == rule.words.end() ? word : std::string(found->value);
}

/// Keys that the file has come before those that it would get.
void add_plain(const OwnSettings& own, const OptionWord& wanted,
               std::vector<OwnCandidate>& candidates) {
  std::vector<OwnCandidate> added;
  for (const KeyRule& rule : own.program->keys.rules()) {
    if (rule.use != KeyRule::Use::option || rule.text != wanted.first ||
        rule.key.find('*') != std::string_view::npos) {
      continue;
    }
    const std::string key = written_key(own, rule.key);
    if (!key.empty()) {
      std::vector<OwnCandidate>& list = own.settings.find(key) != nullptr ? candidates : added;
      list.push_back({{{key, value_for(rule, wanted.second)}}, ""});
    }
  }
  std::ranges::move(added, std::back_inserter(candidates));
}

std::vector<OwnCandidate> candidates_for(const OwnSettings& own, const OptionWord& wanted) {
  std::vector<OwnCandidate> candidates;
  add_listed(own, wanted, candidates);
  add_plain(own, wanted, candidates);
  return candidates;
}

Setting setting_of(const std::string& key, const std::string& value) {
  Setting setting = typed_scalar(value);
  setting.key = key;
  return setting;
}

SettingList with_settings(SettingList settings, const OwnCandidate& candidate) {
  for (const auto& [key, value] : candidate.set) {
    Setting setting = setting_of(key, value);
    const Setting* const found = settings.find(key);
    if (found == nullptr) {
      settings.add(std::move(setting));
    } else {
      settings.replace_value(static_cast<std::size_t>(found - settings.list().data()),
                             std::move(setting.value), setting.kind);
    }
  }
  return settings;
}

/// `true` of a file is `True` in Python, and words are quoted.
std::string python_value(const Setting& setting) {
  switch (setting.kind) {
    case SettingKind::boolean:
      return setting.value == "true" ? "True" : "False";
    case SettingKind::number:
      return setting.value;
    default:
      return fmt::format("\"{}\"", setting.value);
  }
}

/// A flag of a launch line needs no value.
std::string line_words(const Setting& setting) {
  const bool is_flag = setting.kind == SettingKind::boolean && setting.value == "true";
  return is_flag ? "--" + setting.key : fmt::format("--{} {}", setting.key, setting.value);
}

std::string written(const WrittenKey& key, ProgramForm::Kind form) {
  switch (form) {
    case ProgramForm::Kind::python:
      return fmt::format("{}={}", key.setting.key, python_value(key.setting));
    case ProgramForm::Kind::line:
      return line_words(key.setting);
    case ProgramForm::Kind::assignments:
      return fmt::format("{}={}", key.setting.key, key.setting.value);
    case ProgramForm::Kind::none:
    case ProgramForm::Kind::file:
      break;
  }
  return fmt::format("{}: {}", key.setting.key, key.setting.value);
}

/// Arguments of the program's class, then calls of others.
std::string python_text(const std::vector<WrittenKey>& keys, const std::string& place) {
  std::vector<std::string> arguments;
  std::vector<std::string> calls;
  for (const WrittenKey& key : keys) {
    if (key.python.empty()) {
      arguments.push_back(written(key, ProgramForm::Kind::python));
    } else if (std::ranges::find(calls, key.python) == calls.end()) {
      calls.push_back(key.python);
    }
  }
  if (!arguments.empty()) {
    calls.insert(calls.begin(), fmt::format("{}({})", place, fmt::join(arguments, ", ")));
  }
  return fmt::format("{}", fmt::join(calls, ", "));
}

/// What the plan should be: the words of before with those of `wanted`.
WordMap expected_words(WordMap words, const OptionWords& wanted) {
  for (const auto& [option, word] : wanted) {
    words.insert_or_assign(option, word);
  }
  return map_of(shortest_words({words.begin(), words.end()}));
}

/// Defaults are in no list of words.
bool says(const WordMap& words, const OptionWord& wanted) {
  return expected_words(words, {wanted}) == words;
}

/// The search of one question: settings are added until all words are said.
class OwnSearch {
 public:
  OwnSearch(std::span<const PlanSource> sources, OptionWords given)
      : sources_(sources.begin(), sources.end()),
        given_(std::move(given)),
        changed_(sources.size()) {}

  [[nodiscard]] WordMap words() const { return map_of(combined_words(sources_, given_)); }

  /// Whether some source can say it.
  bool say(const OptionWord& wanted) {
    if (says(words(), wanted)) {
      return true;
    }
    const auto sources = std::views::iota(std::size_t{0}, sources_.size());
    return std::ranges::any_of(sources, [&](std::size_t source) {
      return sources_[source].own != nullptr && say_in(source, wanted);
    });
  }

  [[nodiscard]] const std::vector<PlanSource>& sources() const { return sources_; }

  [[nodiscard]] std::vector<OwnChange> changes() const {
    std::vector<OwnChange> changes;
    for (std::size_t i = 0; i < sources_.size(); ++i) {
      if (!changed_[i].empty()) {
        changes.push_back(change_of(*sources_[i].own, changed_[i]));
      }
    }
    return changes;
  }

 private:
  bool say_in(std::size_t source, const OptionWord& wanted) {
    const std::shared_ptr<const OwnSettings> own = sources_[source].own;
    for (const OwnCandidate& candidate : candidates_for(*own, wanted)) {
      const PlanSource before = sources_[source];
      if (read(source, with_settings(own->settings, candidate)) && says(words(), wanted)) {
        note(source, candidate);
        return true;
      }
      sources_[source] = before;
    }
    return false;
  }

  bool read(std::size_t source, const SettingList& settings) {
    OwnSettings own = *sources_[source].own;
    try {
      sources_[source] = own.read(settings);
      own.settings = settings;
      sources_[source].own = std::make_shared<const OwnSettings>(std::move(own));
      return true;
    } catch (const InputError&) {
      return false;
    }
  }

  void note(std::size_t source, const OwnCandidate& candidate) {
    for (const auto& set : candidate.set) {
      std::erase_if(changed_[source],
                    [&](const WrittenKey& each) { return each.setting.key == set.first; });
      changed_[source].push_back({setting_of(set.first, set.second), candidate.python});
    }
  }

  static OwnChange change_of(const OwnSettings& own, const std::vector<WrittenKey>& keys) {
    if (own.form == ProgramForm::Kind::python) {
      return {"Python", python_text(keys, own.place)};
    }
    std::vector<std::string> texts;
    std::ranges::transform(keys, std::back_inserter(texts),
                           [&](const WrittenKey& key) { return written(key, own.form); });
    const bool is_line =
        own.form == ProgramForm::Kind::line || own.form == ProgramForm::Kind::assignments;
    return {own.place, fmt::format("{}", fmt::join(texts, is_line ? " " : ", "))};
  }

  std::vector<PlanSource> sources_;
  OptionWords given_;
  std::vector<std::vector<WrittenKey>> changed_;
};

}  // namespace

std::optional<PlanSource> source_of_framework(const OptionWords& plan) {
  const std::string* const word = find_word(plan, "framework");
  const auto is_meant = [&](const Program* program) {
    return program->form.kind != ProgramForm::Kind::none && word != nullptr &&
           program->form.framework == *word;
  };
  const auto program = std::ranges::find_if(programs(), is_meant);
  if (program == programs().end()) {
    return std::nullopt;
  }
  PlanSource source = plan_of_program(**program, {}, std::string((*program)->form.place));
  OwnSettings own = *source.own;
  own.form = (*program)->form.kind;
  source.own = std::make_shared<const OwnSettings>(std::move(own));
  OwnSearch search(std::vector{source}, {});
  for (const OptionWord& each : plan) {
    search.say(each);
  }
  return search.sources().front();
}

std::optional<std::vector<OwnChange>> own_changes(std::span<const PlanSource> sources,
                                                  const OptionWords& given,
                                                  const OptionWords& wanted) {
  OptionWords of_program = wanted;
  std::erase_if(of_program, [](const OptionWord& word) { return word.first == kAllocConf; });
  OwnSearch search(sources, given);
  const WordMap expected = expected_words(search.words(), of_program);
  const bool is_said =
      std::ranges::all_of(of_program, [&](const OptionWord& word) { return search.say(word); });
  if (!is_said || expected_words(search.words(), {}) != expected) {
    return std::nullopt;
  }
  std::vector<OwnChange> changes = search.changes();
  if (const std::string* const conf = find_word(wanted, kAllocConf)) {
    changes.push_back({"the environment", fmt::format("{}={}", kAllocVariable, *conf)});
  }
  return changes.empty() ? std::nullopt : std::optional(std::move(changes));
}

}  // namespace highwater
