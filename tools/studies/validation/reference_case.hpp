// Reference cases: what the sources of the closed forms print, and what their formulas give.
//
// A file of them is a JSON object whose "cases" each have an id, the inputs, the figures that the
// source prints ("expected", with unit and tolerance), the figures that a separate implementation
// of the same formulas computed ("recomputed"), and whether the two agree ("match").
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <boost/json.hpp>

namespace highwater {

enum class ReferenceKind : std::uint8_t {
  printed,     ///< a source prints the figures
  derived,     ///< of the formulas alone
  constant,    ///< definitions
  observation  ///< measured or quoted figures that no formula gives
};

/// "printed", ...
std::string_view to_string(ReferenceKind kind);

/// A figure that the source prints.
struct ExpectedValue {
  std::string name;
  boost::json::value value;  ///< a number, or a word
  std::string unit;          ///< "GiB", "MiB floor", "GB (1e9)", "label", ...
  double tolerance = 0;      ///< in that unit
  bool matches = true;       ///< the formulas are known to give it
};

struct ReferenceCase {
  std::string id;  ///< "deepspeed.zero2.live.offload_optimizer=cpu"
  ReferenceKind kind = ReferenceKind::derived;
  std::string source;
  std::string formula;
  std::string notes;
  std::vector<ExpectedValue> expected;
  boost::json::object recomputed;  ///< the answers: numbers and words by name
  bool all_match = true;           ///< false: the source is known not to follow its formulas
};

struct ReferenceFile {
  std::vector<ReferenceCase> cases;
  boost::json::array questions;  ///< the cases as they stand in the file, without their answers
};

/// Reads cases from JSON `text`; `source` is the file's name for messages.
/// @throws InputError with the position in the file
ReferenceFile read_reference_cases(std::string_view text, const std::string& source);

}  // namespace highwater
