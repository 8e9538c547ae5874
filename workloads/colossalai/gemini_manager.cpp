#include "workloads/colossalai/gemini_manager.hpp"

namespace highwater::dist {

using eager::Tensor;

namespace {

// _get_layout_info: a shard on the GPU is freed once the chunk is gathered.
std::int64_t bytes_to_gather(const Chunk& chunk) {
  if (chunk.is_gathered()) {
    return 0;
  }
  return chunk.is_on_host() ? chunk.bytes() : chunk.bytes() - chunk.shard_bytes();
}

}  // namespace

void GeminiManager::end_iteration() {
  policy_->end_iteration();
  operation_ = 0;
  state_after_use_ = TensorState::hold;
}

void GeminiManager::before_operator(std::span<const Tensor> parameters) {
  change_states(parameters, TensorState::compute);
  const std::vector<Chunk*> chunks = chunks_.chunks_of(parameters);
  ChunkDemand demand{.chunks = chunks, .operation = operation_++};
  for (const Chunk* chunk : chunks) {
    demand.bytes += bytes_to_gather(*chunk);
  }
  policy_->make_room(demand);
  for (Chunk* chunk : chunks) {
    chunks_.access(*chunk);
  }
  policy_->on_chunks_ready();
}

void GeminiManager::after_operator(std::span<const Tensor> parameters) {
  change_states(parameters, state_after_use_);
}

void GeminiManager::change_states(std::span<const Tensor> parameters, TensorState state) {
  for (const Tensor& parameter : parameters) {
    chunks_.change_state(parameter, state);
  }
}

void GeminiManager::move_wide_chunks(std::span<const Tensor> parameters) {
  const std::int64_t margin = policy_->take_margin();
  std::int64_t used = 0;
  for (const Tensor& parameter : parameters) {
    Chunk& wide = chunks_.wide_chunk_of(parameter);
    const bool has_part = chunks_.owned_elements(parameter) > 0;
    if (has_part && wide.is_on_host() && used + wide.payload_bytes() < margin) {
      Chunk& narrow = chunks_.chunk_of(parameter);
      wide.move_to(eager::Place::cuda);
      narrow.move_to(eager::Place::cuda);
      chunks_.keep_on_device(narrow);
      used += wide.payload_bytes();
    }
  }
}

}  // namespace highwater::dist
