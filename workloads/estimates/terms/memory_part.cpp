#include "workloads/estimates/terms/memory_part.hpp"

#include <array>

namespace highwater {

std::string_view to_string(MemoryPart part) {
  constexpr std::array<std::string_view, kMemoryPartCount> kNames{"parameters",
                                                                  "gradients",
                                                                  "optimizer states",
                                                                  "weight copies",
                                                                  "activations",
                                                                  "logits and loss",
                                                                  "temporaries",
                                                                  "inputs",
                                                                  "buffers",
                                                                  "workspaces",
                                                                  "communication",
                                                                  "rounding",
                                                                  "split tails",
                                                                  "segment slack",
                                                                  "isolation",
                                                                  "later growth",
                                                                  "outside the allocator"};
  return kNames[static_cast<std::size_t>(part)];
}

}  // namespace highwater
