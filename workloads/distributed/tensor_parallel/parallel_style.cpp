#include "workloads/distributed/tensor_parallel/parallel_style.hpp"

#include <utility>

#include "workloads/distributed/tensor_parallel/masked_indices.hpp"

namespace highwater::dist {

using eager::DTensorSpec;
using eager::Placement;
using eager::Tensor;
using eager::TensorList;

namespace {

class ColwiseLinear : public nn::ForwardHooks {
 public:
  ColwiseLinear(DeviceMesh& mesh, std::int64_t columns, ColwiseInput input, ColwiseOutput output)
      : mesh_(mesh), columns_(columns), input_(input), output_(output) {}

  void before(std::span<Tensor> arguments) override {
    arguments[0] = prepared(arguments[0]);
    mesh_.runtime().dispatches_dtensors = true;
  }

  void after(std::span<const Tensor> /*arguments*/, std::span<Tensor> results) override {
    mesh_.runtime().dispatches_dtensors = false;
    results[0] = finished(results[0]);
  }

 private:
  // The gradient of the input is Partial: each rank has that of its columns.
  Tensor prepared(const Tensor& x) {
    switch (input_) {
      case ColwiseInput::local:
        return from_local(x, [this](const Tensor& grad) { return mesh_.all_reduce(grad); });
      case ColwiseInput::replicated:
        return x;
      case ColwiseInput::sequence:
        return redistribute(
            x, [this](const Tensor& in) { return gather_sequence(in); },
            [this](const Tensor& grad) {
              mesh_.wait_at_use();  // redistribute(async_op=True) holds for the gradient, too
              return mesh_.reduce_scatter(grad, kSequenceDim);
            });
    }
    return x;
  }

  Tensor gather_sequence(const Tensor& x) {
    return mesh_.all_gather(x, kSequenceDim, x.size(kSequenceDim) * mesh_.size());
  }

  Tensor finished(const Tensor& out) {
    switch (output_) {
      case ColwiseOutput::local:
        return to_local(out);
      case ColwiseOutput::replicated:
        return to_local(redistribute(
            out, [this](const Tensor& in) { return mesh_.all_gather(in, -1, columns_); },
            [this](const Tensor& grad) { return mesh_.piece(grad, -1); }));
      case ColwiseOutput::dtensor:
        return out;
    }
    return out;
  }

  DeviceMesh& mesh_;
  std::int64_t columns_;
  ColwiseInput input_;
  ColwiseOutput output_;
};

// A Partial result becomes the same on all ranks, or each rank's part of the sequence. The gradient
// of the former needs nothing; that of the latter is gathered.
Tensor reduced(DeviceMesh& mesh, const Tensor& partial, RowwiseOutput output) {
  mesh.wait_at_use();
  if (output == RowwiseOutput::replicated) {
    return to_local(redistribute(
        partial, [&mesh](const Tensor& in) { return mesh.all_reduce(in); }, unchanged));
  }
  return to_local(redistribute(
      partial, [&mesh](const Tensor& in) { return mesh.reduce_scatter(in, kSequenceDim); },
      [&mesh, length = partial.size(kSequenceDim)](const Tensor& grad) {
        return mesh.all_gather(grad, kSequenceDim, length);
      }));
}

class RowwiseLinear : public nn::ForwardHooks {
 public:
  RowwiseLinear(DeviceMesh& mesh, RowwiseOutput output) : mesh_(mesh), output_(output) {}

  void before(std::span<Tensor> arguments) override {
    arguments[0] = from_local(arguments[0]);
    mesh_.runtime().dispatches_dtensors = true;
    mesh_.runtime().divides_bias = true;
  }

  void after(std::span<const Tensor> /*arguments*/, std::span<Tensor> results) override {
    mesh_.runtime().dispatches_dtensors = false;
    mesh_.runtime().divides_bias = false;
    results[0] = reduced(mesh_, results[0], output_);
  }

 private:
  DeviceMesh& mesh_;
  RowwiseOutput output_;
};

// _embedding_ops.py: indices of other ranks' rows look up row 0, and the mask zeroes the result
// before it is reduced (_MaskPartial).
class RowwiseEmbedding : public nn::ForwardHooks {
 public:
  RowwiseEmbedding(DeviceMesh& mesh, RowwiseOutput output) : mesh_(mesh), output_(output) {}

  void before(std::span<Tensor> arguments) override {
    arguments[0] = from_local(arguments[0]);
    mesh_.runtime().dispatches_dtensors = true;
  }

  Tensor look_up(const Tensor& weight, const Tensor& indices) {
    const auto mask_indices = [this](const Tensor& whole) {
      MaskedIndices own = mask_indices_of_others(whole);
      mask_ = std::move(own.mask);
      return own.indices;
    };
    return eager::embedding_of_rows(weight, indices, weight->spec->sizes, mask_indices);
  }

  void after(std::span<const Tensor> /*arguments*/, std::span<Tensor> results) override {
    mesh_.runtime().dispatches_dtensors = false;
    mask_.reset();
    mesh_.runtime().launch(1);  // it was applied in place
    results[0] = reduced(mesh_, results[0], output_);
  }

 private:
  DeviceMesh& mesh_;
  RowwiseOutput output_;
  Tensor mask_;
};

class SequenceNorm : public nn::ForwardHooks {
 public:
  explicit SequenceNorm(eager::Runtime& runtime) : runtime_(runtime) {}

