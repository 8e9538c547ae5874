// Where the parameters of one FSDP1 unit lie in its flat parameter, and in one rank's shard of it.
//
// Mirrors FlatParamHandle._init_flat_param_and_metadata and _get_shard_metadata of PyTorch 2.6
// (torch/distributed/fsdp/_flat_param.py). With use_orig_params each parameter starts at a multiple
// of 16 bytes and the whole is a multiple of the ranks; without, nothing is aligned and the last
// ranks' shards are padded instead. All numbers are elements.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace highwater::dist {

/// A run of elements.
struct Extent {
  std::int64_t offset = 0;
  std::int64_t length = 0;

  bool operator==(const Extent&) const = default;
};

struct FlatParamLayout {
  std::vector<Extent> parameters;   ///< in the flat parameter, in order
  std::vector<std::int64_t> parts;  ///< parameters and padding between them, in order
  std::vector<std::size_t> owned;   ///< indices into `parts` of the parameters
  std::int64_t length = 0;          ///< of the flat parameter
};

/// `alignment` is 0 (use_orig_params off) or the number of elements in 16 bytes.
FlatParamLayout lay_out(std::span<const std::int64_t> lengths, std::int64_t alignment, int ranks);

/// One rank's part of a flat parameter of `length` elements: ranks have equal shards, of which the
/// last `padding` elements may lie past the end. Some ranks may hold only padding.
struct FlatShard {
  Extent extent;             ///< without padding
  std::int64_t padding = 0;  ///< elements that fill it up to shard_length()

  [[nodiscard]] std::int64_t padded_length() const { return extent.length + padding; }

  bool operator==(const FlatShard&) const = default;
};

FlatShard shard_of(std::int64_t length, int rank, int ranks);

/// The part of `parameter` inside the shard that starts at `start` and is `length` long, as offsets
/// in the shard; length 0 if none.
Extent part_in_shard(const Extent& parameter, std::int64_t start, std::int64_t length);

}  // namespace highwater::dist
