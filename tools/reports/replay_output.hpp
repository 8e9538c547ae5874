// The report of `replay` in every format.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <boost/json/fwd.hpp>

#include "tools/studies/gate/budget.hpp"
#include "tools/studies/runs/replay_run.hpp"
#include "tools/text/output_format.hpp"

namespace highwater {

/// Whether JSON has memory over time as well.
enum class TimelineKeys : std::uint8_t { omitted, written };

/// What `simulate` says of a recording whose program no plan describes.
struct RecordedSentences {
  std::string verdict;
  bool fits = true;
  std::optional<Bytes> available;
  std::vector<std::string> limits;  ///< what the answer holds for
};

/// `budget`: absent where none was given.
std::string replay_output(const std::vector<DeviceReplay>& replays, OutputFormat format,
                          TimelineKeys timeline, const std::optional<BudgetVerdict>& budget,
                          const std::optional<RecordedSentences>& recorded = {});

/// The schema of its JSON.
boost::json::object replay_schema();

}  // namespace highwater
