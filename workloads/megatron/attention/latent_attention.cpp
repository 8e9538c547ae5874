#include "workloads/megatron/attention/latent_attention.hpp"

#include <utility>
#include <vector>

#include "workloads/eager/node.hpp"
#include "workloads/megatron/layers/engine.hpp"
#include "workloads/megatron/layers/engine_linear.hpp"
#include "workloads/megatron/transformer_engine/attention.hpp"
#include "workloads/megatron/transformer_engine/autotuner.hpp"
#include "workloads/megatron/transformer_engine/products.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater::megatron {
namespace {

// ApplyMLARotaryEmbQ: in place, forward and backward.
Tensor rotate_query(const Tensor& query, const YarnTables::CosSin& tables) {
  const auto node = eager::begin_node(query.runtime(), "ApplyMLARotaryEmbQBackward", {query});
  Tensor result = eager::view(query, query.sizes());
  tune(query.runtime(), "rotary_fwd_q_kernel", query);
  eager::finish_node(node, result, [](eager::Node& own, TensorList& grads) {
    Tensor gradient = eager::contiguous(grads[0]);
    tune(*own.runtime, "rotary_bwd_q_kernel", gradient);
    return TensorList{std::move(gradient)};
  });
  if (node) {
    node->save(tables.cos);
    node->save(tables.sin);
  }
  return result;
}

struct KeyValue {
  Tensor key;
  Tensor value;
};

// ApplyMLARotaryEmbKV of [s, b, heads, plain + value] and [s, b, 1, rotary].
KeyValue rotate_key(const Tensor& latent, const Tensor& positions, const LatentAttention& sizes,
                    const YarnTables::CosSin& tables) {
  eager::Runtime& runtime = latent.runtime();
  const auto node = eager::begin_node(runtime, "ApplyMLARotaryEmbKVBackward", {latent, positions});
  const auto block = [&](std::int64_t width) {
    Dims shape = latent.sizes();
    shape.back() = width;
    return eager::empty(runtime, shape, latent.dtype());
  };
  KeyValue result;
  {
    const eager::NoGrad no_grad(runtime);
    result.key = block(sizes.plain_dim + sizes.rotary_dim);
    result.value = block(sizes.value_dim);
    tune(runtime, "rotary_fwd_kv_kernel");
  }
  eager::finish_node(node, result.key,
                     [of_latent = latent.sizes(), of_positions = positions.sizes()](
                         eager::Node& own, TensorList& grads) {
                       const DType dtype = grads[0].dtype();
                       Tensor first = eager::empty(*own.runtime, of_latent, dtype);
                       Tensor second = eager::empty(*own.runtime, of_positions, dtype);
                       tune(*own.runtime, "rotary_bwd_kv_kernel");
                       eager::end_of_frame(grads[1], grads[0]);
                       return TensorList{std::move(first), std::move(second)};
                     });
  if (node) {
    node->save(tables.cos);
    node->save(tables.sin);
    node->add_output(result.value);
  }
  return result;
}

}  // namespace

LatentSelfAttention::LatentSelfAttention(nn::Module* parent, const LayerContext& shared)
    : AttentionPart(parent, "self_attention"),
      shared_(shared),
      sizes_(*shared.config.latent),
      heads_(shared.config.heads / shared.tp.size()) {
  const Config& config = shared.config;
  {
    // Attention.__init__ makes a projection of hidden / heads columns a head, which is replaced.
    const Tensor replaced =
        eager::empty(runtime(), {config.hidden, config.hidden / shared.tp.size()}, context().dtype);
    keep_product_workspace(runtime());
    tables_ = std::make_unique<YarnTables>(this, sizes_.rotary_dim);
    linear_proj_ = make_last_linear(this, "linear_proj", shared, config.heads * sizes_.value_dim);
  }
  const std::int64_t query = config.heads * (sizes_.plain_dim + sizes_.rotary_dim);
  if (sizes_.query_rank == 0) {
    linear_q_ =
        make_column_linear(this, "linear_q_proj", shared, {.in = config.hidden, .out = query});
  } else {
    linear_q_down_ = make_down("linear_q_down_proj", sizes_.query_rank);
    linear_q_up_ = make_up("linear_q_up_proj", {.in = sizes_.query_rank, .out = query});
  }
  linear_kv_down_ = make_down("linear_kv_down_proj", sizes_.rank + sizes_.rotary_dim);
  linear_kv_up_ =
      make_up("linear_kv_up_proj",
              {.in = sizes_.rank, .out = config.heads * (sizes_.plain_dim + sizes_.value_dim)});
  register_in_order({linear_proj_.get(), tables_.get(), linear_q_.get(), linear_q_down_.get(),
                     linear_q_up_.get(), linear_kv_down_.get(), linear_kv_up_.get()});
}

