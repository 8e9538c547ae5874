// Tuning constants of the allocator under their PyTorch names.
// Source: c10/cuda/CUDACachingAllocator.cpp and c10/core/AllocatorConfig.h, PyTorch 2.6.0.
#pragma once

#include "traces/units.hpp"

namespace highwater {

inline constexpr Bytes kMinBlockSize{512};      ///< every block is a multiple of this
inline constexpr Bytes kSmallSize{1 << 20};     ///< largest rounded size of the small pool
inline constexpr Bytes kSmallBuffer{2 << 20};   ///< segment size of the small pool
inline constexpr Bytes kLargeBuffer{20 << 20};  ///< segment size for requests below kMinLargeAlloc
inline constexpr Bytes kMinLargeAlloc{
    10 << 20};                                ///< from this size on, a request gets its own segment
inline constexpr Bytes kRoundLarge{2 << 20};  ///< own segments are multiples of this
/// Rounding must not wrap. PyTorch refuses requests of 2^60 bytes and more before they reach the
/// allocator (DataPtr allocate); smaller ones take the usual path here and fail at the device.
inline constexpr Bytes kLargestRequest{std::uint64_t{1} << 62};
inline constexpr Bytes kUnlimited{~std::uint64_t{0}};  ///< max_split_size when the option is unset

}  // namespace highwater
