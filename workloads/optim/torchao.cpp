// torchao.optim of release 0.18: AdamW with states in 8 bits, 4 bits and float8 (adam.py,
// subclass_8bit.py, subclass_4bit.py, subclass_fp8.py), whose update is one compiled kernel in
// place, and AdamW on the host (cpu_offload.py). Scratch of the compiler, some bytes at the first
// step of each shape, is left out.
#include "workloads/eager/ops.hpp"
#include "workloads/optim/algorithms.hpp"
#include "workloads/optim/expressions.hpp"

namespace highwater::optim {

namespace {

constexpr std::int64_t kLeastValues = 4096;  // smaller tensors are kept as they are

/// How values are coded.
struct Coding {
  std::int64_t codes_per_byte;
  std::int64_t block;
  std::int64_t map;  ///< values of the table; 0: the code is a number itself
};

Coding coding_of(OptimizerKind kind) {
  switch (kind) {
    case OptimizerKind::adamw_torch_4bit:
      return {.codes_per_byte = 2, .block = 128, .map = 16};
    case OptimizerKind::adamw_torch_fp8:
      return {.codes_per_byte = 1, .block = 256, .map = 0};
    default:
      return {.codes_per_byte = 1, .block = 256, .map = 256};
  }
}

void add_moment(Slot& slot, const Coding& coding) {
  const std::int64_t values = slot.param.numel();
  if (values < kLeastValues || values % coding.block != 0) {
    return add_state(slot, make_like("zeros_like", slot.param));
  }
  add_state(slot, zeros(slot.param, {values / coding.codes_per_byte}, DType::uint8));
  add_state(slot, zeros(slot.param, {values / coding.block}, DType::fp32));
  if (coding.map > 0) {
    add_state(slot, zeros(slot.param, {coding.map}, DType::fp32));
  }
}

// Parameter and gradient in pinned memory, the states where the host's AdamW makes them.
void move_to_host(Slot& slot) {
  const std::int64_t bytes = slot.param.numel() * item_size(slot.param.dtype());
  HostMemory& host = slot.param.runtime().host_memory;
  host.allocate(bytes, HostKind::pinned, "parameters of the optimizer");
  host.allocate(bytes, HostKind::pinned, "gradients of the optimizer");
  host.allocate(2 * bytes, HostKind::pageable, "optimizer states");
  slot.is_initialized = true;
}

}  // namespace

void torchao(const Update& update, const Slots& slots) {
  const Coding coding = coding_of(update.kind);
  for (Slot* slot : slots) {
    if (slot->state.empty()) {
      add_moment(*slot, coding);
      add_moment(*slot, coding);
    }
    update.runtime->launch(1);
  }
}

// CPUOffloadOptimizer: small parameters stay with a fused AdamW on the GPU.
void adamw_on_host(const Update& update, const Slots& slots) {
  Slots small;
  for (Slot* slot : slots) {
    if (slot->param.numel() < kLeastValues) {
      small.push_back(slot);
    } else if (!slot->is_initialized) {
      move_to_host(*slot);
    }
  }
  Update on_gpu = update;
  on_gpu.path = Path::fused;
  adamw(on_gpu, small);
  update.runtime->synchronize();
}

}  // namespace highwater::optim
