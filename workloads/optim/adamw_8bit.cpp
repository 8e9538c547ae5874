// bitsandbytes.optim.AdamW8bit: bitsandbytes/optim/optimizer.py (Optimizer2State.init_state) of
// release 0.45, which quantizes in blocks of 256 values (2048 before).
//
// Everything is made at a parameter's first step; the update is one kernel in place.
#include "workloads/eager/ops.hpp"
#include "workloads/optim/algorithms.hpp"

namespace highwater::optim {

namespace {

constexpr std::int64_t kMin8bitSize = 4096;  // smaller tensors keep fp32 states
constexpr std::int64_t kBlockSize = 256;
constexpr std::int64_t kMapSize = 256;  // one value per code

// Both tables are copied to the GPU when the first quantized parameter is met.
void make_maps(Runtime& runtime, std::vector<Tensor>& maps) {
  eager::OpScope scope(runtime, "to");
  while (maps.size() < 2) {
    maps.push_back(eager::empty(runtime, {kMapSize}, DType::fp32));
    runtime.categorize(maps.back(), Category::optimizer_state);
  }
}

void init_state(Runtime& runtime, std::vector<Tensor>& maps, Slot& slot) {
  const bool is_quantized = slot.param.numel() >= kMin8bitSize;
  if (is_quantized) {
    make_maps(runtime, maps);
  }
  for (int moment = 0; moment < 2; ++moment) {
    add_state(slot, make_like("zeros_like", slot.param, is_quantized ? DType::uint8 : DType::fp32));
  }
  if (is_quantized) {
    eager::OpScope scope(runtime, "zeros");
    const auto blocks = (slot.param.numel() + kBlockSize - 1) / kBlockSize;
    for (int moment = 0; moment < 2; ++moment) {
      add_state(slot, eager::empty(runtime, {blocks}, DType::fp32));
    }
  }
}

}  // namespace

void adamw_8bit(Runtime& runtime, std::vector<Tensor>& maps, const Slots& slots) {
  for (Slot* slot : slots) {
    if (slot->state.empty()) {
      init_state(runtime, maps, *slot);
    }
  }
}

}  // namespace highwater::optim
