// Which program a configuration file or a launch line without a known script is of.
//
// A file says nowhere whose it is, and programs share words: "training.steps" and "metrics.*" stand
// in files of many. So most known keys win, but only where the file has the program's own key (its
// `mark`), the program knows at least half of what stands there and a key in half of its sections,
// and nothing says that adapters are trained where the program has no such key. The rest is a file
// of nobody that is known here, and gets no verdict.
#pragma once

#include <cstddef>
#include <cstdint>

#include "workloads/sources/rules/program_row.hpp"

namespace highwater {

/// How much of a file a program knows.
struct KnownShare {
  const Program* program = nullptr;  ///< nullptr: none knows any
  std::size_t known = 0;
  std::size_t all = 0;
  const Setting* first_unknown = nullptr;
  std::size_t known_sections = 0;  ///< "training" of "training.bf16"; keys without a dot are one
  std::size_t sections = 0;
  const Setting* unread_adapter = nullptr;  ///< it says that adapters are trained; unknown
  /// Whether one of the keys says more than names: "name" and "output_dir" stand in many files that
  /// are no training program's.
  bool says_something = false;
};

KnownShare known_share(const Program& program, const SettingList& settings);

enum class SettingsOf : std::uint8_t { file, launch_line };

/// That of the program which knows most keys, among those whose mark the settings have. A launch
/// line is of no program that takes its settings from files.
KnownShare best_share(const SettingList& settings, SettingsOf where);

/// Of the keys, and of the sections.
bool knows_half(const KnownShare& share);

/// Whether it is enough to say whose file it is.
bool is_recognised(const KnownShare& share);

/// The program that a file is of; nullptr if it is of none.
const Program* program_of_file(const SettingList& settings);

/// What of a plan no default of a program may stand for where a file says it.
enum class Decisive : std::uint8_t { model, batch, length };

/// A key by which the file says `what` and that no rule of `program` reads; nullptr if there is
/// none.
const Setting* unread_key(const Program& program, const SettingList& settings, Decisive what);

}  // namespace highwater
