#include "workloads/colossalai/chunk_manager.hpp"

#include <algorithm>
#include <iterator>
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

namespace {

// p.data.float(), where the parameter is.
Tensor wide_copy(eager::Runtime& runtime, const Tensor& parameter) {
  const eager::NoGrad no_grad(runtime);
  if (parameter.place() == eager::Place::host) {
    return eager::empty_on(runtime, eager::Place::host, parameter.sizes(), DType::fp32);
  }
  return eager::to_dtype(eager::detach(parameter), DType::fp32);
}

}  // namespace

ChunkManager::ChunkManager(eager::Runtime& runtime, std::span<const GeminiParameter> parameters,
                           const Gemini& options)
    : options_(options) {
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
    fp32_data = wide_copy(runtime, parameter.tensor);
    Group& narrow = group_of(configs.at(count), count, parameter.tensor.dtype());
    Home home = place(narrow, parameter, parameter.tensor);
    Group& wide = group_of(configs.at(count), count, DType::fp32);
    home.wide = place(wide, parameter, eager::alias(fp32_data)).chunk;
    home.chunk->pair_with(*home.wide);
    home_[parameter.tensor.get()] = home;
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
    make_chunk(group, parameter, elements);
  }
  Chunk& chunk = *group.chunks.back();
  chunk.append(tensor);
  return {&chunk, chunk.tensor_count() - 1};
}

Chunk& ChunkManager::make_chunk(Group& group, const GeminiParameter& parameter,
                                std::int64_t elements) {
  const std::int64_t ranks = parameter.group->size();
  const std::int64_t rounded = (elements + ranks - 1) / ranks * ranks;
  const ChunkOptions options{.size = elements > group.config.size ? rounded : group.config.size,
                             .dtype = group.dtype,
                             .category = group.category,
                             .keeps_gathered = group.config.keeps_gathered,
                             .rank = parameter.rank,
                             .starts_on_host = options_.placement != GeminiPlacement::cuda,
                             .pins_memory = options_.pins_memory};
  group.chunks.push_back(std::make_unique<Chunk>(*parameter.group, options));
  by_creation_.push_back(group.chunks.back().get());
  return *by_creation_.back();
}

std::vector<Chunk*> ChunkManager::chunks_of(std::span<const Tensor> parameters) const {
  std::vector<Chunk*> result;
  for (const Tensor& parameter : parameters) {
    Chunk* chunk = &chunk_of(parameter);
    if (std::ranges::find(result, chunk) == result.end()) {
      result.push_back(chunk);
    }
  }
  return result;
}

void ChunkManager::change_state(const Tensor& parameter, TensorState state) {
  const Home& home = home_.at(parameter.get());
  home.chunk->change_state(home.index, state);
}

void ChunkManager::access(Chunk& chunk) {
  if (std::ranges::find(accessed_, &chunk) == accessed_.end()) {
    chunk.access();
    accessed_.push_back(&chunk);
  }
}

void ChunkManager::evict(Chunk& chunk) {
  chunk.release();
  std::erase(accessed_, &chunk);
  chunk.move_to(eager::Place::host);
}

void ChunkManager::take_gradient(const Tensor& parameter) {
  const Home& home = home_.at(parameter.get());
  if (!home.chunk->take_gradient(home.index)) {
    return;
  }
  std::erase(accessed_, home.chunk);
  const bool stays = options_.placement == GeminiPlacement::cuda ||
                     std::ranges::find(on_device_, home.chunk) != on_device_.end();
  home.chunk->move_to(stays ? eager::Place::cuda : eager::Place::host);
}

void ChunkManager::on_optimizer_step() {
  for (Chunk* chunk : by_creation_) {
    chunk->on_optimizer_step();
  }
}

void ChunkManager::keep_on_device(Chunk& chunk) {
  on_device_.push_back(&chunk);
}

std::vector<Chunk*> ChunkManager::movable_chunks() const {
  std::vector<Chunk*> result;
  std::ranges::copy_if(by_creation_, std::back_inserter(result), [this](Chunk* chunk) {
    return std::ranges::find(accessed_, chunk) != accessed_.end() && chunk->can_release();
  });
  return result;
}

std::int64_t ChunkManager::accessed_bytes() const {
  std::int64_t bytes = 0;
  for (const Chunk* chunk : accessed_) {
    bytes += chunk->bytes();
  }
  return bytes;
}

std::int64_t ChunkManager::device_bytes() const {
  std::int64_t bytes = static_bytes_;
  for (const Chunk* chunk : by_creation_) {
    bytes += chunk->device_bytes();
  }
  return bytes;
}

}  // namespace highwater::dist
