#include "workloads/recorded/recorded_megatron.hpp"

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

#include "workloads/plan/model/families/gpt2.hpp"
#include "workloads/plan/model/families/llama.hpp"
#include "workloads/plan/model/families/mixtral.hpp"
#include "workloads/plan/training_plan.hpp"
#include "workloads/recorded/recorded_options.hpp"

namespace highwater::recorded {
namespace {

/// The model of a recording of Megatron-Core: sizes and one of two styles.
ModelSpec megatron_model(const Field& fields) {
  const auto size = [&](const char* key) { return fields.at(key).integer(); };
  const auto or_else = [&](const char* key, std::int64_t absent) {
    const Field field = fields.at(key);
    return field.is_null() ? absent : field.integer();
  };
  const std::int64_t ffn = or_else("ffn", 4 * size("hidden"));
  const double dropout = fields.at("dropout").real();
  if (fields.at("style").text() == "gpt") {
    return {"megatron-gpt", "a recording",
            Gpt2Config{.vocab_size = size("vocab"),
                       .n_positions = size("seq"),
                       .n_embd = size("hidden"),
                       .n_layer = size("layers"),
                       .n_head = size("heads"),
                       .n_inner = ffn,
                       .resid_pdrop = dropout,
                       .embd_pdrop = dropout,
                       .attn_pdrop = dropout,
                       .tie_word_embeddings = fields.at("tied").boolean()}};
  }
  if (const auto experts = fields.find("experts"); experts && experts->integer() > 0) {
    return {"megatron-mixtral", "a recording",
            MixtralConfig{.vocab_size = size("vocab"),
                          .hidden_size = size("hidden"),
                          .intermediate_size = ffn,
                          .num_hidden_layers = size("layers"),
                          .num_attention_heads = size("heads"),
                          .num_key_value_heads = or_else("kv_heads", size("heads")),
                          .tie_word_embeddings = fields.at("tied").boolean(),
                          .attention_dropout = dropout,
                          .num_experts_per_tok = size("topk"),
                          .num_local_experts = experts->integer()}};
  }
  return {"megatron-llama", "a recording",
          LlamaConfig{.vocab_size = size("vocab"),
                      .hidden_size = size("hidden"),
                      .intermediate_size = ffn,
                      .num_hidden_layers = size("layers"),
                      .num_attention_heads = size("heads"),
                      .num_key_value_heads = or_else("kv_heads", size("heads")),
                      .tie_word_embeddings = fields.at("tied").boolean(),
                      .attention_dropout = dropout}};
}

// The recorder calls its attention cores by Megatron's names.
std::string core_word(const Field& field) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kCores{
      {{"unfused", "eager"}, {"flash", "sdpa-flash"}}};
  return std::string(word(field, kCores));
}

std::string optimizer_word(const Field& field) {
  return field.boolean() ? "zero1" : "ddp";
}

/// Fields of every case.
constexpr std::array kMegatronFields{FieldOption{"batch", "batch"},
                                     FieldOption{"seq", "seq"},
                                     FieldOption{"steps", "steps"},
                                     FieldOption{"grad_accum", "grad-accum"},
                                     FieldOption{"precision", "precision"},
                                     FieldOption{"attention", "attention", core_word},
                                     FieldOption{"recompute", "checkpoint"},
                                     FieldOption{"dropout", "dropout"},
                                     FieldOption{"dp", "dp"},
                                     FieldOption{"tp", "tp"},
                                     FieldOption{"sp", "sp"},
                                     FieldOption{"dist_opt", "dp-kind", optimizer_word},
                                     FieldOption{"overlap", "overlap-grad-reduce"},
                                     FieldOption{"param_overlap", "overlap-param-gather"},
                                     FieldOption{"fp32_grads", "fp32-grads"},
                                     FieldOption{"wgrad_fusion", "wgrad-fusion"}};

/// Fields that may be null or absent.
constexpr std::array kOptionalFields{FieldOption{"bucket_size", "ddp-bucket-size"},
                                     FieldOption{"ep", "ep"},
                                     FieldOption{"capacity", "moe-capacity-factor"}};

}  // namespace

TrainingPlan read_megatron_plan(const Field& root, const RecordedCase& recorded) {
  const Field fields = root.at("case");
  TrainingPlan plan;
  plan.model = megatron_model(fields);
  plan.model_code = ModelCode::megatron;
  plan.framework = Framework::megatron;
  for (const FieldOption& row : kMegatronFields) {
    static_cast<void>(fields.at(row.field));  // all of them are there
  }
  set_options(plan, kMegatronFields, fields);
  set_options(plan, kOptionalFields, fields);
  plan.optimizer.kind = OptimizerKind::adamw;
  if (const double clip = fields.at("grad_clip").real(); clip > 0) {
    plan.grad_clip = clip;
  }
  plan.zero_grad_at = ZeroGradAt::start;
  plan.gpu = default_gpu();
  plan.gpu.total_memory = recorded.gpu.total_memory;
  plan.versions.torch = recorded.torch;
  return plan;
}

}  // namespace highwater::recorded
