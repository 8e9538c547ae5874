#include "workloads/plan/pipeline/stage_layers.hpp"

namespace highwater::dist {
namespace {

// Layers of virtual stage `index` of `count`.
std::int64_t layers_of(std::int64_t layers, std::int64_t index, std::int64_t count) {
  if (layers % count == 0) {
    return layers / count;
  }
  const std::int64_t weight = layers + 2;  // embedding and head
  const std::int64_t own = weight / count + (index < weight % count ? 1 : 0);
  const bool has_embedding = index == 0;
  const bool has_head = index == count - 1;
  return own - (has_embedding ? 1 : 0) - (has_head ? 1 : 0);
}

}  // namespace

std::vector<LayerRange> stage_layers(std::int64_t layers, int stages, int stage, int chunks) {
  const std::int64_t count = std::int64_t{stages} * chunks;
  std::vector<LayerRange> ranges;
  std::int64_t first = 0;
  for (std::int64_t index = 0; index < count; ++index) {
    const LayerRange range{first, layers_of(layers, index, count)};
    if (index % stages == stage) {
      ranges.push_back(range);
    }
    first += range.count;
  }
  return ranges;
}

}  // namespace highwater::dist
