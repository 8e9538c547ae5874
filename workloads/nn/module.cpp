#include "workloads/nn/module.hpp"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "workloads/eager/ops.hpp"
#include "workloads/nn/zero3_linear.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater::nn {

namespace {

std::string joined(const std::string& prefix, const std::string& name) {
  return prefix.empty() ? name : prefix + "." + name;
}

void collect(Module& module, const std::string& prefix, bool parameters,
             std::unordered_set<const void*>& seen, std::vector<NamedTensor>& out) {
  for (const NamedTensor& own : parameters ? module.own_parameters() : module.own_buffers()) {
    if (own.tensor.defined() && seen.insert(own.tensor.get()).second) {
      out.push_back({joined(prefix, own.name), own.tensor, module.layer_kind()});
    }
  }
  for (Module* child : module.children()) {
    collect(*child, joined(prefix, child->name()), parameters, seen, out);
  }
}

std::vector<NamedTensor> collect(Module& root, bool parameters) {
  std::unordered_set<const void*> seen;
  std::vector<NamedTensor> out;
  collect(root, "", parameters, seen, out);
  return out;
}

}  // namespace

void convert_tensor(const Tensor& tensor, DType dtype, Category category) {
  if (is_floating_point(tensor.dtype()) && tensor.dtype() != dtype) {
    const bool is_on_gpu = tensor.place() == eager::Place::cuda;
    const Tensor converted =
        is_on_gpu ? eager::to_dtype(eager::detach(tensor), dtype)
                  : eager::empty_on(tensor.runtime(), tensor.place(), tensor.sizes(), dtype);
    tensor->storage = converted->storage;
    tensor->dtype = dtype;
    tensor.runtime().categorize(tensor, category);
  }
}

double ModelContext::dropout(double configured) const {
  return plan.dropout.value_or(configured);
}

bool ModelContext::is_eager() const {
  return plan.attention == Attention::eager;
}

Module::Module(Module* parent, std::string name)
    : context_(parent->context()),
      name_(std::move(name)),
      path_(joined(parent->path_, name_)),
      site_(context_.runtime.module_id(path_)) {
  parent->children_.push_back(this);
}

Tensor Module::make_parameter(std::string name, const Dims& sizes) {
  return make_parameter(std::move(name), sizes, context_.dtype);
}

Tensor Module::make_parameter(std::string name, const Dims& sizes, DType dtype) {
  // deepspeed.zero.Init() brings parameters to the device itself, module by module.
  const auto place = partitions_as_made(context_.plan) ? eager::Place::host : context_.place;
  Tensor tensor = eager::empty_on(runtime(), place, sizes, dtype);
  tensor->requires_grad = true;
  runtime().categorize(tensor, Category::parameter);
  register_parameter(std::move(name), tensor);
  return tensor;
}

Tensor Module::remake_parameter(std::string_view name, DType dtype) {
  const auto found = std::ranges::find(parameters_, name, &NamedTensor::name);
  const Tensor old = std::exchange(found->tensor, Tensor{});
  found->tensor = eager::empty_on(runtime(), old.place(), old.sizes(), dtype);
  found->tensor->requires_grad = old->requires_grad;
  runtime().categorize(found->tensor, Category::parameter);
  return found->tensor;
}

void Module::register_parameter(std::string name, const Tensor& tensor) {
  parameters_.push_back({std::move(name), tensor});
}

void Module::register_buffer(std::string name, const Tensor& tensor) {
  runtime().categorize(tensor, Category::buffer);
  buffers_.push_back({std::move(name), tensor});
}

void Module::register_in_order(std::initializer_list<Module*> children) {
  children_ = children;
  std::erase(children_, nullptr);
}

void Module::tie_parameter(std::string_view name, const Tensor& tensor) {
  const auto found = std::ranges::find(parameters_, name, &NamedTensor::name);
  found->tensor = tensor;
}

std::vector<NamedTensor> named_parameters(Module& root) {
  return collect(root, true);
}

std::vector<Tensor> trainable_parameters(Module& root) {
  std::vector<Tensor> parameters;
  for (const NamedTensor& entry : named_parameters(root)) {
    if (entry.tensor.requires_grad()) {
      parameters.push_back(entry.tensor);
    }
  }
  return parameters;
}

std::vector<NamedTensor> named_buffers(Module& root) {
  return collect(root, false);
}

// The tensor object stays, its storage moves: tied tensors move once.
void move_tensor_to_cuda(const Tensor& tensor, Category category) {
  if (tensor.place() != eager::Place::cuda) {
    const Tensor moved = eager::to_cuda(tensor);
    tensor->storage = moved->storage;
    tensor.runtime().categorize(tensor, category);
  }
}

void move_to_cuda(Module& root) {
  for (Module* child : root.children()) {
    const InModule scope(*child);
    move_to_cuda(*child);
  }
  move_own_parameters_to_cuda(root);
  move_buffers_to_cuda(root);
}

void move_own_parameters_to_cuda(Module& module) {
  for (auto& parameter : module.own_parameters()) {
    move_tensor_to_cuda(parameter.tensor, Category::parameter);
  }
}

void move_buffers_to_cuda(Module& module) {
  for (auto& buffer : module.own_buffers()) {
    move_tensor_to_cuda(buffer.tensor, Category::buffer);
  }
}

void convert(Module& root, DType dtype) {
  for (Module* child : root.children()) {
    const InModule scope(*child);
    convert(*child, dtype);
  }
  for (auto& parameter : root.own_parameters()) {
    convert_tensor(parameter.tensor, dtype, Category::parameter);
  }
  for (auto& buffer : root.own_buffers()) {
    convert_tensor(buffer.tensor, dtype, Category::buffer);
  }
}

}  // namespace highwater::nn
