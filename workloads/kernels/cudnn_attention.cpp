#include "workloads/kernels/cudnn_attention.hpp"

#include "workloads/kernels/division.hpp"

namespace highwater {
namespace {

constexpr std::int64_t kInFloat = 4;
constexpr std::int64_t kInHalf = 2;

std::int64_t rounded_up(std::int64_t value, std::int64_t multiple) {
  return divide_up(value, multiple) * multiple;
}

/// The families of NVIDIA's kernels: which one runs decides what a plan wants.
enum class Kernels : std::uint8_t { ampere, hopper, blackwell };

Kernels kernels_of(const Gpu& gpu) {
  return gpu.major == 9 ? Kernels::hopper : gpu.major == 10 ? Kernels::blackwell : Kernels::ampere;
}

/// Blackwell's backward for 256 channels, which has no sums of the query's gradient.
bool is_wide_blackwell(Kernels kernels, const AttentionShape& shape) {
  return kernels == Kernels::blackwell && shape.head_dim == 256;
}

/// cudnn-frontend's own part of the backward: the query's gradient in float, and row sums.
std::int64_t frontend_backward(Kernels kernels, const AttentionShape& s) {
  const std::int64_t summed = is_wide_blackwell(kernels, s) ? 0 : s.head_dim;
  return s.batch * s.heads * s.q_len * (summed + 1) * kInFloat;
}

// What follows are the library's own answers to the graphs of PyTorch 2.15 for GPUs that are not
// there, put into rules: cuDNN 9.26. tests/tools/python/cudnn_attention_test.py asks it anew.

constexpr std::int64_t kAlignment = 128;
constexpr std::int64_t kBlockRows = 128;  ///< queries, and keys, of a block

/// The gradients of key and value for each query head, which are summed over a group.
std::int64_t expanded_gradients(const AttentionShape& s, std::int64_t element) {
  if (s.heads == s.kv_heads) {
    return 0;
  }
  const std::int64_t rows = s.batch * s.heads * s.kv_len * element;
  return rounded_up(rows * s.head_dim, kAlignment) + rounded_up(rows * s.v_head_dim, kAlignment);
}

/// A bit for each probability, in whole tiles.
std::int64_t dropout_mask(const AttentionShape& s) {
  return s.batch * s.heads * rounded_up(s.q_len, kBlockRows) * rounded_up(s.kv_len, kBlockRows) / 8;
}

/// The query's gradient in float once more.
std::int64_t query_gradient(const AttentionShape& s) {
  return s.batch * s.heads * rounded_up(s.q_len, 8) * s.head_dim * kInFloat;
}

struct Workspaces {
  std::int64_t forward = 0;
  std::int64_t backward = 0;
};

Workspaces hopper(const AttentionShape& s) {
  return {.forward = 256, .backward = expanded_gradients(s, kInHalf) + 256};
}

Workspaces ampere(const AttentionShape& s) {
  return {.forward = 0,
          .backward = expanded_gradients(s, kInHalf) + query_gradient(s) + kAlignment};
}

Workspaces blackwell(const AttentionShape& s, bool drops_out) {
  const bool has_one_tile = s.kv_len <= kBlockRows && s.head_dim <= 128;
  const std::int64_t expanded = expanded_gradients(s, kInHalf);
  std::int64_t wanted = expanded;
  if (is_wide_blackwell(Kernels::blackwell, s)) {
    wanted += expanded_gradients(s, kInFloat);
  } else if (drops_out) {
    wanted += dropout_mask(s);
  } else if (has_one_tile) {
    wanted += query_gradient(s);
  }
  return {.forward = drops_out ? dropout_mask(s) + kAlignment : 0,
          .backward = wanted == 0 ? 0 : wanted + kAlignment};
}

Workspaces library_workspaces(Kernels kernels, const CudnnCall& call) {
  switch (kernels) {
    case Kernels::hopper:
      return hopper(call.shape);
    case Kernels::blackwell:
      return blackwell(call.shape, call.dropout > 0);
    case Kernels::ampere:
      break;
  }
  return ampere(call.shape);
}

}  // namespace

CudnnAttention cudnn_attention(const Gpu& gpu, const CudnnCall& call) {
  const AttentionShape& s = call.shape;
  const Kernels kernels = kernels_of(gpu);
  const Workspaces wanted = call.workspaces == CudnnWorkspaces::counted
                                ? library_workspaces(kernels, call)
                                : Workspaces{};
  const bool has_logsumexp = call.logsumexp == Logsumexp::computed;
  return {.logsumexp = has_logsumexp ? s.batch * s.heads * s.q_len * kInFloat : 0,
          .forward_workspace = wanted.forward,
          .backward_workspace = frontend_backward(kernels, s) + wanted.backward};
}

}  // namespace highwater
