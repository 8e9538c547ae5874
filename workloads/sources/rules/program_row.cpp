#include "workloads/sources/rules/program_row.hpp"

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
          .readers = readers,
          .finish = finish};
}

Program program_of_facts(std::string_view name, const Readers& readers, FinishProgram finish) {
  return program_of_facts(facts(fmt::format("programs/{}.json", name)), readers, finish);
}

}  // namespace highwater
