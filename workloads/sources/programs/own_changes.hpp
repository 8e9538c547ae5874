// A change of a plan in the words of the program that trains: the keys of its file, the options of
// its launch line, the arguments of its Python class.
//
// Rules say what a key becomes; this goes the other way. Keys that could say an option are put into
// the program's settings, which are then read again by the same rules, and only what makes exactly
// the wanted plan is an answer: what a program cannot say has none.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/sources/plan_source.hpp"

namespace highwater {

/// What is changed in one place.
struct OwnChange {
  std::string place;  ///< "train.yaml", "the launch line", "Python", "the environment"
  std::string text;   ///< "gradient_checkpointing: true, micro_batch_size: 1"

  bool operator==(const OwnChange&) const = default;
};

/// The program behind the --framework of a plan, with settings that say the plan's words as far as
/// the program can. Absent where no program has that framework.
std::optional<PlanSource> source_of_framework(const OptionWords& plan);

/// What makes the plan of `sources` have the words of `wanted` and no others changed, one entry for
/// each place. Absent where the programs' own words cannot say all of it. `given` are options
/// beside the sources; `alloc-conf` is a variable of the environment.
std::optional<std::vector<OwnChange>> own_changes(std::span<const PlanSource> sources,
                                                  const OptionWords& given,
                                                  const OptionWords& wanted);

}  // namespace highwater
