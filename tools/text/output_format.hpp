// How a report is printed.
#pragma once

#include <cstdint>

namespace highwater {

enum class OutputFormat : std::uint8_t { table, json, csv, markdown };

}  // namespace highwater
