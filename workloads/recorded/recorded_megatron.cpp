#include "workloads/recorded/recorded_megatron.hpp"

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

#include "workloads/recorded/recorded_words.hpp"

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

Parallelism megatron_parallelism(const Field& fields) {
  Parallelism parallel;
  parallel.dp = fields.at("dp").small_count();
  parallel.tp = fields.at("tp").small_count();
  parallel.sequence_parallel = fields.at("sp").boolean();
  parallel.dp_kind = fields.at("dist_opt").boolean() ? DataParallel::zero1 : DataParallel::ddp;
  parallel.megatron.overlap_grad_reduce = fields.at("overlap").boolean();
  parallel.megatron.overlap_param_gather = fields.at("param_overlap").boolean();
  parallel.megatron.fp32_grads = fields.at("fp32_grads").boolean();
  parallel.megatron.wgrad_fusion = fields.at("wgrad_fusion").boolean();
  if (const Field size = fields.at("bucket_size"); !size.is_null()) {
    parallel.megatron.bucket_size = size.integer();
  }
  if (fields.find("experts")) {
    parallel.ep = fields.at("ep").small_count();
    if (const Field capacity = fields.at("capacity"); !capacity.is_null()) {
      parallel.megatron.moe_capacity_factor = capacity.real();
    }
  }
  return parallel;
}

constexpr std::array<std::pair<std::string_view, CheckpointKind>, 3> kRecomputes{{
    {"none", CheckpointKind::none},
    {"selective", CheckpointKind::selective_attention},
    {"full", CheckpointKind::full},
}};

constexpr std::array<std::pair<std::string_view, Attention>, 2> kCores{{
    {"unfused", Attention::eager},
    {"flash", Attention::sdpa_flash},
}};

}  // namespace

TrainingPlan read_megatron_plan(const Field& root, const RecordedCase& recorded) {
  const Field fields = root.at("case");
  TrainingPlan plan;
  plan.model = megatron_model(fields);
  plan.model_code = ModelCode::megatron;
  plan.framework = Framework::megatron;
  plan.batch = fields.at("batch").integer();
  plan.seq = {fields.at("seq").integer()};
  plan.steps = fields.at("steps").small_count();
  plan.grad_accum = fields.at("grad_accum").small_count();
  plan.precision = word(fields.at("precision"), kPrecisions);
  plan.attention = word(fields.at("attention"), kCores);
  plan.checkpoint.kind = word(fields.at("recompute"), kRecomputes);
  plan.optimizer.kind = OptimizerKind::adamw;
  if (const double clip = fields.at("grad_clip").real(); clip > 0) {
    plan.grad_clip = clip;
  }
  plan.zero_grad_at = ZeroGradAt::start;
  plan.dropout = fields.at("dropout").real();
  plan.parallel = megatron_parallelism(fields);
  plan.gpu = default_gpu();
  plan.gpu.total_memory = recorded.gpu.total_memory;
  plan.versions.torch = recorded.torch;
  return plan;
}

}  // namespace highwater::recorded
