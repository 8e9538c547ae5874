// Gemini's chunks of a model: how large they are and which parameter lies where.
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

  /// Elements of the parameter that this rank's optimizer updates.
  [[nodiscard]] std::int64_t owned_elements(const eager::Tensor& parameter) const {
    const Home& home = home_.at(parameter.get());
    return home.chunk->range(home.index).size();
  }

  /// All fp16 chunks, group by group in order of creation.
  [[nodiscard]] std::vector<const Chunk*> chunks() const;

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
  };

  Group& group_of(const ChunkConfig& config, int ranks, DType dtype);
  Home place(Group& group, const GeminiParameter& parameter, const eager::Tensor& tensor);

  std::vector<std::pair<std::pair<int, DType>, std::unique_ptr<Group>>> groups_;
  boost::unordered_flat_map<const eager::TensorImpl*, Home> home_;
};

}  // namespace highwater::dist
