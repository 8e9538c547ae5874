#include "workloads/kernels/te_norm.hpp"

#include <algorithm>
#include <array>
#include <span>

#include "workloads/kernels/division.hpp"

namespace highwater {
namespace {

/// Blocks that one multiprocessor holds, by compute capability.
struct Occupancy {
  int cc_8_0;
  int cc_8_9;
  int cc_9_0;
  int cc_10_0;
};

/// A kernel for one number of channels, or, if general, for up to that many in each block.
struct NormBackward {
  std::int64_t columns;
  int blocks_per_row;
  int rows_per_block;  ///< WARPS_M
  Occupancy occupancy;
};

constexpr std::array kTunedRms{
    NormBackward{512, 1, 4, {6, 6, 6, 6}},  NormBackward{768, 1, 4, {4, 4, 4, 4}},
    NormBackward{1024, 1, 4, {3, 3, 3, 3}}, NormBackward{2048, 1, 1, {6, 6, 5, 6}},
    NormBackward{4096, 1, 1, {3, 3, 3, 3}}, NormBackward{8192, 1, 1, {2, 2, 2, 2}}};

constexpr std::array kGeneralRms{
    NormBackward{128, 1, 4, {10, 12, 12, 12}}, NormBackward{512, 1, 4, {5, 5, 4, 4}},
    NormBackward{1024, 1, 4, {3, 3, 3, 2}}, NormBackward{2048, 1, 1, {5, 5, 5, 5}},
    NormBackward{4096, 1, 1, {3, 3, 3, 3}}};

constexpr std::array kTunedLayer{
    NormBackward{768, 1, 4, {3, 3, 3, 3}},   NormBackward{1024, 1, 4, {2, 2, 2, 3}},
    NormBackward{1536, 1, 1, {6, 6, 5, 6}},  NormBackward{2048, 1, 1, {5, 5, 4, 5}},
    NormBackward{2304, 1, 1, {3, 3, 3, 4}},  NormBackward{3072, 1, 1, {3, 3, 3, 3}},
    NormBackward{3840, 1, 1, {2, 2, 2, 3}},  NormBackward{4096, 1, 1, {2, 2, 2, 3}},
    NormBackward{5120, 1, 1, {2, 2, 2, 2}},  NormBackward{6144, 1, 1, {1, 1, 1, 2}},
    NormBackward{8192, 2, 1, {2, 2, 2, 3}},  NormBackward{10240, 2, 1, {2, 2, 2, 2}},
    NormBackward{12288, 4, 1, {3, 3, 3, 4}}, NormBackward{12800, 5, 1, {4, 4, 4, 4}},
    NormBackward{15360, 4, 1, {2, 2, 2, 3}}, NormBackward{16384, 4, 1, {2, 2, 2, 3}},
    NormBackward{18432, 4, 1, {2, 2, 2, 2}}, NormBackward{20480, 4, 1, {2, 2, 2, 2}},
    NormBackward{24576, 4, 1, {1, 1, 1, 2}}};

constexpr std::array kGeneralLayer{
    NormBackward{128, 1, 4, {10, 12, 10, 9}}, NormBackward{512, 1, 4, {4, 4, 4, 3}},
    NormBackward{1024, 1, 4, {2, 2, 2, 2}}, NormBackward{2048, 1, 1, {4, 4, 4, 4}},
    NormBackward{4096, 1, 1, {2, 2, 2, 2}}};

int blocks_of(const Occupancy& occupancy, const Gpu& gpu) {
  if (gpu.major >= 10) {
    return occupancy.cc_10_0;
  }
  if (gpu.major == 9) {
    return occupancy.cc_9_0;
  }
  return gpu.major == 8 && gpu.minor > 0 ? occupancy.cc_8_9 : occupancy.cc_8_0;
}

// rmsnorm_api.cpp, ln_api.cpp: tuned kernels take rows by fours; allocations are aligned.
const NormBackward* tuned_kernel(std::span<const NormBackward> kernels, const TeNorm& norm) {
  const auto found = std::ranges::find(kernels, norm.columns, &NormBackward::columns);
  return found == kernels.end() || norm.rows % 4 != 0 ? nullptr : &*found;
}

// common.h: the smallest that holds a row in one block, or the largest.
NormBackward general_kernel(std::span<const NormBackward> kernels, const TeNorm& norm) {
  const auto found = std::ranges::find_if(
      kernels, [&](const NormBackward& kernel) { return kernel.columns >= norm.columns; });
  NormBackward kernel = found == kernels.end() ? kernels.back() : *found;
  kernel.blocks_per_row = static_cast<int>(divide_up(norm.columns, kernel.columns));
  return kernel;
}

bool is_rms(const TeNorm& norm) {
  return norm.kind == TeNormKind::rms;
}

// LaunchParams::alignWorkspace.
std::int64_t aligned(std::int64_t bytes) {
  return divide_up(bytes, 16) * 16;
}

std::int64_t scratch_of(const NormBackward& kernel, std::int64_t blocks, const TeNorm& norm) {
  constexpr std::int64_t kSum = 4;
  const std::int64_t sums = blocks * norm.columns * kSum;
  const std::int64_t all_sums = aligned(sums) * (is_rms(norm) ? 1 : 2);
  if (kernel.blocks_per_row == 1) {
    return all_sums;
  }
  const std::int64_t exchange =
      blocks * kernel.rows_per_block * kernel.blocks_per_row * (2 * kSum) * 2;
  const std::int64_t barrier = blocks * 2 * kSum;
  return all_sums + aligned(exchange) + aligned(barrier);
}

}  // namespace

std::int64_t te_norm_backward_scratch(const Gpu& gpu, const TeNorm& norm) {
  const std::span<const NormBackward> tuned =
      is_rms(norm) ? std::span<const NormBackward>(kTunedRms) : kTunedLayer;
  const std::span<const NormBackward> general =
      is_rms(norm) ? std::span<const NormBackward>(kGeneralRms) : kGeneralLayer;
  const NormBackward* const own = tuned_kernel(tuned, norm);
  const NormBackward kernel = own != nullptr ? *own : general_kernel(general, norm);
  const std::int64_t most =
      std::int64_t{gpu.multiprocessors} * blocks_of(kernel.occupancy, gpu) / kernel.blocks_per_row;
  const std::int64_t needed = divide_up(norm.rows, kernel.rows_per_block);
  return scratch_of(kernel, own != nullptr ? most : std::min(needed, most), norm);
}

}  // namespace highwater
