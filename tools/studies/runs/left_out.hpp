// Keys of --from that an answer leaves out, and what they mean for it: a run that fits is known to
// fit only if none of them adds memory, one that does not only if none saves it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "workloads/sources/plan_source.hpp"

namespace highwater {

struct LeftOutKey {
  std::string key;
  MemorySign sign = MemorySign::either;
};

enum class FitOutcome : std::uint8_t { fits, runs_out };

/// Those that could turn the outcome around.
std::vector<LeftOutKey> turning_keys(FitOutcome outcome, const std::vector<LeftOutKey>& left_out);

/// "a, b and 3 more"
std::string key_names(const std::vector<LeftOutKey>& keys);

/// "without a and b, which may add memory". @pre `keys` are turning_keys(), and there are some
std::string without_words(FitOutcome outcome, const std::vector<LeftOutKey>& keys);

}  // namespace highwater
