// The plan of a recorded case in option words: those that it was recorded with, or what its fields
// meant before cases had options.
#pragma once

#include <string>

#include <boost/json/fwd.hpp>

#include "workloads/json/json_field.hpp"
#include "workloads/plan/options/option_table.hpp"
#include "workloads/sources/settings/setting.hpp"

namespace highwater::recorded {

/// An object's values as a command line has them; keys of nested ones have their path.
SettingList settings_of(const boost::json::object& object, const std::string& source);

/// Options of plans, and "rank", which commands have. @throws Unsupported for an unknown option
OptionWords words_of_case(const JsonField& root, const std::string& source);

}  // namespace highwater::recorded
