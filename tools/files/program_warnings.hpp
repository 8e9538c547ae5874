// What a reader of a program's prediction must know: in the words of people, with a kind for
// others.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/scaling/extent.hpp"
#include "sim/scaling/scaled_requests.hpp"
#include "traces/scalable_program.hpp"

namespace highwater {

enum class ProgramDoubt : std::uint8_t {
  beyond,      ///< outside the recordings that the program gives again
  structure,   ///< the recordings do not make the same requests
  unverified,  ///< the recording that was held out came out differently, or none was
  estimated,   ///< sizes without a formula
  unchecked,   ///< sizes whose formula no further recording confirms
  rounded,     ///< a formula gives no whole number here
  scratch,     ///< a block at the peak that may have stopped to grow
};

/// "beyond", "structure", ...
std::string_view to_string(ProgramDoubt doubt);

struct ProgramWarning {
  ProgramDoubt kind = ProgramDoubt::beyond;
  std::string text;
};

/// None where a recording, or what lies between recordings, is given without any doubt.
std::vector<ProgramWarning> program_warnings(const ScalableProgram& program, const Values& values,
                                             const ScaledRequests& requests);

}  // namespace highwater
