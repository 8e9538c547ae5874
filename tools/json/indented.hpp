// JSON for people: a line for each member and element.
#pragma once

#include <string>

#include <boost/json/fwd.hpp>

namespace highwater {

/// With one space for each level, and a line end behind the last.
std::string indented(const boost::json::value& value);

}  // namespace highwater
