#include "workloads/json/json_document.hpp"

#include <fmt/format.h>

#include "traces/error.hpp"

namespace highwater {

boost::json::value parse_json_document(std::string_view text, const std::string& source,
                                       std::string_view remedy,
                                       const boost::json::parse_options& options) {
  boost::system::error_code error;
  boost::json::stream_parser parser({}, options);
  const std::size_t read = parser.write_some(text.data(), text.size(), error);
  if (!error && read < text.size()) {
    error = boost::json::error::extra_data;
  }
  if (!error) {
    parser.finish(error);
  }
  if (error) {
    throw InputError(source, fmt::format("byte {}", read), "not JSON: " + error.message(), remedy);
  }
  return parser.release();
}

}  // namespace highwater
