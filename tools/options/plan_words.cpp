#include "tools/options/plan_words.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include <boost/json.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/options/ddp_options.hpp"
#include "tools/options/zero_words.hpp"
#include "tools/text/parse_text.hpp"
#include "tools/text/safe_text.hpp"

namespace highwater {
namespace {

boost::json::value json_of(const std::string& option, const std::string& text) {
  if (option == "torch" || option == "transformers") {
    return boost::json::value(text);
  }
  if (const auto number = parse_number<std::int64_t>(text)) {
    return *number;
  }
  if (const auto number = parse_number<double>(text); number && std::isfinite(*number)) {
    return *number;
  }
  if (text == "true" || text == "false") {
    return text == "true";
  }
  return text == "none" && (option == "grad-clip" || option == "dropout")
             ? boost::json::value(nullptr)
             : boost::json::value(text);
}

std::string loss_word(const Loss& loss) {
  return loss.kind == LossKind::chunked ? fmt::format("chunked-{}", loss.chunks)
                                        : std::string(word_of(kLosses, loss.kind));
}

std::string number_or_none(const std::optional<double>& number) {
  return number ? fmt::format("{}", *number) : "none";
}

void add_zero_words(const Zero& zero, std::vector<std::pair<std::string, std::string>>& words) {
  const auto yes_no = [](bool yes) { return yes ? "true" : "false"; };
  words.emplace_back("overlap-comm", zero.overlap_comm ? yes_no(*zero.overlap_comm) : "default");
  for (const auto& [option, member, help] : kZeroNumbers) {
    words.emplace_back(option, std::to_string(zero.*member));
  }
  for (const auto& [option, member, help] : kZeroFlags) {
    words.emplace_back(option, yes_no(zero.*member));
  }
}

}  // namespace

std::string checkpoint_word(const Checkpoint& checkpoint) {
  return checkpoint.kind == CheckpointKind::every_n
             ? fmt::format("every-{}", checkpoint.n)
             : std::string(word_of(kCheckpoints, checkpoint.kind));
}

std::vector<std::pair<std::string, std::string>> plan_words(const TrainingPlan& plan) {
  const auto yes_no = [](bool yes) { return std::string(yes ? "true" : "false"); };
  const auto word = [](const auto& words, auto value) {
    return std::string(word_of(words, value));
  };
  std::vector<std::pair<std::string, std::string>> words{
      {"model", std::string(plan.model.name)},
      {"framework", word(kFrameworks, plan.framework)},
      {"model-code", word(kModelCodes, plan.model_code)},
      {"batch", std::to_string(plan.batch)},
      {"seq", fmt::format("{}", fmt::join(plan.seq, ","))},
      {"precision", word(kPrecisions, plan.precision)},
      {"attention", word(kAttentions, plan.attention)},
      {"checkpoint", checkpoint_word(plan.checkpoint)},
      {"checkpoint-impl", word(kCheckpointImpls, plan.checkpoint.reentrant)},
      {"dropout", number_or_none(plan.dropout)},
      {"loss", loss_word(plan.loss)},
      {"keep-logits", yes_no(plan.keep_logits)},
      {"use-cache", yes_no(plan.use_cache)},
      {"attention-mask", yes_no(plan.attention_mask)},
      {"data", word(kDataSources, plan.data)},
      {"init", word(kInits, plan.init)},
      {"experts", word(kExperts, plan.experts)},
      {"mode", word(kModes, plan.training)},
      {"optimizer", word(kOptimizers, plan.optimizer.kind)},
      {"optimizer-impl", word(kOptimizerImpls, plan.optimizer.impl)},
      {"param-groups", std::to_string(plan.optimizer.param_groups)},
      {"master-weights", yes_no(plan.optimizer.master_weights)},
      {"optimizer-in-backward", yes_no(plan.optimizer.in_backward)},
      {"grad-clip", number_or_none(plan.grad_clip)},
      {"grad-accum", std::to_string(plan.grad_accum)},
      {"steps", std::to_string(plan.steps)},
      {"set-to-none", yes_no(plan.set_to_none)},
      {"zero-grad-at", word(kZeroGradAt, plan.zero_grad_at)},
      {"empty-cache-every-step", yes_no(plan.empty_cache_every_step)},
      {"lora", std::to_string(plan.lora.rank)},
      {"lora-dropout", fmt::format("{}", plan.lora.dropout)},
      {"dp", std::to_string(plan.parallel.dp)},
      {"dp-kind", word(kDataParallels, plan.parallel.dp_kind)},
      {"tp", std::to_string(plan.parallel.tp)},
      {"tp-kind", word(kTensorParallels, plan.parallel.tp_kind)},
      {"sp", yes_no(plan.parallel.sequence_parallel)},
      {"loss-parallel", yes_no(plan.parallel.loss_parallel)},
      {"pp", std::to_string(plan.parallel.pp)},
      {"pp-schedule", word(kSchedules, plan.parallel.schedule)},
      {"pp-chunks", std::to_string(plan.parallel.chunks)},
      {"cp", std::to_string(plan.parallel.cp)},
      {"ep", std::to_string(plan.parallel.ep)},
      {"offload", word(kOffloads, plan.parallel.offload)},
      {"bucket-cap-mb", plan.parallel.ddp.bucket_cap_mb
                            ? fmt::format("{}", *plan.parallel.ddp.bucket_cap_mb)
                            : "default"},
      {"gemini-min-chunk", std::to_string(plan.parallel.gemini.search.smallest)},
      {"gemini-search-range", std::to_string(plan.parallel.gemini.search.range)},
      {"gemini-search-step", std::to_string(plan.parallel.gemini.search.step)},
      {"gemini-gather-lone", yes_no(plan.parallel.gemini.keep_lone_chunks_gathered)},
      {"gemini-empty-cache", yes_no(plan.parallel.gemini.empties_cache)},
      {"bucket-view", yes_no(plan.parallel.ddp.bucket_view)},
      {"static-graph", yes_no(plan.parallel.ddp.static_graph)},
      {"param-dtype", word(kMixedDTypes, plan.parallel.fsdp.param_dtype)},
      {"reduce-dtype", word(kMixedDTypes, plan.parallel.fsdp.reduce_dtype)},
      {"reshard", word(kReshards, plan.parallel.fsdp.reshard)},
      {"dp-replicate", std::to_string(plan.parallel.fsdp.replicas)},
      {"overlap-grad-reduce", yes_no(plan.parallel.megatron.overlap_grad_reduce)},
      {"overlap-param-gather", yes_no(plan.parallel.megatron.overlap_param_gather)},
      {"fp32-grads", yes_no(plan.parallel.megatron.fp32_grads)},
      {"wgrad-fusion", yes_no(plan.parallel.megatron.wgrad_fusion)},
      {"ddp-bucket-size", plan.parallel.megatron.bucket_size
                              ? std::to_string(*plan.parallel.megatron.bucket_size)
                              : std::string("default")},
      {"vocab-divisor", std::to_string(plan.parallel.megatron.vocab_divisor)},
      {"cp-kind", word(kContextParallels, plan.parallel.megatron.cp_kind)},
      {"moe-capacity-factor", number_or_none(plan.parallel.megatron.moe_capacity_factor)},
      {"moe-imbalance", fmt::format("{}", plan.parallel.megatron.moe_imbalance)},
      {"apex-bucket-mb", fmt::format("{}", plan.parallel.apex.bucket_cap_mb)},
      {"apex-remainders", yes_no(plan.parallel.apex.store_remainders)},
      {"apex-contiguous-grads", yes_no(plan.parallel.apex.contiguous_grads)},
      {"strategy", word(kShardingStrategies, plan.parallel.fsdp.strategy)},
      {"use-orig-params", yes_no(plan.parallel.fsdp.use_orig_params)},
      {"limit-all-gathers", yes_no(plan.parallel.fsdp.limit_all_gathers)},
      {"forward-prefetch", yes_no(plan.parallel.fsdp.forward_prefetch)},
      {"no-sync", yes_no(plan.parallel.no_sync)},
      {"backend", word(kCommBackends, plan.parallel.backend)},
      {"event-lag", std::to_string(plan.parallel.event_lag)},
      {"event-queries", std::to_string(plan.parallel.event_queries)},
      {"gpu", std::string(plan.gpu.name)},
      {"torch", plan.versions.torch},
      {"transformers", plan.versions.transformers}};
  add_zero_words(plan.parallel.zero, words);
  std::ranges::move(ddp_words(plan.parallel.ddp), std::back_inserter(words));
  if (!plan.lora.targets.empty()) {
    words.emplace_back("lora-targets", fmt::format("{}", fmt::join(plan.lora.targets, ",")));
  }
  return words;
}

boost::json::object plan_json(const TrainingPlan& plan) {
  boost::json::object object;
  for (const auto& [option, text] : plan_words(plan)) {
    std::string key = option;
    std::ranges::replace(key, '-', '_');
    object[key] = json_of(option, text);
  }
  object["seq"] = boost::json::array(plan.seq.begin(), plan.seq.end());
  return object;
}

std::string plan_summary(const TrainingPlan& plan) {
  // Always told, whatever their value: they decide most of the bytes.
  constexpr std::array<std::string_view, 7> kAlways{
      "model-code", "batch", "seq", "precision", "attention", "optimizer", "checkpoint"};
  TrainingPlan plain;
  plain.model = plan.model;
  plain.gpu = plan.gpu;
  const auto defaults = plan_words(plain);
  std::string summary = printable(plan.model.name);
  for (const auto& [option, text] : plan_words(plan)) {
    const bool always = std::ranges::find(kAlways, option) != kAlways.end();
    const bool is_default = std::ranges::find(defaults, std::pair(option, text)) != defaults.end();
    if (always || !is_default) {
      summary += fmt::format(", {} {}", option, text);
    }
  }
  return summary;
}

}  // namespace highwater
