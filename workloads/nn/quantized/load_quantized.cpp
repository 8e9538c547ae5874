#include "workloads/nn/quantized/load_quantized.hpp"

#include <algorithm>

#include "workloads/nn/packed_weights.hpp"
#include "workloads/nn/quantized/checkpoint_order.hpp"
#include "workloads/nn/quantized/linear_4bit.hpp"
#include "workloads/nn/quantized/linear_8bit.hpp"
#include "workloads/nn/quantized/torchao_int8.hpp"
#include "workloads/nn/zero3_linear.hpp"

namespace highwater::nn {
namespace {

const Quantization& quantization_of(Module& root) {
  return root.context().plan.quantization;
}

/// quantized_element_size of quantizer_bnb_4bit.py, quantizer_bnb_8bit.py and
/// quantizer_torchao.py, in bits.
std::int64_t bits_of_element(const Quantization& quantization) {
  return is_4bit(quantization) ? 4 : 8;
}

std::int64_t bytes_to_load(const CheckpointEntry& entry, const Quantization& quantization) {
  constexpr std::int64_t kBitsOfByte = 8;
  return entry.quantizable != nullptr
             ? entry.tensor.numel() * bits_of_element(quantization) / kBitsOfByte
             : entry.tensor.numel() * item_size(entry.tensor.dtype());
}

// caching_allocator_warmup: one block as large as the model, in numbers of 16 bits, freed at once.
void warm_up(Module& root, const std::vector<CheckpointEntry>& entries) {
  constexpr std::int64_t kLeftFree = 1288490188;  // 1.2 * 1024**3
  std::int64_t bytes = 0;
  for (const CheckpointEntry& entry : entries) {
    bytes += bytes_to_load(entry, quantization_of(root));
  }
  const auto total = static_cast<std::int64_t>(root.runtime().gpu.total_memory.count());
  const eager::OpScope op(root.runtime(), "caching_allocator_warmup", 0);
  eager::empty(root.runtime(), {std::min(bytes, total - kLeftFree) / 2}, DType::fp16);
}

DType compute_dtype_of(const TrainingPlan& plan) {
  return plan.quantization.compute_dtype.value_or(compute_dtype(plan.precision));
}

class Loading {
 public:
  explicit Loading(Module& root) : plan_(root.context().plan) {}

  void load(const CheckpointEntry& entry) {
    if (entry.quantizable == nullptr) {
      move_tensor_to_cuda(entry.tensor, Category::parameter);
    } else {
      load_weight(*entry.quantizable);
    }
  }

 private:
  void load_weight(Linear& linear) {
    switch (plan_.quantization.weights) {
      case WeightFormat::unquantized:
        break;
      case WeightFormat::nf4:
      case WeightFormat::fp4:
        return load_4bit(linear);
      case WeightFormat::int8:
        return load_8bit(linear);
      case WeightFormat::int8_weight_only:
        return load_torchao_int8(linear);
    }
  }

  void load_4bit(Linear& linear) {
    const InModule scope(linear);
    const Tensor weight = eager::to_cuda(linear.weight);
    FourBitWeight packed = quantize_4bit(weight, plan_.quantization, dynamic_map_);
    const Tensor data = packed.data;
    packed.linear = replaces_linear(plan_) ? zero3_linear : eager::linear;
    linear.quantize(data, std::make_unique<Linear4Bit>(std::move(packed), compute_dtype_of(plan_)));
  }

  static void load_8bit(Linear& linear) {
    const InModule scope(linear);
    EightBitWeight packed = load_8bit_weight(linear.weight);
    const Tensor parameter = eager::alias(packed.codes);
    linear.quantize(parameter, std::make_unique<Linear8Bit>(std::move(packed), parameter));
  }

  static void load_torchao_int8(Linear& linear) {
    const InModule scope(linear);
    const Tensor weight = eager::to_cuda(linear.weight);
    Int8Weight packed = quantize_int8(weight);
    const Tensor codes = packed.codes;
    linear.quantize(codes, std::make_unique<LinearInt8WeightOnly>(std::move(packed)));
  }

  const TrainingPlan& plan_;
  DynamicMap dynamic_map_;
};

void move_all_buffers_to_cuda(Module& root) {
  for (const NamedTensor& buffer : named_buffers(root)) {
    move_tensor_to_cuda(buffer.tensor, Category::buffer);
  }
}

}  // namespace

void load_quantized(Module& root) {
  const std::vector<CheckpointEntry> entries = checkpoint_entries(root);
  warm_up(root, entries);
  Loading loading(root);
  for (const CheckpointEntry& entry : entries) {
    loading.load(entry);
  }
  move_all_buffers_to_cuda(root);
}

// torchao's models are left as they are.
void prepare_for_kbit_training(Module& root) {
  if (is_torchao(quantization_of(root))) {
    return;
  }
  const PackedWeights packed = packed_weights(root);
  for (const NamedTensor& parameter : named_parameters(root)) {
    if (is_low_precision(parameter.tensor.dtype()) && !packed.contains(parameter.tensor.get())) {
      convert_tensor(parameter.tensor, DType::fp32, Category::parameter);
    }
  }
  root.runtime().empty_cache();
}

}  // namespace highwater::nn
