// What GeminiPlugin and LLMem's training scripts leave to the user.
//
// Sources: Colossal-AI 0.3.0 (colossalai/booster/plugin/gemini_plugin.py) and the fork of LLMem,
// whose scripts are dp_real.py and tp_real.py.
#pragma once

#include <cstdint>

#include "workloads/plan/llmem_chunks.hpp"

namespace highwater {

/// Where chunks live that no operator uses (zero/gemini/placement_policy.py). Under all policies
/// but `cuda` fp32 copies, moments and reduced gradients are on the host, and parameters come to
/// the GPU for use.
enum class GeminiPlacement : std::uint8_t {
  cuda,       ///< nothing leaves the GPU; gathered chunks stay whole until they are reduced
  cpu,        ///< every operator sends away all chunks that it does not use
  constant,   ///< "const": gathered chunks have a limit
  automatic,  ///< "auto": chunks get what the first iteration left of the GPU
};

struct Gemini {
  /// min_chunk_size_mb = 32, search_range_mb = 32 and hidden_dim (1024 if not given), in elements.
  ChunkSearch search;

  /// Chunks that belong to a single rank stay gathered (LLMem's change to search_utils.py;
  /// Colossal-AI scatters and gathers them anyway).
  bool keep_lone_chunks_gathered = true;

  /// The scripts empty the cache after halving, splitting and wrapping the model and after the
  /// first backward.
  bool empties_cache = true;

  GeminiPlacement placement = GeminiPlacement::cuda;

  /// pin_memory: each sharded chunk has pinned memory on the host for the whole run.
  bool pins_memory = false;

  /// set_const_memory_boundary: gathered chunks under `constant`, MiB.
  std::int64_t gathered_limit_mib = 512;

  /// AutoPlacementPolicy: share of the GPU that the first iteration leaves to everything but
  /// chunks.
  double warmup_other_share = 0.8;

  /// AutoPlacementPolicy: share of the GPU that later iterations may use.
  double steady_share = 0.9;

  /// gpu_margin_mem_ratio: share of what the first iteration left of the GPU for fp32 copies and
  /// moments, with `automatic`.
  double margin_share = 0;

  bool operator==(const Gemini&) const = default;
};

}  // namespace highwater
