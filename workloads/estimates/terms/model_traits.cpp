#include "workloads/estimates/terms/model_traits.hpp"

#include "workloads/plan/model/overloaded.hpp"

namespace highwater {
namespace {

/// The model's config with the plan's dropout.
ModelConfig config_of(const TrainingPlan& plan) {
  ModelConfig config = plan.model.config;
  if (plan.dropout) {
    set_dropout(config, *plan.dropout);
  }
  return config;
}

}  // namespace

bool has_gated_mlp(const ModelConfig& config) {
  return std::visit(
      Overloaded{[](const LlamaConfig&) { return true; }, [](const MixtralConfig&) { return true; },
                 [](const DeepseekV3Config&) { return true; },
                 [](const GptNextConfig&) { return true; }, [](const PlainConfig&) { return true; },
                 [](const T5Config& c) { return c.is_gated_act; },
                 [](const auto&) { return false; }},
      config);
}

bool has_rms_norm(const ModelConfig& config) {
  return std::visit(
      Overloaded{[](const LlamaConfig&) { return true; }, [](const MixtralConfig&) { return true; },
                 [](const DeepseekV3Config&) { return true; },
                 [](const PlainConfig&) { return true; }, [](const T5Config&) { return true; },
                 [](const auto&) { return false; }},
      config);
}

double residual_dropout(const TrainingPlan& plan) {
  const ModelConfig config = config_of(plan);
  return std::visit(Overloaded{[](const Gpt2Config& c) { return c.resid_pdrop; },
                               [](const OptConfig& c) { return c.dropout; },
                               [](const BloomConfig& c) { return c.hidden_dropout; },
                               [](const GptNeoConfig& c) { return c.resid_dropout; },
                               [](const CodegenConfig& c) { return c.resid_pdrop; },
                               [](const GptJConfig& c) { return c.resid_pdrop; },
                               [](const BioGptConfig& c) { return c.hidden_dropout_prob; },
                               [](const GptBigCodeConfig& c) { return c.resid_pdrop; },
                               [](const T5Config& c) { return c.dropout_rate; },
                               [](const GptNextConfig& c) { return c.hidden_dropout; },
                               [](const auto&) { return 0.0; }},
                    config);
}

double attention_dropout(const TrainingPlan& plan) {
  const ModelConfig config = config_of(plan);
  return std::visit(Overloaded{[](const Gpt2Config& c) { return c.attn_pdrop; },
                               [](const CodegenConfig& c) { return c.attn_pdrop; },
                               [](const GptJConfig& c) { return c.attn_pdrop; },
                               [](const BioGptConfig& c) { return c.attention_probs_dropout_prob; },
                               [](const GptBigCodeConfig& c) { return c.attn_pdrop; },
                               [](const T5Config& c) { return c.dropout_rate; },
                               [](const PlainConfig&) { return 0.0; },
                               [](const auto& c) { return c.attention_dropout; }},
                    config);
}

std::int64_t embedding_width(const ModelConfig& config) {
  const auto* const opt = std::get_if<OptConfig>(&config);
  return opt != nullptr ? word_embed_dim_of(*opt) : shape_of(config).hidden;
}

}  // namespace highwater
