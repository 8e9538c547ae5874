// bitsandbytes.optim: bitsandbytes/optim/optimizer.py (Optimizer1State, Optimizer2State) and
// ademamix.py of release 0.50.2. Quantized states are in blocks of 256 values since 0.45.
//
// Everything is made at a parameter's first step; the update is one kernel in place, after which
// the host waits. Paged states of 100,000 values and more are in CUDA's managed memory
// (functional.py: get_paged), outside the caching allocator.
#include <algorithm>
#include <array>

#include "traces/error.hpp"
#include "workloads/eager/ops.hpp"
#include "workloads/optim/algorithms.hpp"
#include "workloads/optim/expressions.hpp"
#include "workloads/optim/projection.hpp"

namespace highwater::optim {

namespace {

constexpr std::int64_t kMin8bitSize = 4096;  // smaller tensors keep fp32 states
constexpr std::int64_t kBlockSize = 256;
constexpr std::int64_t kMapSize = 256;  // one value per code
constexpr std::int64_t kMinPagedSize = 100'000;

enum class Pages : std::uint8_t { device, managed };

/// What a class of bitsandbytes keeps.
struct StateLayout {
  OptimizerKind kind;
  int states;  ///< Optimizer1State or Optimizer2State
  int bits;
  Pages pages = Pages::device;
  bool is_first_doubled = false;  ///< AdEMAMix has both of its averages in the first
  bool limits_norm = false;       ///< max_unorm is above 0: a number for the norm of the update
};

using Kind = OptimizerKind;

constexpr std::array kLayouts{
    StateLayout{Kind::adamw_8bit, 2, 8},
    StateLayout{Kind::adamw_32bit, 2, 32},
    StateLayout{Kind::paged_adamw_8bit, 2, 8, Pages::managed},
    StateLayout{Kind::paged_adamw_32bit, 2, 32, Pages::managed},
    StateLayout{Kind::lion_8bit, 1, 8},
    StateLayout{Kind::lion_32bit, 1, 32},
    StateLayout{Kind::paged_lion_8bit, 1, 8, Pages::managed},
    StateLayout{Kind::paged_lion_32bit, 1, 32, Pages::managed},
    StateLayout{.kind = Kind::ademamix_8bit, .states = 2, .bits = 8, .is_first_doubled = true},
    StateLayout{.kind = Kind::ademamix_32bit, .states = 2, .bits = 32, .is_first_doubled = true},
    StateLayout{Kind::paged_ademamix_8bit, 2, 8, Pages::managed, true},
    StateLayout{Kind::paged_ademamix_32bit, 2, 32, Pages::managed, true},
    StateLayout{Kind::rmsprop_8bit, 1, 8},
    StateLayout{Kind::rmsprop_32bit, 1, 32},
    StateLayout{Kind::sgd_8bit, 1, 8},
    StateLayout{Kind::sgd_32bit, 1, 32},
    StateLayout{Kind::adagrad_8bit, 1, 8},
    StateLayout{Kind::adagrad_32bit, 1, 32},
    StateLayout{.kind = Kind::lamb_32bit, .states = 2, .bits = 32, .limits_norm = true},
    StateLayout{.kind = Kind::lars_32bit, .states = 1, .bits = 32, .limits_norm = true},
    StateLayout{.kind = Kind::galore_adamw_8bit, .states = 2, .bits = 8, .limits_norm = true},
};

const StateLayout& layout_of(OptimizerKind kind) {
  const auto* const found = std::ranges::find(kLayouts, kind, &StateLayout::kind);
  if (found == kLayouts.end()) {
    throw Error("this optimizer is not one of bitsandbytes'");
  }
  return *found;
}

// The tables are copied to the GPU when the first quantized parameter is met.
void make_maps(std::vector<Tensor>& maps, const Slot& slot, int count) {
  Runtime& runtime = slot.param.runtime();
  eager::OpScope scope(runtime, "to");
  while (maps.size() < static_cast<std::size_t>(count)) {
    maps.push_back(eager::empty(runtime, {kMapSize}, DType::fp32));
    runtime.categorize(maps.back(), Category::optimizer_state);
  }
}

Dims doubled(const Dims& sizes) {
  Dims result{2};
  result.insert(result.end(), sizes.begin(), sizes.end());
  return result;
}

// get_state_buffer, _get_state_double_buffer. A paged buffer is a host tensor for PyTorch.
void add_buffer(Slot& slot, const StateLayout& layout, DType dtype, bool is_doubled) {
  const bool is_paged = layout.pages == Pages::managed && slot.param.numel() >= kMinPagedSize;
  if (is_paged) {
    const std::int64_t bytes = slot.param.numel() * item_size(dtype) * (is_doubled ? 2 : 1);
    slot.param.runtime().host_memory.allocate(bytes, HostKind::pageable,
                                              "optimizer states in pages");
    slot.param.runtime().synchronize();  // F.fill
  } else if (is_doubled) {
    add_state(slot, zeros(slot.param, doubled(slot.param.sizes()), dtype));
  } else {
    add_state(slot, make_like("zeros_like", slot.param, dtype));
  }
}

void add_buffers(Slot& slot, const StateLayout& layout, DType dtype) {
  for (int i = 0; i < layout.states; ++i) {
    add_buffer(slot, layout, dtype, i == 0 && layout.is_first_doubled);
  }
}

// The largest value of each block.
void add_maxima(Slot& slot, const StateLayout& layout) {
  const std::int64_t blocks = (slot.param.numel() + kBlockSize - 1) / kBlockSize;
  for (int i = 0; i < layout.states; ++i) {
    const bool is_doubled = i == 0 && layout.is_first_doubled;
    add_state(slot, zeros(slot.param, is_doubled ? Dims{2, blocks} : Dims{blocks}, DType::fp32));
  }
}

bool is_quantized(const Slot& slot, const StateLayout& layout) {
  return layout.bits == 8 && slot.param.numel() >= kMin8bitSize;
}

// A target of these optimizers has an override in GlobalOptimManager: {"optim_bits": 32}. GaLore's
// are those that it projects.
bool keeps_wide_states(const Slot& slot, OptimizerKind kind) {
  return slot.param->is_target && kind != OptimizerKind::galore_adamw_8bit;
}

void init_state(const Update& update, Slot& slot, const StateLayout& layout) {
  std::vector<Tensor>& maps = *update.maps;
  const bool quantizes = is_quantized(slot, layout) && !keeps_wide_states(slot, update.kind);
  if (quantizes) {
    make_maps(maps, slot, layout.states);
    if (layout.is_first_doubled) {
      add_maxima(slot, layout);
    }
  }
  add_buffers(slot, layout, quantizes ? DType::uint8 : DType::fp32);
  if (quantizes && !layout.is_first_doubled) {
    add_maxima(slot, layout);
  }
  if (layout.limits_norm) {
    add_state(slot, zeros(slot.param, {1}, DType::fp32));
  }
  slot.is_initialized = true;
}

// init_state, update_step and the wait after it.
void update_slot(const Update& update, Slot& slot, const StateLayout& layout) {
  if (!slot.is_initialized) {
    init_state(update, slot, layout);
  }
  if (layout.limits_norm && !is_quantized(slot, layout)) {
    norm(cast(slot.param, DType::fp32));
  }
  update.runtime->launch(1);
  update.runtime->synchronize();
}

}  // namespace

void bitsandbytes(const Update& update, const Slots& slots) {
  const StateLayout& layout = layout_of(update.kind);
  for (Slot* slot : slots) {
    update_slot(update, *slot, layout);
  }
}

namespace {

/// GaLore's own states of a target, before those of bitsandbytes.
enum LowRankState : std::uint8_t { kProjector, kSavedData, kLowRankStates };

// param.data = data
void set_data(const Tensor& param, const Tensor& data) {
  param->storage = data->storage;
  param->sizes = data.sizes();
  param->strides = data.strides();
  param->offset = data->offset;
}

// The parameter's values are put aside, the gradient in the low rank takes their place, and its
// own. `grad` is a variable of step().
void enter_low_rank(const Update& update, Slot& slot, Tensor& grad) {
  slot.state.resize(std::max<std::size_t>(slot.state.size(), kLowRankStates));
  grad = project(update, slot.state[kProjector], slot.param->grad, singular_vectors);
  Tensor saved = make_like("clone", slot.param);
  saved.runtime().categorize(saved, Category::parameter);
  slot.state[kSavedData] = std::move(saved);
  set_data(slot.param, make_like("clone", grad));
  slot.param->grad = grad;
}

// param.data = param.saved_data.add_(project_back(param.data))
void leave_low_rank(Slot& slot) {
  projected_back(slot.param, slot.state[kProjector]);
  set_data(slot.param, slot.state[kSavedData]);
}

}  // namespace

// galore_torch/adamw8bit.py (1.0), whose constructor gives the percentile_clipping of older
// releases, 100, at the place where bitsandbytes 0.50 has max_unorm.
void galore_adamw_8bit(const Update& update, const Slots& slots) {
  const StateLayout& layout = layout_of(update.kind);
  for (Slot* slot : slots) {
    if (slot->param->is_target) {
      enter_low_rank(update, *slot, (*update.frame)[0]);
    }
    update_slot(update, *slot, layout);
    if (slot->param->is_target) {
      leave_low_rank(*slot);
    }
  }
}

}  // namespace highwater::optim
