// A random program run on the model and on the plain second implementation side by side.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "tests/support/program.hpp"

namespace highwater::program {

/// What is wrong when model and oracle run `program`, nothing when all is well: they differ in a
/// result, a decision, a statistic or the final map, or the model breaks an invariant, which is
/// looked for at every `check_every`-th step and at the end.
std::optional<std::string> problem_of(const Program& program, std::size_t check_every);

/// The problem of `program` and the shortest program that still has one, as a text trace.
std::string report(const Profile& profile, std::uint64_t seed, const Program& program);

}  // namespace highwater::program
