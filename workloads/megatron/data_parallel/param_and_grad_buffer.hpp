// The contiguous buffers in which Megatron-Core's DDP holds all gradients and, for the distributed
// optimizer, all parameters.
//
// Source: Megatron-Core 0.16.1, core/distributed/param_and_grad_buffer.py (_ParamAndGradBuffer) and
// distributed_data_parallel.py.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "workloads/eager/tensor.hpp"
#include "workloads/plan/parallelism.hpp"

namespace highwater::megatron {

/// Elements [start, end) of a buffer.
struct Range {
  std::int64_t start = 0;
  std::int64_t end = 0;

  [[nodiscard]] std::int64_t size() const { return end - start; }

  bool operator==(const Range&) const = default;
};

/// What the ranks of a distributed optimizer share out.
enum class Shards : std::uint8_t {
  bytes,      ///< equal parts of each bucket, wherever they begin
  parameters  ///< whole parameters: the layer-wise optimizer's
};

/// What determines the layout of a buffer's parameters.
struct BufferRules {
  std::int64_t ranks = 1;                   ///< of the data-parallel group
  bool is_distributed = false;              ///< use_distributed_optimizer
  std::optional<std::int64_t> bucket_size;  ///< elements; absent: one bucket
  /// The parameter that is a bucket of its own for the distributed optimizer, so that both stages
  /// that have it share its states among their ranks alike (_does_param_require_new_bucket).
  std::optional<std::size_t> shared_embedding;
  Shards shards = Shards::bytes;
};

struct BufferLayout {
  std::vector<Range> params;        ///< in the model's order
  std::vector<std::size_t> bucket;  ///< of each parameter
  std::vector<Range> buckets;
  std::int64_t elements = 0;  ///< numel: with all padding
};

/// Lays out parameters of `sizes` elements from the last to the first. For the distributed
/// optimizer each begins at a multiple of 64 and each bucket ends at a multiple of lcm(ranks, 128);
/// for the layer-wise one see layer_wise_layout.hpp.
BufferLayout layout_buffer(std::span<const std::int64_t> sizes, const BufferRules& rules);

/// The part of a bucket that the rank at `place` has: all parts are equal.
Range shard_of(const Range& bucket, const GroupPlace& place);

/// The part of a parameter that this rank of the distributed optimizer updates; absent if none
/// (_build_model_gbuf_param_range_map).
std::optional<Range> owned_part(const BufferLayout& layout, std::size_t param,
                                const GroupPlace& place);

/// ddp_config.bucket_size: as given, otherwise max(40e6, 1e6 dp cp); absent unless gradients are
/// reduced during the backward, and after the first stage of a pipeline.
std::optional<std::int64_t> bucket_size(const Parallelism& plan);

}  // namespace highwater::megatron