  void before(std::span<Tensor> arguments) override {
    arguments[0] = from_local(arguments[0]);
    runtime_.dispatches_dtensors = true;
  }

 private:
  eager::Runtime& runtime_;
};

// PrepareModuleInput waits for the gathered tensor.
class GatheredInput : public nn::ForwardHooks {
 public:
  explicit GatheredInput(DeviceMesh& mesh) : mesh_(mesh) {}

  void before(std::span<Tensor> arguments) override {
    arguments[0] = redistribute(
        arguments[0],
        [this](const Tensor& in) {
          return mesh_.all_gather(in, kSequenceDim, in.size(kSequenceDim) * mesh_.size());
        },
        [this](const Tensor& grad) { return mesh_.reduce_scatter(grad, kSequenceDim); });
  }

 private:
  DeviceMesh& mesh_;
};

// register_parameter with a new nn.Parameter: a tied parameter is no longer tied.
void replace(nn::Module& module, const char* name, Tensor& member, Tensor parameter) {
  module.tie_parameter(name, parameter);
  member = std::move(parameter);
}

}  // namespace

// distribute_tensor() before 2.7: random.OffsetBasedRNGTracker broadcasts rank 0's state from a
// copy on the device.
void ParallelStyles::track_random_state() {
  if (mesh_.runtime().torch < Release{2, 7} && !std::exchange(tracks_random_state_, true)) {
    constexpr std::int64_t kStateBytes = 16;  // seed and offset
    eager::empty(mesh_.runtime(), {kStateBytes}, DType::uint8);
  }
}

// The form in which an operator on the gradient and the parameter receives the gradient.
const DTensorSpec& ParallelStyles::make_spec(const Tensor& whole, std::int64_t dim, Placement own,
                                             Placement gradient) {
  DTensorSpec& spec = specs_.emplace_back();
  spec.sizes = whole.sizes();
  spec.placement = own;
  spec.grad_placement = gradient;
  spec.all_reduce = [this](const Tensor& value) { return mesh_.all_reduce(value); };
  if (gradient == Placement::partial) {
    spec.redistribute = spec.all_reduce;
    spec.like_gradient = [](const Tensor& param) { return eager::div(param, 1.0); };
  } else {
    spec.redistribute = [this, dim](const Tensor& grad) { return mesh_.piece(grad, dim); };
    spec.like_gradient = [this, dim, size = spec.sizes[static_cast<std::size_t>(dim)]](
                             const Tensor& param) { return mesh_.all_gather(param, dim, size); };
  }
  return spec;
}

Tensor ParallelStyles::shard(const Tensor& parameter, std::int64_t dim, Placement gradient) {
  track_random_state();
  const nn::Tensor detached = eager::detach(parameter);
  const eager::NoGrad no_grad(mesh_.runtime());
  Tensor local = eager::alias(mesh_.scatter(detached, dim));  // not a view, whatever was cut off
  local->requires_grad = parameter.requires_grad();
  local->spec = &make_spec(parameter, dim, Placement::shard, gradient);
  mesh_.runtime().categorize(local, Category::parameter);
  return local;
}

void ParallelStyles::replicate(const Tensor& parameter, Placement gradient) {
  parameter->spec = &make_spec(parameter, 0, Placement::replicate, gradient);
}

void ParallelStyles::colwise(nn::Linear& linear, ColwiseInput input, ColwiseOutput output) {
  const nn::InModule scope(linear);
  const std::int64_t columns = linear.weight.size(0);
  // The loop over named_parameters() keeps both until it ends, because it remembers what it has
  // seen.
  Tensor weight = linear.weight;
  Tensor bias = linear.bias;
  replace(linear, "weight", linear.weight, shard(weight, 0, Placement::shard));
  if (bias.defined()) {
    replace(linear, "bias", linear.bias, shard(bias, 0, Placement::shard));
  }
  eager::end_of_frame(weight, bias);
  linear.add_forward_hooks(std::make_shared<ColwiseLinear>(mesh_, columns, input, output));
}

void ParallelStyles::rowwise(nn::Linear& linear, RowwiseOutput output) {
  const nn::InModule scope(linear);
  replace(linear, "weight", linear.weight, shard(linear.weight, 1, Placement::shard));
  if (linear.bias.defined()) {
    replicate(linear.bias, Placement::replicate);
  }
  linear.add_forward_hooks(std::make_shared<RowwiseLinear>(mesh_, output));
}

// The gradient of a table is whole on each rank: the backward's operator has no strategy that
// cuts rows.
void ParallelStyles::rowwise(nn::Embedding& embedding, RowwiseOutput output) {
  const nn::InModule scope(embedding);
  replace(embedding, "weight", embedding.weight, shard(embedding.weight, 0, Placement::replicate));
  auto hooks = std::make_shared<RowwiseEmbedding>(mesh_, output);
  embedding.set_lookup([hooks](const Tensor& weight, const Tensor& indices) {
    return hooks->look_up(weight, indices);
  });
  embedding.add_forward_hooks(hooks);
}

void ParallelStyles::sequence(nn::Module& norm) {
  for (const auto& own : norm.own_parameters()) {
    replicate(own.tensor, Placement::partial);
  }
  norm.add_forward_hooks(std::make_shared<SequenceNorm>(mesh_.runtime()));
}

void ParallelStyles::gather_input(nn::Module& module) {
  module.add_forward_hooks(std::make_shared<GatheredInput>(mesh_));
}

}  // namespace highwater::dist
