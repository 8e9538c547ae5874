// One chunk of Gemini: parameters side by side in one block, sharded over data-parallel ranks.
//
//   building       closed          in use (fp16)                      reduced
//   [ whole ]  ->  [shard]   ->    [ whole ] from all ranks' shards   ->  [shard] of gradients
//
// Gradients are written over the parameters: a reduced fp16 chunk holds gradients until the
// optimizer copies the fp32 chunk of the same parameters back into it.
// Source: colossalai/zero/gemini/chunk/chunk.py (Colossal-AI 0.3.0).
#pragma once

#include "workloads/distributed/process_group.hpp"

namespace highwater::dist {

/// The part of a chunk's shard that belongs to one tensor, in elements.
struct ShardRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  [[nodiscard]] std::int64_t size() const { return end > begin ? end - begin : 0; }
};

struct ChunkOptions {
  std::int64_t size = 0;  ///< elements
  DType dtype = DType::fp16;
  Category category = Category::parameter;
  bool keeps_gathered = false;  ///< never sharded: replicated as under DDP
  int rank = 0;                 ///< of this process in the chunk's group
};

class Chunk {
 public:
  /// `group`: those that share the chunk; must outlive it. Allocates the whole chunk.
  Chunk(ProcessGroup& group, const ChunkOptions& options);

  /// False if `elements` more do not fit.
  [[nodiscard]] bool has_room_for(std::int64_t elements) const {
    return used_ + elements <= options_.size;
  }

  /// Makes `tensor` a view of the next elements; its own block is freed with its last user.
  /// @pre has_room_for(tensor.numel())
  void append(const eager::Tensor& tensor);

  /// close_chunk: nothing is appended any more; only this rank's shard stays.
  void close();

  /// access_chunk: the whole chunk is available until it is reduced.
  void access();

  /// copy_tensor_to_chunk_slice and reduce_chunk: one more gradient has come. When all have, they
  /// are averaged over the ranks and checked for inf and nan.
  void take_gradient();

  /// Where the `index`-th tensor lies in this rank's part of the chunk.
  [[nodiscard]] ShardRange range(std::size_t index) const;

  [[nodiscard]] std::int64_t size() const { return options_.size; }

  [[nodiscard]] std::size_t tensor_count() const { return ends_.size(); }

 private:
  void scatter();
  void reduce();
  void check_overflow() const;

  [[nodiscard]] std::int64_t shard_size() const { return options_.size / group_.size(); }

  [[nodiscard]] std::int64_t bytes() const { return options_.size * item_size(options_.dtype); }

  ProcessGroup& group_;
  ChunkOptions options_;
  eager::Tensor whole_;  ///< cuda_global_chunk: its storage is empty while the chunk is sharded
  eager::Tensor shard_;  ///< cuda_shard: undefined while the chunk is gathered
  std::vector<std::int64_t> ends_;  ///< of the tensors, in elements
  std::int64_t used_ = 0;
  std::size_t ready_gradients_ = 0;
};

}  // namespace highwater::dist