// TELinear, of which every rank has the whole ("duplicated").
std::unique_ptr<SplitLinear> LatentSelfAttention::make_down(const char* name, std::int64_t out) {
  return std::make_unique<EngineLinear>(this, name, shared_.tp,
                                        LinearSize{.in = shared_.config.hidden, .out = out},
                                        EngineSplit::none);
}

std::unique_ptr<SplitLinear> LatentSelfAttention::make_up(const char* name, LinearSize size) {
  return std::make_unique<NormedLinear>(this, name, shared_, size, SplitBias::none);
}

WithBias LatentSelfAttention::operator()(Tensor hidden_states,
                                         const Tensor& /*frequencies*/) const {
  const nn::InModule scope(*this);
  Tensor latent;  // returned as well
  CheckpointWithoutOutput checkpoint(context(), RecomputeModule::latent_projections);
  QueryKeyValue states = projected(hidden_states, latent, checkpoint);
  states.query = eager::contiguous(states.query);
  states.key = eager::contiguous(states.key);
  states.value = eager::contiguous(states.value);
  Tensor mixed = attend(states);
  checkpoint.discard(mixed);
  WithBias result = (*linear_proj_)(mixed);
  eager::end_of_frame(states.query, states.key, states.value, latent, mixed);
  return result;
}

// get_query_key_value_tensors.
QueryKeyValue LatentSelfAttention::projected(const Tensor& hidden_states, Tensor& latent,
                                             CheckpointWithoutOutput& checkpoint) const {
  const std::int64_t parts_of_sequence = shared_.tp.splits_sequence() ? shared_.tp.size() : 1;
  const YarnTables::CosSin tables =
      tables_->tables(hidden_states.size(0) * parts_of_sequence, hidden_states.dtype());
  Tensor query = linear_q_down_ ? (*linear_q_down_)(hidden_states).output : hidden_states;
  Tensor combined = (*linear_kv_down_)(hidden_states).output;
  TensorList parts = eager::split_with_sizes(combined, {sizes_.rank, sizes_.rotary_dim}, -1);
  Tensor positions = parts_of_sequence > 1 ? gather_from_sequence(shared_.tp, parts[1]) : parts[1];
  const auto segment = [this, tables](const std::vector<Tensor>& in) {
    const QueryKeyValue up =
        up_projected({.query = in[0], .latent = in[1], .positions = in[2]}, tables);
    return TensorList{up.query, up.key, up.value};
  };
  const TensorList up = checkpoint(segment, {query, parts[0], positions});
  QueryKeyValue states{up[0], up[1], up[2]};
  latent = parts[0];
  eager::end_of_frame(query, combined, positions);
  eager::release_list(parts);
  return states;
}

// qkv_up_proj_and_rope_apply.
QueryKeyValue LatentSelfAttention::up_projected(const Compressed& in,
                                                const YarnTables::CosSin& tables) const {
  const auto by_head = [&](const Tensor& columns) {
    return eager::view(columns, {columns.size(0), columns.size(1), heads_, -1});
  };
  Tensor query = by_head((linear_q_up_ ? *linear_q_up_ : *linear_q_)(in.query).output);
  Tensor key_value = by_head((*linear_kv_up_)(in.latent).output);
  Tensor positions = eager::unsqueeze(in.positions, -2);
  QueryKeyValue states;
  states.query = rotate_query(query, tables);
  KeyValue rotated = rotate_key(key_value, positions, sizes_, tables);
  states.key = std::move(rotated.key);
  states.value = std::move(rotated.value);
  eager::end_of_frame(query, key_value, positions);
  return states;
}

Tensor LatentSelfAttention::attend(const QueryKeyValue& states) const {
  const double dropout =
      context().training ? context().dropout(shared_.config.attention_dropout) : 0.0;
  const auto core = [dropout](const std::vector<Tensor>& in) {
    return TensorList{fused_attention(in[0], in[1], in[2], dropout)};
  };
  return checkpointed(context(), RecomputeModule::core_attention, core,
                      {states.query, states.key, states.value})[0];
}

}  // namespace highwater::megatron
