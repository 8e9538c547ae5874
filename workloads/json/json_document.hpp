// The text of a JSON file as a value, or an error with the position where it stops being JSON.
//
// Not part of the public interface: Boost.JSON stays out of the other headers.
#pragma once

#include <string>
#include <string_view>

#include <boost/json.hpp>

namespace highwater {

/// @throws InputError with the position in bytes and `remedy`
boost::json::value parse_json_document(std::string_view text, const std::string& source,
                                       std::string_view remedy,
                                       const boost::json::parse_options& options = {});

}  // namespace highwater
