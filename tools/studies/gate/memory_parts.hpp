// The parts of reserved memory by name: the key in JSON and in baselines, and the words of tables.
#pragma once

#include <array>

#include "sim/peak/memory_breakdown.hpp"

namespace highwater {

struct NamedPart {
  const char* key;
  const char* label;
  Bytes MemoryBreakdown::*bytes;
};

inline constexpr std::array<NamedPart, 7> kMemoryParts{{
    {"requested_bytes", "requested", &MemoryBreakdown::requested},
    {"rounding_bytes", "rounding of sizes", &MemoryBreakdown::rounding},
    {"tails_bytes", "block ends too small to split off", &MemoryBreakdown::tails},
    {"waiting_bytes", "freed, waiting for other streams", &MemoryBreakdown::waiting},
    {"free_in_split_bytes", "free in segments in use", &MemoryBreakdown::free_in_split},
    {"free_whole_bytes", "unused segments (cached)", &MemoryBreakdown::free_whole},
    {"passing_bytes", "reserved within one operation only", &MemoryBreakdown::passing},
}};

}  // namespace highwater
