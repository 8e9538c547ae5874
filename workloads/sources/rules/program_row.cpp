#include "workloads/sources/rules/program_row.hpp"

#include <algorithm>
#include <array>
#include <iterator>

#include <fmt/format.h>

#include "workloads/facts/facts.hpp"

namespace highwater {
namespace {

std::optional<Release> release_in(const JsonField& row, std::string_view edge) {
  const auto field = row.find(edge);
  return field ? std::optional(release_of(field->view())) : std::nullopt;
}

std::vector<ProgramDefault> defaults_of(const JsonField& file) {
  std::vector<ProgramDefault> defaults;
  if (const auto field = file.find("defaults")) {
    for (const JsonField& row : field->elements()) {
      defaults.push_back({row.at("key").view(), row.at("value").view(), release_in(row, "since"),
                          release_in(row, "until")});
    }
  }
  return defaults;
}

std::vector<ProgramOption> options_of(const JsonField& file) {
  std::vector<ProgramOption> options;
  if (const auto field = file.find("implies")) {
    for (const JsonField& row : field->elements()) {
      options.push_back({row.at("option").view(), row.at("word").view(), row.at("because").view()});
    }
  }
  return options;
}

std::vector<RenamedKey> renamed_of(const JsonField& file) {
  std::vector<RenamedKey> renamed;
  if (const auto field = file.find("renamed")) {
    for (const JsonField& row : field->elements()) {
      renamed.push_back({row.at("key").view(), row.at("as").view()});
    }
  }
  return renamed;
}

std::vector<ProgramCondition> conditions_of(const JsonField& file) {
  std::vector<ProgramCondition> conditions;
  if (const auto field = file.find("conditions")) {
    for (const JsonField& row : field->elements()) {
      conditions.push_back({row.at("keys").view(), row.at("with").view(), row.at("value").view()});
    }
  }
  return conditions;
}

ProgramChange change_of(const JsonField& row) {
  ProgramChange change{.option = row.at("option").view(),
                       .word = row.at("word").view(),
                       .python = row.view_or_empty("python")};
  const JsonField keys = row.at("set");
  for (const auto& [key, value] : keys.object()) {
    change.set.emplace_back(key, keys.at(key).view());
  }
  return change;
}

void add_changes(const JsonField& file, std::vector<ProgramChange>& changes) {
  if (const auto field = file.find("changes")) {
    std::ranges::transform(field->elements(), std::back_inserter(changes), change_of);
  }
  for (const std::string_view included : file.views("includes")) {
    add_changes(facts(fmt::format("programs/{}.json", included)), changes);
  }
}

std::vector<ProgramChange> changes_of(const JsonField& file) {
  std::vector<ProgramChange> changes;
  add_changes(file, changes);
  return changes;
}

ProgramForm form_of(const JsonField& file) {
  using Kind = ProgramForm::Kind;
  constexpr std::array kKinds{std::pair{"python", Kind::python}, std::pair{"line", Kind::line},
                              std::pair{"assignments", Kind::assignments},
                              std::pair{"file", Kind::file}};
  const auto form = file.find("form");
  if (!form) {
    return {};
  }
  const JsonField kind = form->at("kind");
  const auto* const found = std::ranges::find(
      kKinds, kind.view(), [](const auto& each) { return std::string_view(each.first); });
  if (found == kKinds.end()) {
    kind.fail("expected python, line, assignments or file");
  }
  return {found->second, form->at("framework").view(), form->at("place").view(),
          form->find("dashes").has_value()};
}

}  // namespace

Program program_of_facts(const JsonField& file, const Readers& readers, FinishProgram finish) {
  return {.name = file.at("program").view(),
          .releases = file.at("releases").view(),
          .package = file.view_or_empty("package"),
          .keys = KeyTable(file, readers),
          .dates = KeyDates(file),
          .scripts = file.views("scripts"),
          .defaults = defaults_of(file),
          .sections = file.views("sections"),
          .renamed = renamed_of(file),
          .wrapper = file.view_or_empty("wrapper"),
          .marks = file.views("marks"),
          .adapters_with = file.views("adapters_with"),
          .is_known_by_name_only = file.find("by_name_only").has_value(),
          .refuses_repeated_keys = file.view_or_empty("refuses_repeated_keys"),
          .implies = options_of(file),
          .conditions = conditions_of(file),
          .changes = changes_of(file),
          .form = form_of(file),
          .readers = readers,
          .finish = finish};
}

Program program_of_facts(std::string_view name, const Readers& readers, FinishProgram finish) {
  return program_of_facts(facts(fmt::format("programs/{}.json", name)), readers, finish);
}

}  // namespace highwater
