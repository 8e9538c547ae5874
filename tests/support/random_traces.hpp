// Random request traces, recordings and programs, the same for the same seed.
//
// They are well formed (ids name what the tables have) and otherwise anything: sizes and addresses
// up to 2^64-1, frees of what was never allocated, time running backwards.
#pragma once

#include <cstdint>

#include "traces/recording.hpp"
#include "traces/request_trace.hpp"
#include "traces/scalable_program.hpp"

namespace highwater::test {

RequestTrace random_requests(std::uint32_t seed);

Recording random_recording(std::uint32_t seed);

ScalableProgram random_program(std::uint32_t seed);

}  // namespace highwater::test
