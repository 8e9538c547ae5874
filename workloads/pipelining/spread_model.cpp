#include "workloads/pipelining/spread_model.hpp"

#include <algorithm>
#include <utility>

#include "workloads/nn/blocks.hpp"
#include "workloads/optim/clip_grad.hpp"
#include "workloads/plan/pipeline/model_split.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater::pipelining {
namespace {

using eager::DeviceIndex;
using eager::Tensor;
using nn::Module;

void place(Module& module, DeviceIndex device) {
  module.set_device(device);
  for (const nn::NamedTensor& parameter : module.own_parameters()) {
    parameter.tensor->storage->device = device;
  }
  for (const nn::NamedTensor& buffer : module.own_buffers()) {
    buffer.tensor->storage->device = device;
  }
  for (Module* child : module.children()) {
    place(*child, device);
  }
}

// Block by block, in the shares of pipeline stages.
void place_blocks(const std::vector<Module*>& blocks, int gpus) {
  const auto shares = layers_of_stages(static_cast<std::int64_t>(blocks.size()), gpus);
  std::size_t next = 0;
  for (std::size_t gpu = 0; gpu < shares.size(); ++gpu) {
    for (std::int64_t i = 0; i < shares[gpu]; ++i) {
      place(*blocks[next++], DeviceIndex(gpu));
    }
  }
}

void place_parts(nn::ModelContext& context, models::LanguageModel& model) {
  const int gpus = context.plan.parallel.pp;
  const auto last = DeviceIndex(gpus - 1);
  for (const nn::BlockStack& stack : nn::block_stacks(model)) {
    place_blocks(stack.blocks, gpus);
    if (stack.final_norm != nullptr) {
      place(*stack.final_norm, last);
    }
  }
  Module* head = nn::model_ends(model).head;
  const bool is_tied = shape_of(context.plan.model).tied && context.plan.model.labels == 0;
  if (head != nullptr && !is_tied) {
    place(*head, last);
  }
}

void move(const nn::NamedTensor& entry, Category category) {
  const eager::OnDevice place(entry.tensor.runtime(), entry.tensor);
  nn::move_tensor_to_cuda(entry.tensor, category);
}

void move_whole(Module& module) {
  const nn::InModule scope(module);
  for (const nn::NamedTensor& parameter : nn::named_parameters(module)) {
    move(parameter, Category::parameter);
  }
  for (const nn::NamedTensor& buffer : nn::named_buffers(module)) {
    move(buffer, Category::buffer);
  }
}

void move_blocks(const nn::BlockStack& stack) {
  std::ranges::for_each(stack.blocks, [](Module* block) { move_whole(*block); });
}

}  // namespace

void dispatch(Module& model) {
  const std::vector<nn::BlockStack> stacks = nn::block_stacks(model);
  if (stacks.empty()) {
    return move_whole(model);
  }
  nn::move_buffers_to_cuda(model);
  for (Module* child : model.children()) {
    const auto own = std::ranges::find(stacks, child, &nn::BlockStack::list);
    if (own != stacks.end()) {
      move_blocks(*own);
    } else {
      dispatch(*child);
    }
  }
}

std::unique_ptr<models::LanguageModel> make_spread(
    nn::ModelContext& context,
    std::unique_ptr<models::LanguageModel> (*make)(nn::ModelContext& context)) {
  const eager::Scoped<eager::Place> on_host(context.place, eager::Place::host);
  auto model = make(context);
  context.runtime.traced_device = DeviceIndex(rank_place(context.plan.parallel).pp);
  place_parts(context, *model);
  return model;
}

models::Outputs SpreadModel::forward(models::Inputs inputs) {
  models::Outputs own = model_.forward(std::move(inputs));
  models::Outputs result = own;
  for (Tensor* tensor : {&result.loss, &result.logits, &result.encoder_states}) {
    *tensor = eager::to_device(*tensor, eager::kFirstDevice);
  }
  eager::end_of_frame(own.loss, own.logits, own.encoder_states);
  return result;
}

std::vector<Tensor> SpreadModel::parameters() const {
  std::vector<Tensor> parameters = nn::trainable_parameters(model_);
  std::erase_if(parameters, [this](const Tensor& parameter) {
    return parameter->storage->device != model_.runtime().traced_device;
  });
  return parameters;
}

void SpreadModel::clip_gradients() {
  clip(nn::trainable_parameters(model_));
}

}  // namespace highwater::pipelining
