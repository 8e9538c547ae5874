// Gemini's chunks: Colossal-AI keeps parameters in blocks of one size, which it searches for.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace highwater {

/// Gemini's defaults. All three count elements, whatever the options' names say: Colossal-AI
/// compares them with numel() (colossalai/zero/gemini/chunk/search_utils.py).
struct ChunkSearch {
  std::int64_t smallest = std::int64_t{32} << 20;
  std::int64_t range = std::int64_t{32} << 20;
  std::int64_t step = 1024;

  bool operator==(const ChunkSearch&) const = default;
};

/// The chunk size in elements that wastes least for tensors of `sizes` elements in order of
/// registration, as a multiple of the data-parallel size `dp`.
/// Source: search_utils.py, search_chunk_configuration.
std::int64_t gemini_chunk_size(std::span<const std::int64_t> sizes, int dp = 1,
                               const ChunkSearch& search = {});

/// Elements of each chunk once all tensors are packed in order, first fit into the open chunk; a
/// tensor larger than `chunk_size` has a chunk of its own size. Source: chunk/manager.py,
/// register_tensor.
std::vector<std::int64_t> gemini_chunks(std::span<const std::int64_t> sizes,
                                        std::int64_t chunk_size);

}  // namespace highwater
