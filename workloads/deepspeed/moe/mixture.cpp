#include "workloads/deepspeed/moe/mixture.hpp"

#include <array>
#include <string>
#include <utility>

#include "workloads/deepspeed/moe/gates.hpp"
#include "workloads/distributed/process_group.hpp"
#include "workloads/eager/node.hpp"
#include "workloads/models/decoders/decoder.hpp"
#include "workloads/models/experts/experts.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater::deepspeed {
namespace {

using eager::Dims;
using eager::Runtime;
using eager::TensorList;

/// What the layers of one model share.
struct MixtureGroup {
  explicit MixtureGroup(nn::ModelContext& context)
      : ranks(context.runtime, context.plan.parallel.ep, context.plan.parallel.backend) {}

  GateDistributions distributions;
  dist::ProcessGroup ranks;
  std::vector<const Tensor*> losses;  ///< of each layer's last forward
};

Tensor exchanged(const Tensor& x, dist::ProcessGroup& ranks) {
  const Tensor input = eager::contiguous(x);
  Tensor output = eager::empty_like(input);
  ranks.all_to_all_single(output, input).wait();
  return output;
}

// _AllToAll
Tensor all_to_all(const Tensor& x, dist::ProcessGroup& ranks) {
  if (ranks.size() == 1) {
    return eager::contiguous(x);
  }
  const auto node = eager::begin_node(x.runtime(), "_AllToAllBackward", {x});
  Tensor result;
  {
    const eager::NoGrad no_grad(x.runtime());
    result = exchanged(x, ranks);
  }
  eager::finish_node(node, result, [&ranks](eager::Node&, TensorList& grads) {
    return TensorList{exchanged(grads[0], ranks)};
  });
  return result;
}

// _route_slots: [k, tokens]
Tensor route_slots(const Tensor& indices, const Tensor& locations) {
  const auto wide = [&](const char* op, const Tensor& x) {
    return eager::pointwise(op, {x}, DType::int64);
  };
  Tensor flat;
  {
    Tensor indices64 = eager::to_dtype(indices, DType::int64);
    Tensor scaled = wide("mul", indices64);
    indices64.reset();
    Tensor locations64 = eager::to_dtype(locations, DType::int64);
    flat = eager::pointwise("add", {scaled, locations64}, DType::int64);
    eager::end_of_frame(scaled, locations64);
  }
  Tensor scratch = eager::empty_like(flat);
  Tensor result;
  {
    const Tensor routed = eager::compare("ge", {indices});
    result = eager::pointwise("where", {routed, flat, scratch}, DType::int64);
  }
  eager::end_of_frame(flat, scratch);
  return result;
}

// torch.cat([x, x.new_zeros(1, d)])
Tensor with_zeros(const Tensor& x) {
  const std::array parts{x, eager::empty(x.runtime(), {1, x.size(1)}, x.dtype())};
  return eager::cat(parts, 0);
}

// _sparse_encode: [tokens, d] in, [experts, capacity, d] out
Tensor encode(const Tensor& states, const Tensor& slots, std::int64_t experts,
              std::int64_t capacity) {
  Runtime& runtime = states.runtime();
  Tensor source = eager::empty(runtime, {experts * capacity + 1}, DType::int64);
  Tensor tokens = eager::arange(runtime, states.size(0));
  eager::reshape(eager::expand(tokens, slots.sizes()), {slots.numel()});
  Tensor padded = with_zeros(states);
  const Tensor result =
      eager::index_select(padded, 0, eager::slice(source, 0, 0, experts * capacity));
  eager::end_of_frame(source, tokens, padded);
  return eager::view(result, {experts, capacity, states.size(1)});
}

// _sparse_decode: each token's results, weighted and summed in fp32
Tensor decode(const Tensor& outputs, const Tensor& slots, const Tensor& weights) {
  const std::int64_t width = outputs.size(1);
  Tensor padded = with_zeros(outputs);
  Tensor routed = eager::index_select(padded, 0, eager::reshape(slots, {slots.numel()}));
  routed = eager::view(routed, {slots.size(0), slots.size(1), width});
  Tensor combined;
  {
    const Tensor weighted = eager::mul(routed, eager::unsqueeze(weights, -1));
    combined = eager::sum(weighted, {0}, eager::KeepDim::no);
  }
  Tensor result = eager::to_dtype(combined, outputs.dtype());
  eager::end_of_frame(padded, routed, combined);
  return result;
}

class Experts : public Module {
 public:
  Experts(Module* parent, const LlamaConfig& expert, std::int64_t count)
      : Module(parent, "experts"), list_(this, "deepspeed_experts") {
    for (std::int64_t i = 0; i < count; ++i) {
      experts_.push_back(
          models::make_gated_mlp(&list_, std::to_string(i), expert, expert.intermediate_size));
    }
  }

  [[nodiscard]] std::int64_t count() const { return static_cast<std::int64_t>(experts_.size()); }

