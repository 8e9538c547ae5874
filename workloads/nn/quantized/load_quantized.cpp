#include "workloads/nn/quantized/load_quantized.hpp"

#include <algorithm>

#include "workloads/nn/packed_weights.hpp"
#include "workloads/nn/quantized/checkpoint_order.hpp"
#include "workloads/nn/quantized/linear_4bit.hpp"
#include "workloads/nn/quantized/linear_8bit.hpp"
#include "workloads/nn/quantized/torchao_int8.hpp"
#include "workloads/nn/zero3_linear.hpp"
#include "workloads/plan/model/published_weights.hpp"
#include "workloads/plan/training_plan.hpp"

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

/// torch.stack of one matrix of all experts, which came to the device before.
Tensor stacked(std::vector<Tensor>& matrices) {
  Tensor merged = eager::stack(matrices, 0);
  eager::release_list(matrices);
  return merged;
}

// WeightConverter.convert: first come all tensors, then MergeModulelist and Concatenate work
// through them.
void load_experts(const Tensor& parameter, int count) {
  eager::Runtime& runtime = parameter.runtime();
  const eager::NoGrad no_grad(runtime);
  const Dims sizes{parameter.size(1) / count, parameter.size(2)};
  std::vector<std::vector<Tensor>> collected(static_cast<std::size_t>(count));
  for (std::vector<Tensor>& matrices : collected) {
    for (std::int64_t expert = 0; expert < parameter.size(0); ++expert) {
      matrices.push_back(
          eager::to_cuda(eager::empty_on(runtime, eager::Place::host, sizes, parameter.dtype())));
    }
  }
  std::vector<Tensor> merged;
  for (std::vector<Tensor>& matrices : collected) {
    merged.push_back(stacked(matrices));
  }
  const Tensor whole = count == 1 ? merged.front() : eager::cat(merged, 1);
  for (Tensor& part : merged) {
    part.reset();
  }
  parameter->storage = whole->storage;
  runtime.categorize(parameter, Category::parameter);
}

class Loading {
 public:
  explicit Loading(Module& root)
      : plan_(root.context().plan), reads_codes_(published_weights(plan_.model).has_value()) {}

  void load(const CheckpointEntry& entry) {
    if (entry.quantizable != nullptr) {
      load_weight(*entry.quantizable);
    } else if (entry.matrices_of_expert > 0) {
      load_experts(entry.tensor, entry.matrices_of_expert);
    } else {
      move_tensor_to_cuda(entry.tensor, Category::parameter);
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
    FourBitWeight packed =
        reads_codes_ ? read_4bit(linear.weight, plan_.quantization) : quantized_4bit(linear);
    const Tensor data = packed.data;
    packed.linear = replaces_linear(plan_) ? zero3_linear : eager::linear;
    linear.quantize(data, std::make_unique<Linear4Bit>(std::move(packed), compute_dtype_of(plan_)));
  }

  // The transpose of a Conv1D's weight is copied before it is quantised (Params4bit._quantize:
  // contiguous()).
  FourBitWeight quantized_4bit(const Linear& linear) {
    const Tensor weight = eager::to_cuda(linear.weight);
    const bool is_transposed = linear.layer_kind() == LayerKind::conv1d;
    const Tensor rows = is_transposed ? eager::clone(weight) : weight;
    return quantize_4bit(rows, plan_.quantization, dynamic_map_);
  }

  void load_8bit(Linear& linear) {
    const InModule scope(linear);
    EightBitWeight packed =
        reads_codes_ ? read_8bit_weight(linear.weight) : load_8bit_weight(linear.weight);
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
  bool reads_codes_;  ///< the checkpoint holds them
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
