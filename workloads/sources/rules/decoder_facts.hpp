// A decoder that a program describes by its sizes instead of a name: Megatron-LM's and NeMo's
// options, torchtitan's flavors. Here it becomes a config.json.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "workloads/plan/model/megatron_config.hpp"

namespace highwater::program_table {

/// Without its dropout, which is an option (--dropout).
struct DecoderFacts {
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;  ///< 0: as many as heads
  std::int64_t head_dim = 0;  ///< 0: hidden / heads
  std::int64_t ffn = 0;
  std::int64_t vocab = 0;
  std::int64_t positions = 0;  ///< 0: the family's default
  std::int64_t experts = 0;    ///< 0: no mixture
  std::int64_t top_k = 0;
  megatron::RouterConfig router;
  std::int64_t shared_ffn = 0;    ///< of the experts that all tokens share; 0: none
  std::int64_t dense_layers = 0;  ///< the first layers, without a mixture
  std::int64_t dense_ffn = 0;
  std::optional<megatron::LatentAttention> latent;
  bool has_qk_norm = false;
  bool is_gated = false;
  bool has_rms_norm = false;
  bool has_rotary = false;
  bool has_biases = false;      ///< of all linear layers
  bool has_qkv_biases = false;  ///< of queries, keys and values alone
  bool is_tied = false;
};

/// The text of its config.json, or the name of the preset that is the same. Absent where no family
/// of this program has its parts (norm, activation, positions, biases).
std::optional<std::string> decoder_word(const DecoderFacts& facts);

/// The one part (norm, activation, positions, biases) that keeps a decoder from the family whose
/// other parts it has; nullptr where several do. @pre decoder_word() is absent
bool DecoderFacts::*stray_part(const DecoderFacts& facts);

/// Words of the known models of these sizes, where all of them have as many.
std::optional<std::int64_t> known_vocabulary(const DecoderFacts& facts);

}  // namespace highwater::program_table