  /// [ranks, experts, capacity, d], by expert
  Tensor operator()(const Tensor& inputs) const {
    const nn::InModule scope(*this);
    TensorList chunks = eager::chunk(inputs, count(), 1);
    TensorList outputs;
    for (std::size_t i = 0; i < experts_.size(); ++i) {
      outputs.push_back((*experts_[i])(chunks[i]));
    }
    Tensor result = eager::cat(outputs, 1);
    const Tensor last = outputs.back();  // the loop's variable
    eager::release_list(chunks);
    eager::release_list(outputs);
    return result;
  }

 private:
  nn::Container list_;
  std::vector<std::unique_ptr<models::FeedForward>> experts_;
};

class MixtureLayer : public models::FeedForward {
 public:
  MixtureLayer(Module* parent, const MixtralConfig& config, const LlamaConfig& expert,
               MixtureGroup& group)
      : FeedForward(parent, "mlp"),
        group_(group),
        gate_(this,
              {.hidden = config.hidden_size,
               .experts = config.num_local_experts,
               .top_k = config.num_experts_per_tok},
              group.distributions, group.ranks),
        experts_(this, expert, config.num_local_experts / group.ranks.size()) {
    group_.losses.push_back(&loss_);
    if (context().plan.deepspeed_moe.use_residual) {
      residual_ = models::make_gated_mlp(this, "mlp", expert, expert.intermediate_size);
      coefficient_.emplace(this, "coefficient", config.hidden_size, std::int64_t{2});
    }
  }

  Tensor operator()(Tensor hidden_states) const override {
    const nn::InModule scope(*this);
    Tensor loss;
    Tensor output = mixture(hidden_states, loss);
    if (residual_) {
      Tensor beside = (*residual_)(hidden_states);
      Tensor coefficients = (*coefficient_)(hidden_states);
      coefficients = eager::softmax(coefficients, -1, std::nullopt);
      output = weighted(output, beside, coefficients);
    }
    loss_ = std::move(loss);  // a script keeps the last one until it has the next
    return output;
  }

 private:
  static Tensor weighted(const Tensor& output, const Tensor& beside, const Tensor& coefficients) {
    const Tensor first = eager::mul(output, eager::slice(coefficients, -1, 0, 1));
    const Tensor second = eager::mul(beside, eager::slice(coefficients, -1, 1, eager::kEnd));
    return eager::add(first, second);
  }

  // MOELayer.forward
  [[nodiscard]] Tensor mixture(const Tensor& hidden_states, Tensor& loss) const {
    const std::int64_t width = hidden_states.size(-1);
    const std::int64_t ranks = group_.ranks.size();
    Tensor states = eager::reshape(hidden_states, {-1, width});
    Routes routes = gate_(states);
    loss = std::move(routes.loss);
    counts_ = std::move(routes.counts);
    routes.capacity.reset();  // C = int(C)
    Tensor slots = route_slots(routes.experts, routes.slots);
    Tensor inputs = encode(states, slots, experts_.count() * ranks, routes.slots_of_expert);
    inputs = all_to_all(inputs, group_.ranks);
    inputs = eager::reshape(inputs, {ranks, experts_.count(), -1, width});
    Tensor outputs = experts_(inputs);
    outputs = eager::reshape(outputs, {ranks * experts_.count(), -1, width});
    outputs = all_to_all(outputs, group_.ranks);
    Tensor combined = decode(eager::view(outputs, {-1, width}), slots, routes.weights);
    combined = eager::reshape(combined, hidden_states.sizes());
    eager::end_of_frame(states, routes.experts, routes.slots, routes.weights, slots, inputs,
                        outputs);
    return combined;
  }

  MixtureGroup& group_;
  TopKGate gate_;
  Experts experts_;
  std::unique_ptr<models::FeedForward> residual_;
  std::optional<nn::Linear> coefficient_;
  mutable Tensor loss_;    ///< l_aux
  mutable Tensor counts_;  ///< exp_counts
};

class Mixtral : public models::LanguageModel {
 public:
  Mixtral(nn::ModelContext& context, const MixtralConfig& config)
      : LanguageModel(context), group_(context), expert_(models::decoder_of(config)) {
    model_ = models::make_llama_with(context, expert_, [&](Module* parent) {
      return std::make_unique<MixtureLayer>(parent, config, expert_, group_);
    });
    adopt(*model_);
  }

  models::Outputs forward(models::Inputs inputs) override {
    models::Outputs outputs = model_->forward(std::move(inputs));
    if (outputs.loss.defined()) {
      outputs.loss = with_gates(outputs.loss);
    }
    return outputs;
  }

 private:
  // loss + 0.01 * sum(gates' losses), which begins with the number 0
  Tensor with_gates(const Tensor& loss) const {
    Tensor total;
    for (const Tensor* own : group_.losses) {
      total = total.defined() ? eager::add(total, *own) : eager::add(*own, 0.0);
    }
    const Tensor scaled = eager::mul(total, 1.0);
    total.reset();
    return eager::add(loss, scaled);
  }

  MixtureGroup group_;
  LlamaConfig expert_;
  std::unique_ptr<models::LanguageModel> model_;
};

}  // namespace

std::unique_ptr<models::LanguageModel> make_mixtral(nn::ModelContext& context,
                                                    const MixtralConfig& config) {
  return std::make_unique<Mixtral>(context, config);
}

}  // namespace highwater::deepspeed
