#include "workloads/kernels/gemm_4bit.hpp"

namespace highwater {
namespace {

constexpr std::int64_t kAlwaysRows = 4;   // _GEMM_4BIT_CUSTOM_FLOOR_M
constexpr std::int64_t kMostRows = 1536;  // _gemm_4bit_custom_max_m
constexpr std::int64_t kSmallWeight = std::int64_t{4} << 20;
constexpr std::int64_t kMostRowsOfLargeWeights = 512;
constexpr std::int64_t kScalarRows = 8;  // fewer rows take the kernel without matrix units

/// The generations that _gemm_4bit_use_custom_cuda tells apart.
enum class Generation : std::uint8_t { sm75, sm80, sm86, sm90, sm120, sm121, other };

Generation generation_of(const Gpu& gpu) {
  switch (gpu.major * 10 + gpu.minor) {
    case 75:
      return Generation::sm75;
    case 80:
      return Generation::sm80;
    case 86:
      return Generation::sm86;
    case 120:
      return Generation::sm120;
    case 121:
      return Generation::sm121;
    default:
      return gpu.major == 9 ? Generation::sm90 : Generation::other;
  }
}

/// One product on one GPU.
struct Call {
  std::int64_t m = 0;  ///< rows
  std::int64_t n = 0;  ///< outputs
  std::int64_t k = 0;  ///< inputs
  std::int64_t blocks = 0;
  std::int64_t sms = 0;
  Generation generation = Generation::other;

  /// Whether the blocks make at least numerator / denominator waves.
  [[nodiscard]] bool waves(std::int64_t numerator, std::int64_t denominator = 1) const {
    return blocks * denominator >= sms * numerator;
  }

  /// The same with the number of processors halved without a remainder.
  [[nodiscard]] bool half_wave() const { return blocks >= sms / 2; }

  [[nodiscard]] bool up_to(std::int64_t rows) const { return m <= rows; }

