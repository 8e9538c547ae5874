// Gemini's chunks of a model: how large they are, which parameter lies where, and which are in use.
//
// Parameters are grouped by the number of data-parallel ranks that hold them (under tensor
// parallelism split weights have fewer than the replicated norms and biases). A group smaller than
// the smallest chunk is one chunk that every rank keeps whole; the others share one searched size.
// Sources: colossalai/zero/gemini/chunk/{manager,search_utils}.py, gemini_ddp.py: _init_chunks.
#pragma once

#include <map>
#include <memory>

#include <boost/unordered/unordered_flat_map.hpp>

#include "workloads/colossalai/chunk.hpp"
#include "workloads/plan/gemini_options.hpp"

namespace highwater::dist {

/// A parameter and the ranks that hold the same elements of it.
struct GeminiParameter {
  eager::Tensor tensor;
  ProcessGroup* group = nullptr;
  int rank = 0;  ///< of this process in `group`
};

/// Size and kind of the chunks of one group.
struct ChunkConfig {
  std::int64_t size = 0;
  bool keeps_gathered = false;

  bool operator==(const ChunkConfig&) const = default;
};

/// search_chunk_configuration: one configuration for each number of data-parallel ranks. `elements`
/// holds the parameters' sizes on this rank and `ranks` the number of ranks that share them, in
/// order of registration.
std::map<int, ChunkConfig> search_chunk_configuration(std::span<const std::int64_t> elements,
                                                      std::span<const int> ranks,
                                                      const Gemini& options);

class ChunkManager {
 public:
  /// _init_chunks: moves the parameters into fp16 chunks and copies them into fp32 chunks.
  ChunkManager(eager::Runtime& runtime, std::span<const GeminiParameter> parameters,
               const Gemini& options);

  /// The fp16 chunk of a parameter.
  [[nodiscard]] Chunk& chunk_of(const eager::Tensor& parameter) const {
    return *home_.at(parameter.get()).chunk;
  }

  /// The fp32 chunk of the same parameter.
  [[nodiscard]] Chunk& wide_chunk_of(const eager::Tensor& parameter) const {
    return *home_.at(parameter.get()).wide;
  }

  /// The fp16 chunks of several parameters, each once (get_chunks).
  [[nodiscard]] std::vector<Chunk*> chunks_of(std::span<const eager::Tensor> parameters) const;

  /// trans_tensor_state.
  void change_state(const eager::Tensor& parameter, TensorState state);

  /// access_chunk: gathers the chunk unless an operator uses it already.
  void access(Chunk& chunk);

  /// release_chunk and move_chunk: sends a chunk that was accessed away.
  void evict(Chunk& chunk);

  /// The gradient of a parameter has come; a reduced chunk goes where the optimizer works.
  void take_gradient(const eager::Tensor& parameter);

  /// optim_update of all chunks.
  void on_optimizer_step();

  /// The optimizer works on this chunk on the GPU from now on (set_chunk_grad_device).
  void keep_on_device(Chunk& chunk);

  /// Chunks in use that can be released, in order of creation (get_cuda_movable_chunks).
  [[nodiscard]] std::vector<Chunk*> movable_chunks() const;

  /// Bytes of the chunks in use (accessed_mem).
  [[nodiscard]] std::int64_t accessed_bytes() const;

  /// Bytes of all chunks on the GPU, and of the optimizer's states (total_mem["cuda"]).
  [[nodiscard]] std::int64_t device_bytes() const;

  /// add_extern_static_tensor of a tensor on the GPU.
  void add_static_bytes(std::int64_t bytes) { static_bytes_ += bytes; }

  /// Elements of the parameter that this rank's optimizer updates.
  [[nodiscard]] std::int64_t owned_elements(const eager::Tensor& parameter) const {
    const Home& home = home_.at(parameter.get());
    return home.chunk->range(home.index).size();
  }

 private:
  /// The fp16 or fp32 chunks of one number of ranks.
  struct Group {
    ChunkConfig config;
    DType dtype;
    Category category;
    std::vector<std::unique_ptr<Chunk>> chunks;
  };

  struct Home {
    Chunk* chunk;
    std::size_t index;  ///< of the tensor in it
    Chunk* wide = nullptr;
  };

  Group& group_of(const ChunkConfig& config, int ranks, DType dtype);
  Home place(Group& group, const GeminiParameter& parameter, const eager::Tensor& tensor);
  Chunk& make_chunk(Group& group, const GeminiParameter& parameter, std::int64_t elements);

  Gemini options_;

  std::vector<std::pair<std::pair<int, DType>, std::unique_ptr<Group>>> groups_;
  boost::unordered_flat_map<const eager::TensorImpl*, Home> home_;
  std::vector<Chunk*> by_creation_;  ///< all chunks
  std::vector<const Chunk*> accessed_;
  std::vector<const Chunk*> on_device_;  ///< whose gradients stay on the GPU
  std::int64_t static_bytes_ = 0;
};

}  // namespace highwater::dist
