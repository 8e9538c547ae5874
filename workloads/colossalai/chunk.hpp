// One chunk of Gemini: parameters side by side in one block, sharded over data-parallel ranks.
//
//   building       closed          in use (fp16)                      reduced
//   [ whole ]  ->  [shard]   ->    [ whole ] from all ranks' shards   ->  [shard] of gradients
//
// Gradients are written over the parameters: a reduced fp16 chunk holds gradients until the
// optimizer copies the fp32 chunk of the same parameters back into it. A shard may be on the host;
// if the optimizer works there, the next use makes the fp16 shard on the GPU from the fp32 one.
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

/// What is being done with a tensor of a chunk.
enum class TensorState : std::uint8_t { hold, compute, hold_after_backward, ready_for_reduce };

struct ChunkOptions {
  std::int64_t size = 0;  ///< elements
  DType dtype = DType::fp16;
  Category category = Category::parameter;
  bool keeps_gathered = false;  ///< never sharded: replicated as under DDP
  int rank = 0;                 ///< of this process in the chunk's group
  bool starts_on_host = false;
  bool pins_memory = false;  ///< the shard has pinned memory on the host for the whole run
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

  /// init_pair: the fp32 chunk of the same parameters, which must outlive this chunk's use.
  void pair_with(Chunk& wide) { wide_ = &wide; }

  /// access_chunk: the whole chunk is available until it is reduced or released.
  void access();

  /// release_chunk. @pre can_release()
  void release() { scatter(); }

  /// shard_move: nothing happens to a chunk that is gathered or there already.
  void move_to(eager::Place place);

  /// copy_tensor_to_chunk_slice and reduce_chunk: the gradient of the `index`-th tensor has come.
  /// When all have, they are averaged over the ranks and checked for inf and nan; then true.
  bool take_gradient(std::size_t index);

  /// optim_update: the optimizer has changed the fp32 chunk.
  void on_optimizer_step();

  /// Ignored if the state machine has no such transition, as in the original.
  void change_state(std::size_t index, TensorState state);

  /// No operator uses the chunk and none of its gradients has come.
  [[nodiscard]] bool can_release() const;

  [[nodiscard]] bool is_gathered() const { return is_gathered_; }

  [[nodiscard]] bool is_on_host() const { return !is_gathered_ && !shard_.defined(); }

  [[nodiscard]] bool keeps_gathered() const { return options_.keeps_gathered; }

  /// Bytes that its blocks on the GPU are counted for.
  [[nodiscard]] std::int64_t device_bytes() const;

  /// Bytes of the whole chunk.
  [[nodiscard]] std::int64_t bytes() const { return options_.size * item_size(options_.dtype); }

  [[nodiscard]] std::int64_t shard_bytes() const { return bytes() / group_.size(); }

  /// Bytes of what the optimizer sees.
  [[nodiscard]] std::int64_t payload_bytes() const {
    return is_gathered_ ? bytes() : shard_bytes();
  }

  /// Where the `index`-th tensor lies in this rank's part of the chunk.
  [[nodiscard]] ShardRange range(std::size_t index) const;

  [[nodiscard]] std::int64_t size() const { return options_.size; }

  [[nodiscard]] std::size_t tensor_count() const { return ends_.size(); }

 private:
  void gather();
  void scatter();
  void reduce();
  void check_overflow() const;
  void make_host_shard();
  void move_to_device();
  void move_to_host();
  [[nodiscard]] eager::Tensor new_shard();
  [[nodiscard]] std::size_t count_of(TensorState state) const;

  [[nodiscard]] std::int64_t shard_size() const { return options_.size / group_.size(); }

  ProcessGroup& group_;
  ChunkOptions options_;
  Chunk* wide_ = nullptr;
  eager::Tensor whole_;       ///< cuda_global_chunk: its storage is empty while not gathered
  eager::Tensor shard_;       ///< cuda_shard: undefined while the chunk is gathered or on the host
  eager::Tensor host_shard_;  ///< cpu_shard
  bool is_gathered_ = true;
  bool is_outdated_ = false;        ///< !optim_sync_flag: the values are in the fp32 chunk
  std::vector<std::int64_t> ends_;  ///< of the tensors, in elements
  std::vector<TensorState> states_;
  std::int64_t used_ = 0;
};

}  // namespace highwater::dist
