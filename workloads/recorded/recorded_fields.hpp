// Cases that were recorded before they had "options": fields of their own become option words.
//
// What each field means is data (workloads/facts/recorded_case.json), which the recording programs
// read as well. A field that it does not list could change what the allocator sees.
#pragma once

#include <string>

#include "workloads/json/json_field.hpp"
#include "workloads/plan/options/option_table.hpp"

namespace highwater::recorded {

/// @param root the whole description @throws Unsupported
OptionWords words_of_fields(const JsonField& root, const std::string& source);

}  // namespace highwater::recorded
