// A program whose configuration is read: what its keys mean, and how it is recognised. All but the
// code stands in workloads/facts/programs/NAME.json.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "traces/release.hpp"
#include "workloads/json/json_field.hpp"
#include "workloads/sources/rules/key_dates.hpp"
#include "workloads/sources/rules/key_table.hpp"

namespace highwater {

/// What the program takes for a key that a file leaves out.
struct ProgramDefault {
  std::string_view key;
  std::string_view value;
  /// The first and the last release of the program's package that has this default.
  std::optional<Release> since = {};
  std::optional<Release> until = {};
};

/// An option that follows from the program itself, as "(framework)" of its listing.
struct ProgramOption {
  std::string_view option;
  std::string_view word;
  std::string_view because;  ///< "a loop of its own"
};

/// What the program calls a key that the files it includes call otherwise; both may end in '*'.
struct RenamedKey {
  std::string_view own;     ///< "training.enable_gradient_checkpointing", "fsdp.*"
  std::string_view common;  ///< "gradient_checkpointing", "fsdp_*"
};

/// Keys that the program reads only where another one has a value, or is absent.
struct ProgramCondition {
  std::string_view keys;  ///< "deepspeed_config.*"
  std::string_view with;  ///< "distributed_type"
  std::string_view value;
};

/// What a file of the program says for a word of an option.
struct ProgramChange {
  std::string_view option;
  std::string_view word;  ///< "*": any number, for which '$' stands below
  std::vector<std::pair<std::string_view, std::string_view>> set;  ///< keys and values
  /// The call that says so in Python; empty: the keys are arguments of ProgramForm::place.
  std::string_view python;
};

/// How the program's settings are written where no file of it is given.
struct ProgramForm {
  enum class Kind : std::uint8_t { none, python, line, assignments, file };

  Kind kind = Kind::none;
  std::string_view framework;  ///< the word of --framework for the program
  std::string_view place;      ///< "TrainingArguments", "the launch line", "DeepSpeed's file"
  bool has_dashes = false;  ///< its parser takes "--micro-batch-size" and not "--micro_batch_size"
};

/// Adds what follows from several keys, when all are read: strategy, model.
using FinishProgram = void (*)(const SettingList& all, SourceKeys& keys);

/// Texts belong to the facts.
struct Program {
  std::string_view name;      ///< "torchtitan"
  std::string_view releases;  ///< whose sources the rules follow: "torchtitan 0.1 to 0.3"
  std::string_view package;   ///< its own, as releases.json calls it; empty: it has none
  KeyTable keys;
  KeyDates dates;  ///< of its keys
  /// Scripts and tools that start it: "pretrain_gpt.py", "axolotl train"; '*' as in keys.
  std::vector<std::string_view> scripts;
  std::vector<ProgramDefault> defaults;
  /// Parts in front of keys that say nothing ("model_parallel."): the key counts without them.
  std::vector<std::string_view> sections;
  std::vector<RenamedKey> renamed;
  /// A part that stands after the first one of each key and says nothing ("value" of W&B's files).
  std::string_view wrapper;
  /// Keys of which each of its files has one, with '*' as in keys; empty: there are none.
  std::vector<std::string_view> marks;
  /// Keys without one of which the program trains no adapters, whatever rank stands there; empty:
  /// a rank is enough, or it has none.
  std::vector<std::string_view> adapters_with;
  /// Options alone make no script of another name this program's: its settings come in files.
  bool is_known_by_name_only = false;
  /// In what words the program refuses a file with a key twice in one mapping; empty: the last one
  /// counts, as for Python's json.load() and PyYAML.
  std::string_view refuses_repeated_keys;
  std::vector<ProgramOption> implies;
  std::vector<ProgramCondition> conditions;
  std::vector<ProgramChange> changes;  ///< its own, then those of the files that it includes
  ProgramForm form;
  Readers readers;  ///< that its keys may name
  FinishProgram finish = nullptr;
};

/// The program that a file of facts describes. @throws InputError with the field that is wrong
Program program_of_facts(const JsonField& file, const Readers& readers,
                         FinishProgram finish = nullptr);

/// The program of workloads/facts/programs/NAME.json.
Program program_of_facts(std::string_view name, const Readers& readers = {},
                         FinishProgram finish = nullptr);

}  // namespace highwater
