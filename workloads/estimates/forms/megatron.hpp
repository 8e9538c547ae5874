// Megatron-LM's own report of theoretical memory (megatron/training/theoretical_memory_usage.py).
#pragma once

#include "workloads/estimates/terms/formula.hpp"

namespace highwater {

/// The model by Megatron-LM's arguments.
struct MegatronModel {
  double hidden = 0;        ///< h, hidden_size
  double layers = 0;        ///< L, num_layers
  double ffn = 0;           ///< F, ffn_hidden_size
  double padded_vocab = 0;  ///< v, padded_vocab_size
  double query_ratio = 1;   ///< r, kv_channels * num_attention_heads / hidden_size
  double kv_ratio = 1;      ///< kv / a, num_query_groups / num_attention_heads
  bool gated = false;       ///< three matrices in the MLP
  bool rms_norm = false;    ///< norms without bias
  bool untied = false;      ///< untie_embeddings_and_output_weights
};

/// The job by Megatron-LM's arguments.
struct MegatronJob {
  double seq = 0;           ///< s, tokens
  double batch = 0;         ///< b, micro_batch_size
  double tp = 1;            ///< t
  double pp = 1;            ///< p
  double dp = 1;            ///< d
  double chunks = 0;        ///< m, virtual_pipeline_model_parallel_size; 0: not interleaved
  double microbatches = 1;  ///< num_microbatches
  bool distributed_optimizer = false;
  bool sequence_parallel = true;
};

/// `vocab` rounded up so that every rank has a multiple of `divisor`
/// (make_vocab_size_divisible_by). Source: megatron/training/tokenizer/tokenizer.py,
/// _vocab_size_with_padding.
double megatron_padded_vocab(double vocab, double tp, double divisor = 128);

/// Parameters of all layers and the final norm; biases of linear layers are left out. Source:
/// compute_weight_and_optimizer_memory, as are the next three.
double megatron_block_parameters(const MegatronModel& model);

/// Parameters with the embedding, twice if the head is another tensor.
double megatron_parameters(const MegatronModel& model);

/// Parameters of the rank that has most: (block / p + embedding) / t, and the head too if it is
/// another tensor on the only stage.
double megatron_shard_parameters(const MegatronModel& model, const MegatronJob& job);

/// Bytes of states on that rank: 18 each, or 6 + 12 / d with the distributed optimizer.
Estimate megatron_states(const MegatronModel& model, const MegatronJob& job);

/// Bytes of activations on the first stage with selective recomputation. Source:
/// compute_activation_memory, and compute_activation_memory_without_sp, which adds 5 %.
Estimate megatron_activations(const MegatronModel& model, const MegatronJob& job);

extern const Formula kMegatron;

}  // namespace highwater
