#include "workloads/plan/model/megatron_config.hpp"

namespace highwater::megatron {

std::optional<Config> config_of(const ModelConfig& model) {
  const Family& family = model.family();
  return family.to_megatron != nullptr ? family.to_megatron(model.value()) : std::nullopt;
}

}  // namespace highwater::megatron
