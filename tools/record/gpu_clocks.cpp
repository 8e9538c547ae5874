#include "tools/record/gpu_clocks.hpp"

#include "workloads/facts/facts.hpp"

namespace highwater {

std::optional<GpuClocks> clocks_of(const Gpu& gpu) {
  for (const JsonField& row : facts("gpus.json").at("gpus").elements()) {
    const auto clocks = row.find("clocks");
    if (clocks && row.at("name").view() == gpu.name) {
      return GpuClocks{clocks->at("multiprocessors").small_count(),
                       clocks->at("memory").small_count()};
    }
  }
  return std::nullopt;
}

}  // namespace highwater
