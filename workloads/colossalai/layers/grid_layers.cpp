#include "workloads/colossalai/layers/grid_layers.hpp"

#include <utility>

#include "workloads/colossalai/layers/summa.hpp"
#include "workloads/colossalai/layers/vocab_loss.hpp"
#include "workloads/eager/runtime.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater::colossalai {

using eager::Node;

namespace {

/// This rank's place in the grid, and whom it shares its row and column with.
struct Grid {
  Grid(eager::Runtime& runtime, const Parallelism& p)
      : side(grid_side(p)),
        place(grid_place(p)),
        repeats(p.tp_kind == TensorParallel::colossalai_2p5d),
        row(runtime, side, p.backend),
        column(runtime, side, p.backend) {}

  [[nodiscard]] SummaGroups groups() { return {row, column}; }

  int side;
  GridPlace place;
  bool repeats;  ///< 2.5D
  ProcessGroup row;
  ProcessGroup column;
};

/// How the vectors of a layer, of which every rank of a column needs the same part, are shared out.
/// 2D gives each rank its own part of it (all_gather), 2.5D the whole of it (broadcast).
class ColumnVectors {
 public:
  explicit ColumnVectors(Grid& grid) : grid_(grid) {}

  [[nodiscard]] std::int64_t own(std::int64_t width) const {
    return width / (grid_.repeats ? grid_.side : std::int64_t{grid_.side} * grid_.side);
  }

  /// add_bias with skip_bias_add: the vector that the column shares.
  [[nodiscard]] Tensor shared(const Tensor& own) const {
    return apply_function(
        "_Add_Bias_2DBackward", {Tensor{}, own},
        [&](FunctionContext&) { return eager::alias(gathered(own)); },
        [this](Node&, TensorList& grads) {
          return TensorList{{}, scattered(grads[0])};
        });
  }

  /// add_bias: x plus the vector.
  [[nodiscard]] Tensor added(const Tensor& x, const Tensor& own) const {
    return apply_function(
        "_Add_Bias_2DBackward", {x, own},
        [&](FunctionContext&) {
          const Tensor vector = gathered(own);
          return eager::add(x, vector);
        },
        [this](Node&, TensorList& grads) {
          const Tensor sum = sum_of_rows(grads[0]);
          return TensorList{grads[0], scattered(sum)};
        });
  }

 private:
  static Tensor sum_of_rows(const Tensor& grad) {
    Dims dims;
    for (std::size_t i = 0; i + 1 < grad.dim(); ++i) {
      dims.push_back(static_cast<std::int64_t>(i));
    }
    return eager::sum(grad, dims, eager::KeepDim::no);
  }

  [[nodiscard]] Tensor gathered(const Tensor& own) const {
    if (!grid_.repeats) {
      return all_gather(own, -1, grid_.column);
    }
    Tensor vector = grid_.place.row == 0 ? eager::clone(own) : eager::empty_like(own);
    grid_.column.broadcast(vector).wait();
    return vector;
  }

  // The first rank of a 2.5D column has the sum, the others get zeros.
  [[nodiscard]] Tensor scattered(const Tensor& grad) const {
    if (!grid_.repeats) {
      return reduce_scatter(grad, -1, grid_.column);
    }
    grid_.column.all_reduce(grad).wait();
    return grid_.place.row == 0 ? grad : eager::empty_like(grad);
  }

  Grid& grid_;
};

class GridLinear : public Layer {
 public:
  GridLinear(nn::Module* parent, std::string name, Grid& grid, std::int64_t in, std::int64_t out)
      : Layer(parent, std::move(name)), grid_(grid), vectors_(grid) {
    const nn::InModule scope(*this);
    weight_ = make_parameter("weight", {in / grid.side, out / grid.side});
    bias_ = make_parameter("bias", {vectors_.own(out)});
  }

  [[nodiscard]] nn::LayerKind layer_kind() const override { return nn::LayerKind::linear; }

  Tensor operator()(Tensor x) const override {
    const nn::InModule scope(*this);
    Tensor output = matmul_ab(grid_.groups(), x, weight_);
    output = vectors_.added(output, bias_);
    return output;
  }

