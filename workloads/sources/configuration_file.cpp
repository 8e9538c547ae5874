#include "workloads/sources/configuration_file.hpp"

#include <filesystem>
#include <system_error>

#include "traces/formats/bytes/byte_source.hpp"

namespace highwater {

std::optional<std::string> configuration_text(const std::string& path) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (error || !std::filesystem::is_regular_file(status)) {
    return std::nullopt;
  }
  return read_text_file(path, {.size = kLargestConfiguration,
                               .remedy = "no configuration is as large: give the file that the "
                                         "training is started with"});
}

}  // namespace highwater