  [[nodiscard]] bool has_hbm() const {
    return generation == Generation::sm80 || generation == Generation::sm90;
  }
};

bool lacks_matrix_kernel(const Gpu& gpu, DType dtype) {
  return dtype == DType::fp32 || gpu.major < 7 ||
         (gpu.major == 7 && (gpu.minor < 5 || dtype != DType::fp16));
}

bool is_unmeasured(const Gpu& gpu) {
  return (gpu.major == 8 && gpu.minor == 7) || gpu.major == 11;
}

bool wins_on_sm100(const Call& call) {
  if (call.waves(3)) {
    return call.up_to(32);
  }
  return call.waves(1) && call.k < call.n && call.up_to(8);
}

bool short_small_wins_on_sm75(const Call& call) {
  if (call.waves(3) || call.k < 704) {
    return call.up_to(320);
  }
  return call.up_to(call.k >= 1024 ? 64 : 96);
}

/// A small weight with fewer than half as many inputs as outputs.
bool short_small_wins(const Call& call) {
  const bool is_low = !call.waves(1, 3);
  switch (call.generation) {
    case Generation::sm80:
      return call.up_to(is_low ? 1536 : 512);
    case Generation::sm90:
      return call.up_to(is_low ? 512 : 320);
    case Generation::sm75:
      return short_small_wins_on_sm75(call);
    default:
      return call.up_to(!call.waves(1) && call.blocks * call.k > call.sms * 320 ? 192 : 320);
  }
}

bool small_wins(const Call& call) {
  if (call.k * 2 < call.n) {
    return short_small_wins(call);
  }
  const bool is_quarter_wave = call.blocks * 4 <= call.sms;
  if (call.generation == Generation::sm80 && is_quarter_wave) {
    return call.up_to(call.k < call.n ? 384 : call.blocks * 8 <= call.sms ? 32 : 128);
  }
  if (call.generation == Generation::sm75 && !call.waves(1) && call.m > 8) {
    return call.up_to(64);
  }
  if (is_quarter_wave) {
    return call.up_to(call.k < call.n || call.has_hbm() ? 32 : 23);
  }
  return call.blocks * 2 <= call.sms && call.up_to(16);
}

/// 5 to 7 rows: the dequantisation costs most, but for tall and square weights on HBM.
bool scalar_wins(const Call& call) {
  const std::int64_t fewest = call.generation == Generation::sm90 ? 36 : 48;
  if (!call.has_hbm() || call.m < 6 || call.blocks < fewest) {
    return true;
  }
  const bool is_below_75 = !call.waves(3, 4);
  const bool is_below_60 = !call.waves(3, 5);
  if (call.k > call.n) {
    return !is_below_75;
  }
  if (call.k < call.n) {
    return true;
  }
  return call.generation == Generation::sm80 ? !is_below_60 : !is_below_75 || is_below_60;
}

bool large_wins_on_sm75(const Call& call) {
  if (call.waves(3)) {
    return call.up_to(call.k < call.n ? 128 : 64);
  }
  return call.up_to(call.half_wave() ? 64 : 32);
}

bool large_wins_on_sm80(const Call& call) {
  if (call.waves(3)) {
    return call.up_to(128);
  }
  if (call.waves(1)) {
    return call.up_to(call.k < call.n ? 64 : 32);
  }
  const bool is_tall = call.k >= call.n * 3 && call.blocks * 4 > call.sms;
  const bool is_square = call.k == call.n && call.blocks >= 48 && !call.waves(3, 5);
  if (is_tall || is_square) {
    return false;
  }
  if (!call.waves(1, 2) && (call.k <= call.n || call.waves(1, 3))) {
    return call.k <= call.n && call.up_to(128);
  }
  return call.up_to(call.half_wave() && call.k < call.n ? 128 : 16);
}

bool large_wins_on_sm86(const Call& call) {
  return call.up_to(call.waves(1) ? 128 : call.half_wave() ? 64 : 16);
}

bool large_wins_on_sm90(const Call& call) {
  if (call.waves(1)) {
    return call.up_to(call.waves(3) ? 64 : call.waves(2) ? 48 : 32);
  }
  const bool is_slow = call.k >= call.n && !call.waves(3, 4);
  return call.half_wave() && !is_slow && call.up_to(16);
}

bool large_wins_on_sm120(const Call& call) {
  if (call.waves(2)) {
    return call.up_to(call.waves(3) ? 256 : 128);
  }
  if (call.waves(4, 5)) {
    return call.up_to(call.k >= call.n ? 96 : 64);
  }
  if (call.half_wave()) {
    return call.up_to(call.k * 2 >= call.n && call.blocks >= 128 ? 64 : 8);
  }
  return call.up_to(call.k > call.n * 2 && call.blocks > 64 ? 16 : 8);
}

bool tall_wins_on_sm89(const Call& call) {
  if (call.k > call.n && call.blocks <= 48) {
    return call.up_to(call.k >= call.n * 3 ? 12 : 10);
  }
  return call.up_to(call.k > call.n * 2 || call.blocks < 48 ? 16 : 8);
}

bool large_wins_on_sm89(const Call& call) {
  const bool is_tall = call.k > call.n * 2;
  if (call.waves(2)) {
    return call.up_to(call.waves(3) ? 256 : 128);
  }
  if (call.waves(4, 5)) {
    const bool is_wide = is_tall || call.blocks >= 200;
    const std::int64_t square = call.k < call.n ? 64 : call.sms >= 60 ? 128 : 32;
    return call.up_to(is_wide ? 128 : square);
  }
  if (call.half_wave()) {
    return call.up_to(is_tall ? 64 : call.blocks >= 64 ? 8 : 32);
  }
  return tall_wins_on_sm89(call);
}

bool large_wins(const Call& call) {
  switch (call.generation) {
    case Generation::sm75:
      return large_wins_on_sm75(call);
    case Generation::sm80:
      return large_wins_on_sm80(call);
    case Generation::sm86:
      return large_wins_on_sm86(call);
    case Generation::sm90:
      return large_wins_on_sm90(call);
    case Generation::sm120:
      return large_wins_on_sm120(call);
    case Generation::sm121:
      return call.waves(1) ? call.up_to(256) : large_wins_on_sm89(call);
    case Generation::other:
      return large_wins_on_sm89(call);
  }
  return false;
}

bool wins(const Gpu& gpu, const Gemm4Bit& gemm) {
  constexpr std::int64_t kOutputsOfBlock = 64;
  const Call call{.m = gemm.rows,
                  .n = gemm.out,
                  .k = gemm.in,
                  .blocks = (gemm.out + kOutputsOfBlock - 1) / kOutputsOfBlock,
                  .sms = gpu.multiprocessors,
                  .generation = generation_of(gpu)};
  if (lacks_matrix_kernel(gpu, gemm.dtype)) {
    return call.m < kScalarRows;
  }
  if (is_unmeasured(gpu)) {
    return false;
  }
  if (gpu.major == 10) {
    return wins_on_sm100(call);
  }
  if (call.n * call.k < kSmallWeight) {
    return small_wins(call);
  }
  if (call.m < kScalarRows) {
    return scalar_wins(call);
  }
  return call.up_to(kMostRowsOfLargeWeights) && large_wins(call);
}

}  // namespace

bool reads_4bit_weight(const Gpu& gpu, const Gemm4Bit& gemm) {
  if (gemm.rows > kMostRows || gemm.in % gemm.block_size != 0) {
    return false;
  }
  return gemm.rows <= kAlwaysRows || wins(gpu, gemm);
}

}  // namespace highwater
