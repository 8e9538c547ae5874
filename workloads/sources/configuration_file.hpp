// The text of a configuration file, whoever names it: --from, a launch line, another file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace highwater {

/// What people write is far smaller; snapshots as JSON are larger.
inline constexpr std::uint64_t kLargestConfiguration = std::uint64_t{4} << 20;

/// Absent if there is no file of that name. @throws InputError if it cannot be read or is larger
std::optional<std::string> configuration_text(const std::string& path);

}  // namespace highwater