 private:
  Grid& grid_;
  ColumnVectors vectors_;
  Tensor weight_;
  Tensor bias_;
};

/// LayerNorm2D: the mean and the variance are sums over the ranks of a row.
class GridNorm : public Layer {
 public:
  GridNorm(nn::Module* parent, std::string name, Grid& grid, std::int64_t width)
      : Layer(parent, std::move(name)), grid_(grid), vectors_(grid) {
    const nn::InModule scope(*this);
    weight_ = make_parameter("weight", {vectors_.own(width)});
    bias_ = make_parameter("bias", {vectors_.own(width)});
  }

  [[nodiscard]] nn::LayerKind layer_kind() const override { return nn::LayerKind::norm; }

  Tensor operator()(Tensor x) const override {
    const nn::InModule scope(*this);
    Tensor mean;
    Tensor inverse;
    statistics(x, mean, inverse);
    Tensor output = normalized(x, mean, inverse);
    Tensor scale = vectors_.shared(weight_);
    Tensor shift = vectors_.shared(bias_);
    output = eager::addcmul(shift, scale, output);
    eager::end_of_frame(mean, inverse, scale, shift);
    return output;
  }

 private:
  [[nodiscard]] Tensor row_sum(const Tensor& x) const {
    Tensor sum = eager::sum(x, {-1}, eager::KeepDim::yes);
    grid_.row.all_reduce(sum).wait();
    return sum;
  }

  // E[x] and 1 / sqrt(E[x x] - E[x] E[x] + eps)
  void statistics(const Tensor& x, Tensor& mean, Tensor& inverse) const {
    const eager::NoGrad no_grad(runtime());
    mean = row_sum(x);
    {
      const Tensor squares = eager::mul(x, x);
      inverse = eager::sum(squares, {-1}, eager::KeepDim::yes);
    }
    grid_.row.all_reduce(inverse).wait();
    {
      const Tensor square = eager::mul(mean, mean);
      inverse = eager::sub(inverse, square);
    }
    inverse = inverse_root(inverse);
  }

  // 1.0 / torch.sqrt(variance + eps): the reciprocal, then a product
  static Tensor inverse_root(const Tensor& variance) {
    Tensor shifted = eager::add(variance, 1.0);
    const Tensor root = eager::pointwise("sqrt", {shifted}, shifted.dtype());
    shifted.reset();
    const Tensor reciprocal = eager::pointwise("reciprocal", {root}, root.dtype());
    return eager::mul(reciprocal, 1.0);
  }

  // _Layernorm_2D
  [[nodiscard]] Tensor normalized(const Tensor& x, const Tensor& mean,
                                  const Tensor& inverse) const {
    return apply_function(
        "_Layernorm_2DBackward", {x, mean, inverse},
        [&](FunctionContext& context) {
          const Tensor centred = eager::sub(x, mean);
          Tensor output = eager::mul(centred, inverse);
          context.save_for_backward(output);
          context.save_for_backward(inverse);
          return output;
        },
        [this](Node& node, TensorList& grads) {
          return TensorList{input_gradient(node, grads[0])};
        });
  }

  [[nodiscard]] Tensor input_gradient(const Node& node, const Tensor& grad) const {
    Tensor x = node.unpack(0);
    Tensor inverse = node.unpack(1);
    Tensor sum = row_sum(grad);
    Tensor weighted;
    {
      const Tensor product = eager::mul(grad, x);
      weighted = eager::sum(product, {-1}, eager::KeepDim::yes);
    }
    grid_.row.all_reduce(weighted).wait();
    Tensor result = eager::clone(grad);
    eager::mul(x, weighted);  // subtracted in place, as the rest is
    eager::end_of_frame(x, inverse, sum, weighted);
    return result;
  }

  Grid& grid_;
  ColumnVectors vectors_;
  Tensor weight_;
  Tensor bias_;
};

/// Embedding2D: columns are gathered before the lookup of this rank's part of the batch.
class GridEmbedding : public Layer {
 public:
  GridEmbedding(nn::Module* parent, std::string name, Grid& grid, std::int64_t rows,
                std::int64_t width)
      : Layer(parent, std::move(name)), grid_(grid) {
    const nn::InModule scope(*this);
    weight_ = make_parameter("weight", {rows, width / (std::int64_t{grid.side} * grid.side)});
  }

