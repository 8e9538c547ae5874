// The report of `diff`: phases side by side, the first difference, hunks, sizes that differ.
//
// '-' marks what only the first side does, '+' what only the second does, as in a unified diff.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <boost/json/fwd.hpp>

#include "sim/diff/trace_diff.hpp"
#include "traces/request_trace.hpp"

namespace highwater {

/// What was compared, with everything that is needed to name a request.
struct DiffInputs {
  std::string first_name;
  std::string second_name;
  const RequestTrace* first = nullptr;
  const RequestTrace* second = nullptr;
  std::vector<std::string> notes;  ///< what a reader of the numbers should know
};

/// Which part of a comparison is shown, and how much of it.
struct DiffView {
  std::optional<std::uint64_t> step;
  std::optional<std::string> phase;
  std::size_t context = 3;
  std::size_t max_hunks = 5;
  std::size_t max_lines = 60;  ///< of one hunk
  std::size_t max_sizes = 8;   ///< of one phase
  std::size_t max_size_phases = 3;
  std::size_t max_origins = 12;
};

/// Whether the view includes `phase`.
bool shows(const DiffView& view, const PhaseDiff& phase);

/// The two names and the notes, with which every report of a comparison begins.
std::string diff_header(const DiffInputs& inputs);

/// Schema and names: the object to which the parts of the report are added.
boost::json::object diff_json(const DiffInputs& inputs);

/// The alignment of the requests. @pre `inputs` has both traces
std::string requests_text(const TraceDiff& diff, const DiffInputs& inputs, const DiffView& view);

/// The same as keys of `root`: equal, equal_from_step_1, phases, origins.
void add_requests_json(const TraceDiff& diff, const DiffInputs& inputs, const DiffView& view,
                       boost::json::object& root);

}  // namespace highwater
