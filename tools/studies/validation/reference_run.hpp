// Compares what the closed forms give with what the sources print and a second implementation gave.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/studies/validation/reference_case.hpp"

namespace highwater {

enum class ReferenceVerdict : std::uint8_t {
  passed,
  failed,
  shown  ///< an observation, which nothing recomputes
};

/// "passed", ...
std::string_view to_string(ReferenceVerdict verdict);

/// One figure of a case.
struct ReferenceValue {
  std::string name;
  const ExpectedValue* expected = nullptr;        ///< what the source prints, if it does
  const boost::json::value* reference = nullptr;  ///< what the second implementation gave
  boost::json::value computed;                    ///< null: not computed
  bool agrees_with_source = true;
  std::string problem;  ///< empty if it is as it should be
};

/// How far `computed` is from the second implementation's figure, as a fraction of it; absent for
/// words and for what was not computed.
std::optional<double> difference_of(const ReferenceValue& value);

struct ReferenceResult {
  const ReferenceCase* reference = nullptr;
  ReferenceVerdict verdict = ReferenceVerdict::failed;
  std::vector<ReferenceValue> values;
  std::string problem;  ///< why nothing was computed

  /// The source's figures are known not to follow from its formulas, and did not.
  [[nodiscard]] bool is_known_mismatch() const {
    return verdict == ReferenceVerdict::passed && !reference->all_match;
  }
};

/// Recomputes all cases; the results point into `file`.
std::vector<ReferenceResult> run_reference(const ReferenceFile& file);

}  // namespace highwater
