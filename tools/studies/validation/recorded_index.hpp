// index.json of a folder of recordings, as tools/python/measure writes it: which half of them a
// model may be tuned with. Held-out cases are only reported.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tools/studies/validation/recorded_run.hpp"

namespace highwater {

/// Unmarked: the folder has no index, or it does not name the case.
enum class CaseHalf : std::uint8_t { unmarked, tuning, held_out, facts };

/// "tuning", "held-out", "facts" (of probes), "unmarked": as an index writes them.
std::string_view to_string(CaseHalf half);

/// The indexes beside some cases, read once.
class RecordedIndexes {
 public:
  /// @throws InputError for an index that is damaged or of an unknown kind
  explicit RecordedIndexes(const std::vector<CaseFiles>& files);

  [[nodiscard]] CaseHalf half_of(const CaseFiles& files) const;

 private:
  std::map<std::string, CaseHalf> halves_;  ///< by path of the case without its ending
};

}  // namespace highwater
