// Sizes that may have stopped to grow unseen: scratch of a kind of its own.
//
// What outlives its phase (activations, gradients, states) has the shape of the model's data. What
// comes and goes within one phase mostly has the same shape, but pieces and workspaces are there as
// well, and these are limited: a loss that works in chunks of 4096 tokens looks as if it grew with
// the tokens until there are 4096. So a size is scratch if all its blocks are given back in the
// phase that asked for them, if it is larger than in any recording, and if it is not that of a
// block that stays, nor a multiple of it by a power of two (another element type), here and in the
// recordings. Workspaces whose rule is known are not meant.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/scaling/monomials.hpp"
#include "traces/scalable_program.hpp"

namespace highwater {

/// By formula. All false for a program without phases, or whose points are not known yet.
std::vector<bool> scratch_formulas(const ScalableProgram& program, const Values& values);

}  // namespace highwater
