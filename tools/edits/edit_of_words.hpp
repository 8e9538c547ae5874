// The edit that words ask for, of a run with these tables.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "sim/edits/edit.hpp"
#include "tools/edits/edit_words.hpp"

namespace highwater {

/// Reads the requests of another file.
using RunReader = std::function<std::shared_ptr<const RequestTrace>(const std::string& file)>;

/// @throws UsageError for a site that the run does not have; what `read` throws
Edit edit_of(const EditWords& words, const RequestTrace& trace, const RunReader& read);

}  // namespace highwater
