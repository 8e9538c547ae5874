#include "workloads/megatron/layers/engine.hpp"

#include <utility>

#include "workloads/megatron/layers/engine_linear.hpp"
#include "workloads/megatron/layers/fp8_linear.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater::megatron {

bool uses_engine(const nn::ModelContext& context) {
  return context.plan.parallel.megatron.layers == MegatronLayers::transformer_engine;
}

namespace {

bool uses_fp8(const nn::ModelContext& context) {
  return uses_engine(context) && context.plan.parallel.megatron.fp8 != Fp8Recipe::none;
}

}  // namespace

std::unique_ptr<SplitLinear> make_first_linear(nn::Module* parent, std::string name,
                                               const LayerContext& shared, LinearSize size,
                                               SplitBias bias) {
  if (uses_fp8(parent->context())) {
    return std::make_unique<Fp8NormedLinear>(parent, std::move(name), shared.tp, shared.config,
                                             size.out, bias);
  }
  if (uses_engine(parent->context())) {
    return std::make_unique<NormedLinear>(parent, std::move(name), shared, size, bias);
  }
  return std::make_unique<ColumnParallelLinear>(parent, std::move(name), shared.tp, size.in,
                                                size.out, bias);
}

std::unique_ptr<SplitLinear> make_column_linear(nn::Module* parent, std::string name,
                                                const LayerContext& shared, LinearSize size) {
  if (uses_engine(parent->context())) {
    return std::make_unique<EngineLinear>(parent, std::move(name), shared.tp, size,
                                          EngineSplit::columns);
  }
  return std::make_unique<ColumnParallelLinear>(parent, std::move(name), shared.tp, size.in,
                                                size.out, SplitBias::none);
}

std::unique_ptr<SplitLinear> make_last_linear(nn::Module* parent, std::string name,
                                              const LayerContext& shared, std::int64_t in) {
  if (uses_fp8(parent->context())) {
    return std::make_unique<Fp8RowLinear>(parent, std::move(name), shared.tp, shared.config, in);
  }
  const nn::Bias bias = nn::bias_if(shared.config.linear_bias);
  if (uses_engine(parent->context())) {
    return std::make_unique<EngineLinear>(parent, std::move(name), shared.tp,
                                          LinearSize{.in = in, .out = shared.config.hidden},
                                          EngineSplit::rows, bias);
  }
  return std::make_unique<RowParallelLinear>(parent, std::move(name), shared.tp, in,
                                             shared.config.hidden, bias);
}

}  // namespace highwater::megatron
