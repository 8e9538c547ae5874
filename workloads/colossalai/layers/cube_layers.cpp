#include "workloads/colossalai/layers/cube_layers.hpp"

#include <utility>

#include "workloads/colossalai/layers/cube_norm.hpp"
#include "workloads/colossalai/layers/cube_product.hpp"
#include "workloads/colossalai/layers/vocab_loss.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater::colossalai {

namespace {

/// register_hook(_sync_grad_hook): a copy of the gradient is summed.
std::unique_ptr<LeafHook> summing_hook(const Tensor& parameter, ProcessGroup& group) {
  return std::make_unique<LeafHook>(
      parameter, [&group](Tensor grad) { return all_reduce(eager::clone(grad), group); });
}

class CubeLinear : public Layer {
 public:
  CubeLinear(nn::Module* parent, std::string name, Cube& cube, const CubeGroups& groups,
             std::int64_t in, std::int64_t out)
      : Layer(parent, std::move(name)), product_(cube, groups, WeightLayout::in_out) {
    const nn::InModule scope(*this);
    const std::int64_t side = cube.side;
    weight_ = make_parameter("weight", {in / (side * side), out / side});
    bias_ = make_parameter("bias", {out / side});
    weight_hook_ = cube.pending.hook_of(weight_);
    groups.output_and_weight->broadcast(bias_).wait();
    bias_hook_ = summing_hook(bias_, *groups.output_and_weight);
  }

  [[nodiscard]] nn::LayerKind layer_kind() const override { return nn::LayerKind::linear; }

  Tensor operator()(Tensor x) const override {
    const nn::InModule scope(*this);
    Tensor output = product_(x, weight_);
    output = eager::add(output, bias_);
    return output;
  }

 private:
  CubeProduct product_;
  Tensor weight_;
  Tensor bias_;
  std::unique_ptr<LeafHook> weight_hook_;
  std::unique_ptr<LeafHook> bias_hook_;
};

/// Embedding3D: whole rows of this rank's columns, for its part of the batch.
class CubeEmbedding : public Layer {
 public:
  CubeEmbedding(nn::Module* parent, std::string name, Cube& cube, const CubeGroups& groups,
                std::int64_t rows, std::int64_t width)
      : Layer(parent, std::move(name)), side_(cube.side) {
    const nn::InModule scope(*this);
    weight_ = make_parameter("weight", {rows, width / side_});
    groups.input_and_weight->broadcast(weight_).wait();
    hook_ = summing_hook(weight_, *groups.input_and_weight);
  }

  [[nodiscard]] nn::LayerKind layer_kind() const override { return nn::LayerKind::embedding; }

  Tensor operator()(Tensor ids) const override {
    const nn::InModule scope(*this);
    Tensor own = own_rows(own_rows(ids, side_, 0), side_, 0);
    Tensor output = eager::embedding(weight_, own);
    own.reset();
    return output;
  }

 private:
  std::int64_t side_;
  Tensor weight_;
  std::unique_ptr<LeafHook> hook_;
};

class CubeVocabEmbedding : public Layer {
 public:
  CubeVocabEmbedding(nn::Module* parent, std::string name, Cube& cube, const CubeGroups& groups,
                     std::int64_t rows, std::int64_t width)
      : Layer(parent, std::move(name)), side_(cube.side), groups_(groups) {
    const nn::InModule scope(*this);
    weight_ = make_parameter("weight", {rows / (side_ * side_), width / side_});
  }

  [[nodiscard]] nn::LayerKind layer_kind() const override { return nn::LayerKind::embedding; }

  Tensor operator()(Tensor all_ids) const override {
    const nn::InModule scope(*this);
    Tensor ids = own_rows(all_ids, side_, 0);
    OwnRows own(ids);
    Tensor weight = gather_tensor(weight_, 0, *groups_.weight);
    Tensor part = eager::embedding(weight, own.places);
    eager::fill_rows_(part, own.mask);
    Tensor output = reduce_scatter_tensor(part, 0, *groups_.input);
    eager::end_of_frame(ids, own.mask, own.places, weight, part);
    return output;
  }

 private:
  std::int64_t side_;
  CubeGroups groups_;
  Tensor weight_;
};

class CubeHead : public Layer {
 public:
  CubeHead(nn::Module* parent, std::string name, Cube& cube, const CubeGroups& groups,
           std::int64_t in, std::int64_t classes, const Tensor& tied)
      : Layer(parent, std::move(name)), product_(cube, groups, WeightLayout::out_in) {
    const nn::InModule scope(*this);
    const std::int64_t side = cube.side;
    if (tied.defined()) {
      weight_ = tied;
      register_parameter("weight", tied);
    } else {
      weight_ = make_parameter("weight", {classes / (side * side), in / side});
    }
    hook_ = cube.pending.hook_of(weight_);
  }

  [[nodiscard]] nn::LayerKind layer_kind() const override { return nn::LayerKind::linear; }

  Tensor operator()(Tensor x) const override {
    const nn::InModule scope(*this);
    return product_(x, weight_);
  }

 private:
  CubeProduct product_;
  Tensor weight_;
  std::unique_ptr<LeafHook> hook_;
};

class CubeLayers : public LayerMaker {
 public:
  CubeLayers(eager::Runtime& runtime, const Parallelism& p)
      : cube_(runtime, p),
        groups_{.input = &cube_.rows,
                .weight = &cube_.columns,
                .output = &cube_.layers,
                .input_and_weight = &cube_.rows_and_columns,
                .output_and_weight = &cube_.layers_and_columns} {}

  LayerPtr linear(nn::Module* parent, std::string name, std::int64_t in,
                  std::int64_t out) override {
    auto layer = std::make_unique<CubeLinear>(parent, std::move(name), cube_, groups_, in, out);
    groups_.swap();
    return layer;
  }

  LayerPtr norm(nn::Module* parent, std::string name, std::int64_t width) override {
    return make_cube_norm(parent, std::move(name), cube_, groups_, width);
  }

  LayerPtr embedding(nn::Module* parent, std::string name, std::int64_t rows,
                     std::int64_t width) override {
    if (rows > kVocabParallelLimit) {
      return std::make_unique<CubeVocabEmbedding>(parent, std::move(name), cube_, groups_, rows,
                                                  width);
    }
    return std::make_unique<CubeEmbedding>(parent, std::move(name), cube_, groups_, rows, width);
  }

  LayerPtr head(nn::Module* parent, std::string name, std::int64_t in, std::int64_t classes,
                const Tensor& tied) override {
    auto layer =
        std::make_unique<CubeHead>(parent, std::move(name), cube_, groups_, in, classes, tied);
    groups_.swap();
    return layer;
  }

  Tensor loss(const Tensor& logits, const Tensor& all_targets) override {
    const Tensor targets = own_rows(own_rows(all_targets, cube_.side, 0), cube_.side, 0);
    Tensor loss =
        vocab_parallel_cross_entropy(logits, targets, *groups_.output, RowNumbers::on_device);
    loss = eager::mean(loss, 0, eager::KeepDim::no);
    loss = mean_over_ranks(loss, {groups_.input, groups_.weight});
    return loss;
  }

 private:
  Cube cube_;
  CubeGroups groups_;
};

}  // namespace

std::unique_ptr<LayerMaker> make_cube_layers(nn::ModelContext& context) {
  return std::make_unique<CubeLayers>(context.runtime, context.plan.parallel);
}

}  // namespace highwater::colossalai
