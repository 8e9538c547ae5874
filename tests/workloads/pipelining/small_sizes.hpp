// Sizes of the small models that the tests of pipelines cut into stages.
#pragma once

#include <cstdint>

namespace highwater {

inline constexpr std::int64_t kHidden = 64;
inline constexpr std::int64_t kVocab = 512;
inline constexpr std::int64_t kBatch = 2;
inline constexpr std::int64_t kSeq = 40;

}  // namespace highwater
