#include "workloads/distributed/tensor_parallel/tensor_parallel.hpp"

#include <algorithm>
#include <string_view>

#include "workloads/distributed/tensor_parallel/loss_parallel.hpp"
#include "workloads/optim/tensor_vector.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater::dist {

using eager::Tensor;

namespace {

constexpr ParallelNames kTorchtitanNames{.embedding = "tok_embeddings",
                                         .norm = "norm",
                                         .head = "output",
                                         .blocks = "layers",
                                         .first_norm = "attention_norm",
                                         .attention = "attention",
                                         .query = "attention.wq",
                                         .key = "attention.wk",
                                         .value = "attention.wv",
                                         .attention_output = "attention.wo",
                                         .second_norm = "ffn_norm",
                                         .feed_forward = "feed_forward",
                                         .gate = "feed_forward.w1",
                                         .up = "feed_forward.w3",
                                         .down = "feed_forward.w2"};

constexpr ParallelNames kTransformersNames{.embedding = "model.embed_tokens",
                                           .norm = "model.norm",
                                           .head = "lm_head",
                                           .blocks = "model.layers",
                                           .first_norm = "input_layernorm",
                                           .attention = "self_attn",
                                           .query = "self_attn.q_proj",
                                           .key = "self_attn.k_proj",
                                           .value = "self_attn.v_proj",
                                           .attention_output = "self_attn.o_proj",
                                           .second_norm = "post_attention_layernorm",
                                           .feed_forward = "mlp",
                                           .gate = "mlp.gate_proj",
                                           .up = "mlp.up_proj",
                                           .down = "mlp.down_proj"};

// Null if the path does not exist: a pipeline stage lacks the modules of other stages.
nn::Module* find_submodule(nn::Module& root, std::string_view path) {
  nn::Module* module = &root;
  while (!path.empty()) {
    const std::string_view name = path.substr(0, path.find('.'));
    const auto found = std::ranges::find(module->children(), name, &nn::Module::name);
    if (found == module->children().end()) {
      return nullptr;
    }
    module = *found;
    path.remove_prefix(std::min(path.size(), name.size() + 1));
  }
  return module;
}

bool has_submodule(nn::Module& root, std::string_view path) {
  return find_submodule(root, path) != nullptr;
}

nn::Module& submodule(nn::Module& root, std::string_view path) {
  return *find_submodule(root, path);
}

nn::Linear& linear(nn::Module& root, std::string_view path) {
  return dynamic_cast<nn::Linear&>(submodule(root, path));
}

// For "cuda" and for "cuda:0": to_empty() is the first operator on DTensors then, and its result's
// shape is found with fake tensors.
void init_gpu_contexts(eager::Runtime& runtime) {
  eager::init_gpu_context(runtime);
  eager::init_gpu_context(runtime);
}

}  // namespace

TensorParallel::TensorParallel(models::LanguageModel& model, const TrainingPlan& plan,
                               ModelOrder order)
    : model_(model),
      sequence_(plan.parallel.sequence_parallel),
      loss_parallel_(plan.parallel.loss_parallel),
      mesh_(model.runtime(), plan.parallel.tp, rank_place(plan.parallel).tp, plan.parallel.backend),
      styles_(mesh_, order) {
  if (order == ModelOrder::first) {
    model.runtime().lacks_fake_context = plan.init != ModelInit::meta;
  }
  parallelize(has_torchtitan_names(plan) ? kTorchtitanNames : kTransformersNames);
  if (loss_parallel_) {
    model.runtime().parallel_cross_entropy = [this](const Tensor& logits, const Tensor& target) {
      return parallel_cross_entropy(mesh_, logits, target);
    };
  }
  if (plan.init == ModelInit::meta && !is_fsdp2(plan.parallel)) {
    if (order == ModelOrder::first) {
      init_gpu_contexts(model.runtime());
    }
    nn::move_to_cuda(model);
  }
}

void TensorParallel::parallelize(const ParallelNames& names) {
  if (has_submodule(model_, names.embedding)) {
    styles_.rowwise(dynamic_cast<nn::Embedding&>(submodule(model_, names.embedding)),
                    rowwise_output());
  }
  if (sequence_ && has_submodule(model_, names.norm)) {
    styles_.sequence(submodule(model_, names.norm));
  }
  if (has_submodule(model_, names.head)) {
    styles_.colwise(linear(model_, names.head),
                    sequence_ ? ColwiseInput::sequence : ColwiseInput::local,
                    loss_parallel_ ? ColwiseOutput::dtensor : ColwiseOutput::replicated);
  }
  for (nn::Module* block : submodule(model_, names.blocks).children()) {
    parallelize_block(*block, names);
  }
}

// In the order in which plans name the modules.
void TensorParallel::parallelize_block(nn::Module& block, const ParallelNames& names) {
  if (sequence_) {
    styles_.sequence(submodule(block, names.first_norm));
    styles_.sequence(submodule(block, names.second_norm));
    styles_.gather_input(submodule(block, names.attention));
    styles_.gather_input(submodule(block, names.feed_forward));
  }
  for (const char* name : {names.attention_output, names.down}) {
    styles_.rowwise(linear(block, name), rowwise_output());
  }
  for (const char* name : {names.query, names.key, names.value, names.gate, names.up}) {
    styles_.colwise(linear(block, name), sequence_ ? ColwiseInput::replicated : ColwiseInput::local,
                    ColwiseOutput::local);
  }
}

Tensor TensorParallel::full_norm(const Tensor& partial) {
  Tensor powers = optim::make_like("pow", partial);
  Tensor summed = mesh_.all_reduce(powers);
  Tensor root = optim::make_like("pow", summed);
  eager::end_of_frame(powers, summed);
  return root;
}

// Multi-tensor operators cannot mix the two: parameters that are not DTensors form their own group.
std::vector<std::vector<Tensor>> TensorParallel::parameter_groups(int groups) const {
  if (sequence_) {
    return Wrapper::parameter_groups(groups);
  }
  std::vector<std::vector<Tensor>> result(2);
  for (const Tensor& parameter : parameters()) {
    result[parameter->spec != nullptr ? 0 : 1].push_back(parameter);
  }
  return result;
}

}  // namespace highwater::dist
