#include "workloads/plan/pipeline/model_split.hpp"

namespace highwater::pipelining {

bool is_naive(const Parallelism& p) {
  return p.pp > 1 && p.schedule == PipelineSchedule::naive;
}

std::vector<std::int64_t> layers_of_stages(std::int64_t layers, std::int64_t stages) {
  const std::int64_t share = layers / stages;
  std::int64_t extra = layers % stages;
  std::int64_t left = layers;
  std::vector<std::int64_t> result;
  for (std::int64_t stage = 0; stage + 1 < stages; ++stage) {
    const bool takes_one = stage > 0 && extra > 0;
    extra -= takes_one ? 1 : 0;
    result.push_back(share + (takes_one ? 1 : 0));
    left -= result.back();
  }
  result.push_back(left);
  return result;
}

std::vector<nn::ModelPart> parts_of_stage(std::int64_t layers, int stages, int stage, int chunks) {
  const std::int64_t count = std::int64_t{stages} * chunks;
  const std::vector<std::int64_t> sizes = layers_of_stages(layers, count);
  std::vector<nn::ModelPart> parts;
  std::int64_t first = 0;
  std::int64_t before = 0;
  for (std::int64_t index = 0; index < count; ++index) {
    const std::int64_t size = sizes[static_cast<std::size_t>(index)];
    if (index % stages == stage) {
      parts.push_back({.first_layer = first,
                       .layers = size,
                       .has_embedding = index == 0,
                       .has_head = index == count - 1,
                       .layers_before = before});
      before += size;
    }
    first += size;
  }
  return parts;
}

}  // namespace highwater::pipelining
