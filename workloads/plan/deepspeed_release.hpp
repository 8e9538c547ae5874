// Which of the two DeepSpeeds that were read a plan runs. Releases between them are taken as the
// newer one.
#pragma once

#include <cstdint>

#include "traces/release.hpp"
#include "workloads/plan/versions.hpp"
#include "workloads/plan/zero_options.hpp"

namespace highwater {

/// 0.16.4 or 0.19.8.
enum class DeepspeedRelease : std::uint8_t { v0_16, v0_19 };

inline DeepspeedRelease deepspeed_release(const Versions& versions) {
  return release_of(versions.deepspeed) > Release{.major = 0, .minor = 16}
             ? DeepspeedRelease::v0_19
             : DeepspeedRelease::v0_16;
}

inline bool is_recent_deepspeed(const Versions& versions) {
  return deepspeed_release(versions) == DeepspeedRelease::v0_19;
}

/// offload_optimizer's and offload_param's pin_memory (runtime/zero/offload_config.py): true in
/// 0.19.8 and false in 0.16.4 unless it is given.
inline bool pins_memory(const Zero& zero, const Versions& versions) {
  return zero.pin_memory.value_or(is_recent_deepspeed(versions));
}

}  // namespace highwater
