#include "workloads/colossalai/chunk_manager.hpp"

#include <algorithm>
#include <numeric>

#include "workloads/eager/runtime.hpp"

namespace highwater::dist {

using eager::Tensor;

std::map<int, ChunkConfig> search_chunk_configuration(std::span<const std::int64_t> elements,
                                                      std::span<const int> ranks,
                                                      const Gemini& options) {
  std::map<int, std::vector<std::int64_t>> sizes;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    sizes[ranks[i]].push_back(elements[i]);
  }
  int common = 1;
  std::map<int, ChunkConfig> result;
  std::vector<std::int64_t> searched;
  for (const auto& [count, own] : sizes) {
    common = std::lcm(common, count);
    const std::int64_t total = std::accumulate(own.begin(), own.end(), std::int64_t{0});
    if (total < options.search.smallest) {
      result[count] = {total, true};
    } else {
      searched.insert(searched.end(), own.begin(), own.end());
      result[count] = {0, count == 1 && options.keep_lone_chunks_gathered};
    }
  }
  for (auto& [count, config] : result) {
    if (config.size == 0) {
      config.size = gemini_chunk_size(searched, common, options.search);
    }
  }
  return result;
}

ChunkManager::ChunkManager(eager::Runtime& runtime, std::span<const GeminiParameter> parameters,
                           const Gemini& options) {
  std::vector<std::int64_t> elements;
  std::vector<int> ranks;
  for (const GeminiParameter& parameter : parameters) {
    elements.push_back(parameter.tensor.numel());
    ranks.push_back(parameter.group->size());
  }
  const auto configs = search_chunk_configuration(elements, ranks, options);
  Tensor fp32_data;  // a Python variable: it keeps the last parameter's copy
  for (const GeminiParameter& parameter : parameters) {
    const int count = parameter.group->size();
    {
      const eager::NoGrad no_grad(runtime);
      fp32_data = eager::to_dtype(eager::detach(parameter.tensor), DType::fp32);
    }
    Group& narrow = group_of(configs.at(count), count, parameter.tensor.dtype());
    home_[parameter.tensor.get()] = place(narrow, parameter, parameter.tensor);
    place(group_of(configs.at(count), count, DType::fp32), parameter, eager::alias(fp32_data));
  }
  for (const auto& [key, group] : groups_) {
    group->chunks.back()->close();
  }
}

ChunkManager::Group& ChunkManager::group_of(const ChunkConfig& config, int ranks, DType dtype) {
  const std::pair key{ranks, dtype};
  const auto found = std::ranges::find(groups_, key, [](const auto& entry) { return entry.first; });
  if (found != groups_.end()) {
    return *found->second;
  }
  const Category category = dtype == DType::fp32 ? Category::optimizer_state : Category::parameter;
  groups_.emplace_back(key, std::make_unique<Group>(Group{config, dtype, category, {}}));
  return *groups_.back().second;
}

// register_tensor: a full chunk is closed before the next one is made.
ChunkManager::Home ChunkManager::place(Group& group, const GeminiParameter& parameter,
                                       const Tensor& tensor) {
  const std::int64_t elements = tensor.numel();
  if (group.chunks.empty() || !group.chunks.back()->has_room_for(elements)) {
    if (!group.chunks.empty()) {
      group.chunks.back()->close();
    }
    std::int64_t size = group.config.size;
    if (elements > size) {
      const std::int64_t ranks = parameter.group->size();
      size = (elements + ranks - 1) / ranks * ranks;
    }
    group.chunks.push_back(std::make_unique<Chunk>(
        *parameter.group, ChunkOptions{size, group.dtype, group.category,
                                       group.config.keeps_gathered, parameter.rank}));
  }
  Chunk& chunk = *group.chunks.back();
  chunk.append(tensor);
  return {&chunk, chunk.tensor_count() - 1};
}

std::vector<const Chunk*> ChunkManager::chunks() const {
  std::vector<const Chunk*> all;
  for (const auto& [key, group] : groups_) {
    if (key.second != DType::fp32) {
      for (const auto& chunk : group->chunks) {
        all.push_back(chunk.get());
      }
    }
  }
  return all;
}

}  // namespace highwater::dist
