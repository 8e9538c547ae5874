// What the reader of a program's settings leaves behind, so that they can be read with changes.
#pragma once

#include <functional>
#include <string>

#include "workloads/sources/plan_source.hpp"
#include "workloads/sources/rules/program_row.hpp"

namespace highwater {

/// What a program read, and how it reads other settings in their place.
struct OwnSettings {
  const Program* program = nullptr;
  SettingList settings;
  ProgramForm::Kind form = ProgramForm::Kind::file;
  std::string place;  ///< "train.yaml", "the launch line", "TrainingArguments"
  /// The whole source, with other settings. @throws InputError
  std::function<PlanSource(const SettingList&)> read;
};

}  // namespace highwater