  [[nodiscard]] nn::LayerKind layer_kind() const override { return nn::LayerKind::embedding; }

  Tensor operator()(Tensor ids) const override {
    const nn::InModule scope(*this);
    Tensor own = own_rows(ids, grid_.side, grid_.place.row);
    Tensor weight = gather_contiguous_tensor(weight_, -1, grid_.column);
    Tensor output = eager::embedding(weight, own);
    eager::end_of_frame(own, weight);
    return output;
  }

 private:
  Grid& grid_;
  Tensor weight_;
};

/// VocabParallelEmbedding2D: every rank looks the whole batch up in its rows.
class GridVocabEmbedding : public Layer {
 public:
  GridVocabEmbedding(nn::Module* parent, std::string name, Grid& grid, std::int64_t rows,
                     std::int64_t width)
      : Layer(parent, std::move(name)), grid_(grid) {
    const nn::InModule scope(*this);
    weight_ = make_parameter("weight", {rows / grid.side, width / grid.side});
  }

  [[nodiscard]] nn::LayerKind layer_kind() const override { return nn::LayerKind::embedding; }

  Tensor operator()(Tensor ids) const override {
    const nn::InModule scope(*this);
    OwnRows own(ids);
    Tensor part = eager::embedding(weight_, own.places);
    eager::fill_rows_(part, own.mask);
    Tensor output = reduce_scatter_tensor(part, 0, grid_.column);
    eager::end_of_frame(own.mask, own.places, part);
    return output;
  }

 private:
  Grid& grid_;
  Tensor weight_;
};

class GridHead : public Layer {
 public:
  GridHead(nn::Module* parent, std::string name, Grid& grid, std::int64_t in, std::int64_t classes,
           const Tensor& tied)
      : Layer(parent, std::move(name)), grid_(grid) {
    const nn::InModule scope(*this);
    if (tied.defined()) {
      weight_ = tied;
      register_parameter("weight", tied);
    } else {
      weight_ = make_parameter("weight", {classes / grid.side, in / grid.side});
    }
  }

  [[nodiscard]] nn::LayerKind layer_kind() const override { return nn::LayerKind::linear; }

  Tensor operator()(Tensor x) const override {
    const nn::InModule scope(*this);
    return matmul_abt(grid_.groups(), x, weight_);
  }

 private:
  Grid& grid_;
  Tensor weight_;
};

class GridLayers : public LayerMaker {
 public:
  GridLayers(eager::Runtime& runtime, const Parallelism& p) : grid_(runtime, p) {}

  LayerPtr linear(nn::Module* parent, std::string name, std::int64_t in,
                  std::int64_t out) override {
    return std::make_unique<GridLinear>(parent, std::move(name), grid_, in, out);
  }

  LayerPtr norm(nn::Module* parent, std::string name, std::int64_t width) override {
    return std::make_unique<GridNorm>(parent, std::move(name), grid_, width);
  }

  LayerPtr embedding(nn::Module* parent, std::string name, std::int64_t rows,
                     std::int64_t width) override {
    if (rows > kVocabParallelLimit) {
      return std::make_unique<GridVocabEmbedding>(parent, std::move(name), grid_, rows, width);
    }
    return std::make_unique<GridEmbedding>(parent, std::move(name), grid_, rows, width);
  }

  LayerPtr head(nn::Module* parent, std::string name, std::int64_t in, std::int64_t classes,
                const Tensor& tied) override {
    return std::make_unique<GridHead>(parent, std::move(name), grid_, in, classes, tied);
  }

  Tensor loss(const Tensor& logits, const Tensor& all_targets) override {
    const Tensor targets = own_rows(all_targets, grid_.side, grid_.place.row);
    Tensor loss = vocab_parallel_cross_entropy(logits, targets, grid_.row, RowNumbers::on_host);
    loss = eager::mean(loss, 0, eager::KeepDim::no);
    loss = mean_over_ranks(loss, {&grid_.column});
    return loss;
  }

 private:
  Grid grid_;
};

}  // namespace

std::unique_ptr<LayerMaker> make_grid_layers(nn::ModelContext& context) {
  return std::make_unique<GridLayers>(context.runtime, context.plan.parallel);
}

}  // namespace highwater::colossalai
