// How the program of a recorded case ended.
#pragma once

#include <cstdint>

namespace highwater {

enum class CaseStatus : std::uint8_t { ok, out_of_memory, error };

}  // namespace highwater
