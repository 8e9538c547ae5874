#include "workloads/kernels/attention.hpp"

#include <algorithm>
#include <cmath>

#include "workloads/kernels/division.hpp"

namespace highwater {
namespace {

constexpr std::int64_t kFloat = 4;

std::int64_t round_up(std::int64_t a, std::int64_t b) {
  return divide_up(a, b) * b;
}

int capability(const Gpu& gpu) {
  return gpu.major * 10 + gpu.minor;
}

/// From here on the memory-efficient kernels take grouped heads, and all fused kernels one key head
/// for all query heads without being told (pull request 191085; seen in 2.14, not in 2.12).
constexpr Release kGroupedRelease{2, 14};

/// check_batch_size_and_num_heads_dense.
bool heads_fit(const SdpaCall& call, bool takes_groups) {
  const AttentionShape& s = call.shape;
  const bool is_single = s.kv_heads == 1 && call.torch >= kGroupedRelease;
  return s.heads == s.kv_heads || is_single ||
         (takes_groups && call.enable_gqa && s.heads % s.kv_heads == 0);
}

/// From here on the kernels are built for Blackwell (pull request 145602).
constexpr Release kBlackwellAttention{2, 7};

/// check_sm_version: before, nothing newer than Hopper passes.
bool is_known(const Gpu& gpu, Release torch) {
  return gpu.major < 10 || torch >= kBlackwellAttention;
}

/// check_requires_grad_and_head_dim_gt192_constraints_on_sm86_89: seen in 2.6 and 2.15.
bool flash_backward_fits(int sm, const SdpaCall& call) {
  const std::int64_t head_dim = call.shape.head_dim;
  const bool is_wide = head_dim > 192 && (head_dim <= 224 || call.dropout > 0);
  return !(call.requires_grad && is_wide && sm >= 86 && sm <= 89);
}

bool runs_flash(const Gpu& gpu, const SdpaCall& call) {
  const AttentionShape& s = call.shape;
  const int sm = capability(gpu);
  return sm >= 80 && is_known(gpu, call.torch) && is_low_precision(call.dtype) && !call.mask &&
         heads_fit(call, true) && flash_backward_fits(sm, call) && s.head_dim == s.v_head_dim &&
         s.head_dim <= 256 && call.last_dim_contiguous && (!call.is_causal || s.q_len == s.kv_len);
}

/// Elements to which a head dimension must be aligned for the matrix units.
std::int64_t gemm_alignment(const Gpu& gpu, DType dtype) {
  const bool low = is_low_precision(dtype);
  if (gpu.major >= 8 || (gpu.major == 7 && low)) {
    return low ? 8 : 4;
  }
  return 1;
}

bool runs_efficient(const Gpu& gpu, const SdpaCall& call) {
  const AttentionShape& s = call.shape;
  const std::int64_t alignment = gemm_alignment(gpu, call.dtype);
  const bool type_fits =
      is_floating_point(call.dtype) && (gpu.major >= 8 || call.dtype != DType::bf16);
  return type_fits && capability(gpu) >= 50 && is_known(gpu, call.torch) &&
         heads_fit(call, call.torch >= kGroupedRelease) && s.head_dim % alignment == 0 &&
         s.v_head_dim % alignment == 0 && call.last_dim_contiguous;
}

/// From here on cuDNN's kernels have 256 channels a head (those of its version in the wheels).
constexpr Release kWideCudnn{2, 11};

/// The largest head dimension of cuDNN's kernels.
std::int64_t cudnn_head_dim(const Gpu& gpu, const SdpaCall& call) {
  const bool is_wide = (gpu.major == 9 || gpu.major == 10) && call.torch >= kWideCudnn;
  return is_wide ? 256 : 128;
}

/// check_cudnn_d256_bprop_head_dim.
bool cudnn_backward_fits(const SdpaCall& call) {
  const AttentionShape& s = call.shape;
  return (s.head_dim <= 128 && s.v_head_dim <= 128) || (s.head_dim == 192 && s.v_head_dim == 128) ||
         (s.head_dim == 256 && s.v_head_dim == 256);
}

/// cuDNN drops out with probabilities that are multiples of 1/16; 2.11 does not ask.
bool cudnn_drops_out(const SdpaCall& call) {
  const double sixteenths = call.dropout * 16;
  return call.torch < Release{2, 12} || sixteenths == std::floor(sixteenths);
}

bool runs_cudnn(const Gpu& gpu, const SdpaCall& call) {
  const AttentionShape& s = call.shape;
  const std::int64_t most = cudnn_head_dim(gpu, call);
  return gpu.major >= 8 && is_low_precision(call.dtype) && s.head_dim <= most &&
         s.v_head_dim <= most && s.head_dim % 8 == 0 && s.v_head_dim % 8 == 0 && s.q_len > 1 &&
         s.kv_len > 1 && (!call.requires_grad || cudnn_backward_fits(call)) &&
         cudnn_drops_out(call) && !call.mask_requires_grad && call.last_dim_contiguous;
}

/// check_prefer_cudnn_attention: Hopper and Blackwell with a cuDNN newer than 9.15, which wheels
/// have since 2.11.
bool prefers_cudnn(const Gpu& gpu, Release torch) {
  return torch >= Release{2, 11} && (gpu.major == 9 || gpu.major == 10);
}

bool runs(SdpaBackend backend, const Gpu& gpu, const SdpaCall& call) {
  switch (backend) {
    case SdpaBackend::flash:
      return runs_flash(gpu, call);
    case SdpaBackend::efficient:
      return runs_efficient(gpu, call);
    case SdpaBackend::cudnn:
      return runs_cudnn(gpu, call);
    case SdpaBackend::math:
      return true;
  }
  return false;
}

/// Head dimension of flash attention's float accumulators.
std::int64_t flash_rounded_head_dim(std::int64_t padded) {
  return round_up(padded, 32);
}

/// The number of parts into which flash attention splits the keys: the fewest that give 85 % of the
/// best occupancy of `slots` by `blocks` query blocks.
std::int64_t flash_splits(std::int64_t blocks, std::int64_t slots, std::int64_t key_blocks) {
  constexpr std::int64_t kMaxSplits = 128;
  if (static_cast<float>(blocks) >= 0.8F * static_cast<float>(slots)) {
    return 1;
  }
  const std::int64_t most = std::min({kMaxSplits, slots, key_blocks});
  const auto eligible = [&](std::int64_t splits) {
    return splits == 1 || divide_up(key_blocks, splits) != divide_up(key_blocks, splits - 1);
  };
  const auto efficiency = [&](std::int64_t splits) {
    const float waves = static_cast<float>(blocks * splits) / static_cast<float>(slots);
    return waves / std::ceil(waves);
  };
  float best = 0;
  for (std::int64_t splits = 1; splits <= most; ++splits) {
    best = eligible(splits) ? std::max(best, efficiency(splits)) : best;
  }
  for (std::int64_t splits = 1; splits <= most; ++splits) {
    if (eligible(splits) && double{efficiency(splits)} >= 0.85 * double{best}) {
      return splits;
    }
  }
  return 1;
}

/// The variant of the efficient backward kernel that runs.
struct BackwardKernel {
  std::int64_t block_i = 64;  ///< queries per block
  std::int64_t block_j = 64;  ///< keys per block
  bool output_in_registers = false;
};

/// Shared memory for the variants with 128 queries per block (sm 75, 86, 89 and 120 lack it).
bool has_large_shared_memory(const Gpu& gpu) {
  return capability(gpu) == 70 || capability(gpu) == 80 || capability(gpu) == 87 ||
         gpu.major == 9 || gpu.major == 10;
}

BackwardKernel backward_kernel(const Gpu& gpu, DType dtype, std::int64_t head_dim, double dropout) {
  const bool low = is_low_precision(dtype);
  const bool ampere = gpu.major >= 8;
  if (head_dim <= 64) {
    return {64, 64, low};
  }
  if (low && head_dim <= 96 && dropout == 0 && (capability(gpu) == 86 || capability(gpu) == 89)) {
    return {128, 64, true};
  }
  if (!has_large_shared_memory(gpu) || !(ampere || low)) {
    return {64, 64, false};
  }
  const bool in_registers = low && head_dim <= 128;
  return {128, in_registers && ampere ? 128 : 64, in_registers};
}

std::int64_t backward_workspace(const BackwardKernel& kernel, const AttentionShape& s, bool low) {
  constexpr std::int64_t kLockBytes = 16;
  const std::int64_t tile = kLockBytes + kFloat * kernel.block_i * kernel.block_j;
  const std::int64_t heads = s.batch * s.heads;
  std::int64_t bytes =
      divide_up(s.q_len, kernel.block_i) * divide_up(s.head_dim, kernel.block_j) * tile;
  if (low && !kernel.output_in_registers) {
    std::int64_t splits = divide_up(s.kv_len, kernel.block_j);
    if (heads >= 256 && s.kv_len <= 2 * kernel.block_j) {
      splits = 1;
    }
    splits = std::max<std::int64_t>(1, std::min(splits, 200 / heads));
    bytes += kFloat * splits * kernel.block_j *
             (round_up(s.head_dim, kernel.block_i) + round_up(s.v_head_dim, kernel.block_i));
  }
  return heads * round_up(bytes, 16);
}

}  // namespace

std::optional<SdpaBackend> select_sdpa_backend(const Gpu& gpu, const SdpaCall& call) {
  if (call.forced) {
    return runs(*call.forced, gpu, call) ? call.forced : std::nullopt;
  }
  if (prefers_cudnn(gpu, call.torch) && runs_cudnn(gpu, call)) {
    return SdpaBackend::cudnn;
  }
  for (const SdpaBackend backend : {SdpaBackend::flash, SdpaBackend::efficient}) {
    if (runs(backend, gpu, call)) {
      return backend;
    }
  }
  return SdpaBackend::math;
}

std::int64_t flash_padded_head_dim(std::int64_t head_dim) {
  return round_up(head_dim, 8);
}

FlashForward flash_forward(const Gpu& gpu, const AttentionShape& shape, double dropout) {
  FlashForward found;
  const std::int64_t padded = flash_padded_head_dim(shape.head_dim);
  const std::int64_t rows = shape.batch * shape.heads * shape.q_len;
  found.logsumexp = rows * kFloat;
  if (dropout > 0) {
    return found;
  }
  const std::int64_t key_block = padded <= 64 ? 256 : (padded <= 128 ? 128 : 64);
  const std::int64_t splits =
      flash_splits(shape.batch * shape.heads * divide_up(shape.q_len, 64),
                   2 * std::int64_t{gpu.multiprocessors}, divide_up(shape.kv_len, key_block));
  if (splits > 1) {
    found.split_logsumexp = splits * rows * kFloat;
    found.split_output = splits * rows * flash_rounded_head_dim(padded) * kFloat;
  }
  return found;
}

FlashBackward flash_backward(const AttentionShape& shape, DType dtype) {
  const std::int64_t padded = flash_padded_head_dim(shape.head_dim);
  const std::int64_t rows = shape.batch * shape.heads * round_up(shape.q_len, 128);
  FlashBackward found;
  found.softmax_d = rows * kFloat;
  found.dq_accum = rows * flash_rounded_head_dim(padded) * kFloat;
  if (shape.heads != shape.kv_heads) {
    found.dk_expanded = shape.batch * shape.kv_len * shape.heads * padded * item_size(dtype);
    found.dv_expanded = found.dk_expanded;
  }
  return found;
}

EfficientForward efficient_forward(const AttentionShape& shape, DType dtype, Logsumexp logsumexp) {
  EfficientForward found;
  if (logsumexp == Logsumexp::computed) {
    found.logsumexp = shape.batch * shape.heads * round_up(shape.q_len, 32) * kFloat;
  }
  if (is_low_precision(dtype) && std::max(shape.head_dim, shape.v_head_dim) > 128) {
    found.accumulator = shape.batch * shape.q_len * shape.heads * shape.v_head_dim * kFloat;
  }
  return found;
}

EfficientBackward efficient_backward(const Gpu& gpu, const AttentionShape& shape, DType dtype,
                                     double dropout, bool bias_requires_grad) {
  const bool low = is_low_precision(dtype);
  const BackwardKernel kernel =
      backward_kernel(gpu, dtype, std::max(shape.head_dim, shape.v_head_dim), dropout);
  const std::int64_t rows = shape.batch * shape.heads * shape.q_len;
  EfficientBackward found;
  if (bias_requires_grad) {
    found.grad_bias = rows * round_up(shape.kv_len, 16) * item_size(dtype);
  }
  if (shape.heads != shape.kv_heads) {
    const std::int64_t keys = shape.batch * shape.kv_len * shape.heads * item_size(dtype);
    found.dk_expanded = keys * shape.head_dim;
    found.dv_expanded = keys * shape.v_head_dim;
  }
  // Float kernels, and one case on sm 70, leave the row sums of grad * output to PyTorch.
  const bool volta = capability(gpu) == 70;
  if (!low || (volta && !kernel.output_in_registers)) {
    found.product = rows * shape.v_head_dim * kFloat;
    found.float_grad = low ? found.product : 0;
    found.float_output = found.float_grad;
    found.row_sums = rows * kFloat;
  }
  found.delta = rows * kFloat;
  found.workspace = backward_workspace(kernel, shape, low);
  return found;
}

}  // namespace highwater
