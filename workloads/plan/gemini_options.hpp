// What GeminiPlugin and LLMem's training scripts leave to the user.
//
// Sources: Colossal-AI 0.3.0 (colossalai/booster/plugin/gemini_plugin.py) and the fork of LLMem,
// whose scripts are dp_real.py and tp_real.py.
#pragma once

#include "workloads/plan/llmem_chunks.hpp"

namespace highwater {

/// Parameters, gradients and fp32 copies always live on the GPU: placement policy "cuda".
struct Gemini {
  /// min_chunk_size_mb = 32, search_range_mb = 32 and hidden_dim (1024 if not given), in elements.
  ChunkSearch search;

  /// Chunks that belong to a single rank stay gathered (LLMem's change to search_utils.py;
  /// Colossal-AI scatters and gathers them anyway).
  bool keep_lone_chunks_gathered = true;

  /// The scripts empty the cache after halving, splitting and wrapping the model and after the
  /// first backward.
  bool empties_cache = true;

  bool operator==(const Gemini&) const = default;
};

}  // namespace highwater
