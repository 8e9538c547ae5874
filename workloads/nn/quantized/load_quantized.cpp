#include "workloads/nn/quantized/load_quantized.hpp"

#include <algorithm>
#include <string_view>

#include "workloads/eager/host_copies.hpp"
#include "workloads/nn/packed_weights.hpp"
#include "workloads/nn/quantized/checkpoint_order.hpp"
#include "workloads/nn/quantized/linear_4bit.hpp"
#include "workloads/nn/quantized/linear_8bit.hpp"
#include "workloads/nn/quantized/torchao_int8.hpp"
#include "workloads/nn/zero3_linear.hpp"
#include "workloads/plan/lora_targets.hpp"
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

/// transformers 4.51.3, modeling_utils.py: a quantised model is warmed up for since then.
constexpr Release kWarmsUp{4, 51};

/// 4.52.4: what is left free is a size since then, before 5 % of the device.
constexpr Release kLeavesSize{4, 52};

/// quantizers/base.py get_accelerator_warm_up_factor: half of the bytes of the weights in 16 bits.
/// transformers 5 counts those of the quantised ones.
constexpr Release kCountsQuantized{5, 0};

/// 4.57.1: names among _tied_weights_keys are left out, whether they are tied or not; 4.53.3 counts
/// them.
constexpr Release kSkipsHead{4, 57};
constexpr std::string_view kHead = "lm_head.weight";

std::int64_t most_warmed_up(const eager::Runtime& runtime) {
  constexpr std::int64_t kLeftFree = 1288490188;  // 1.2 * 1024**3
  const auto total = static_cast<std::int64_t>(runtime.gpu.total_memory.count());
  return runtime.transformers < kLeavesSize ? total / 100 * 95 : total - kLeftFree;
}

std::int64_t bytes_of_model(const std::vector<CheckpointEntry>& entries,
                            const Quantization& quantization, const eager::Runtime& runtime) {
  std::int64_t bytes = 0;
  for (const CheckpointEntry& entry : entries) {
    if (runtime.transformers >= kCountsQuantized) {
      bytes += bytes_to_load(entry, quantization);
    } else if (entry.name != kHead || runtime.transformers < kSkipsHead) {
      bytes += entry.tensor.numel() * item_size(entry.tensor.dtype());
    }
  }
  return bytes;
}

// caching_allocator_warmup: one block as large as the model, in numbers of 16 bits, freed at once.
void warm_up(Module& root, const std::vector<CheckpointEntry>& entries) {
  eager::Runtime& runtime = root.runtime();
  if (runtime.transformers < kWarmsUp) {
    return;
  }
  const std::int64_t bytes =
      std::min(bytes_of_model(entries, quantization_of(root), runtime), most_warmed_up(runtime));
  const std::int64_t factor = runtime.transformers < kCountsQuantized ? 4 : 2;
  const eager::OpScope op(runtime, "caching_allocator_warmup", 0);
  eager::empty(runtime, {bytes / factor}, DType::fp16);
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
      : plan_(root.context().plan),
        reads_codes_(published_weights(plan_.model).has_value()),
        to_host_(returns_to_host(plan_)) {}

  void load(const CheckpointEntry& entry) {
    if (entry.quantizable != nullptr) {
      load_weight(*entry.quantizable);
      if (to_host_) {
        return_to_host(entry.quantizable->weight);
      }
    } else if (to_host_) {
      return;  // it is there
    } else if (entry.matrices_of_expert > 0) {
      load_experts(entry.tensor, entry.matrices_of_expert);
    } else {
      move_tensor_to_cuda(entry.tensor, Category::parameter);
    }
  }

 private:
  // _load_state_dict_into_meta_model: value.data.to("cpu"); other ranks than the first put it on
  // meta. What describes the codes stays on the GPU.
  static void return_to_host(const Tensor& codes) {
    const Tensor moved = eager::to_host(codes, false);
    codes->storage = moved->storage;
    codes.runtime().categorize(codes, Category::parameter);
  }

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
  // contiguous()). transformers 4.50 to 4.57 reads each weight onto the device, and quantises
  // another copy of it (quantizer_bnb_4bit.py create_quantized_param: to("cpu")).
  FourBitWeight quantized_4bit(const Linear& linear) {
    const Release transformers = linear.runtime().transformers;
    const bool is_read_onto_device = transformers >= Release{4, 50} && transformers < Release{5, 0};
    const Tensor weight = eager::to_cuda(linear.weight);
    const bool is_copied = linear.layer_kind() == LayerKind::conv1d || is_read_onto_device;
    const Tensor rows = is_copied ? eager::clone(weight) : weight;
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
  bool to_host_;
  DynamicMap dynamic_map_;
};

// A device_map that names no GPU: nothing is allocated ahead, and all of it stays.
void quantize_on_host(const TrainingPlan& plan, const std::vector<CheckpointEntry>& entries) {
  for (const CheckpointEntry& entry : entries) {
    if (entry.quantizable != nullptr) {
      FourBitWeight packed = quantized_on_host(entry.quantizable->weight, plan.quantization);
      const Tensor data = packed.data;
      entry.quantizable->quantize(
          data, std::make_unique<Linear4Bit>(std::move(packed), compute_dtype_of(plan)));
    }
  }
}

void move_all_buffers_to_cuda(Module& root) {
  for (const NamedTensor& buffer : named_buffers(root)) {
    move_tensor_to_cuda(buffer.tensor, Category::buffer);
  }
}

}  // namespace

void load_quantized(Module& root) {
  const TrainingPlan& plan = root.context().plan;
  const std::vector<CheckpointEntry> entries = checkpoint_entries(root);
  if (quantizes_on_host(plan)) {
    return quantize_on_host(plan, entries);
  }
  warm_up(root, entries);
  Loading loading(root);
  for (const CheckpointEntry& entry : entries) {
    loading.load(entry);
  }
  if (!returns_to_host(plan)) {
    move_all_buffers_to_cuda(root);
  }
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
