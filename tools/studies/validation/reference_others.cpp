// The reference cases of the sources with a few each.
#include <array>
#include <utility>

#include <fmt/format.h>

#include "tools/studies/validation/reference_recompute.hpp"
#include "traces/error.hpp"
#include "workloads/estimates/forms/accelerate.hpp"
#include "workloads/estimates/forms/four_n.hpp"
#include "workloads/estimates/forms/korthikanti.hpp"
#include "workloads/estimates/forms/megatron.hpp"
#include "workloads/estimates/forms/zero_paper.hpp"

namespace highwater {
namespace {

namespace json = boost::json;

json::object four_n_example(const json::object& c) {
  constexpr double kWeightBytes = 4;
  const double parameters = input_number(c, "weights_GB") * kGiga / kWeightBytes;
  return {{"total", four_n(parameters).bytes() / kGiga}};
}

json::object four_n_per_parameter(const json::object& /*c*/) {
  const Estimate one = four_n(1);
  return {{"weights", one.terms[0].bytes},
          {"gradients", one.terms[1].bytes},
          {"optimizer", one.terms[2].bytes},
          {"total", one.bytes()}};
}

json::object bloom(const json::object& c) {
  const Estimate states = zero_paper(input_number(c, "params"), 1, ZeroStage::replicated);
  return {{"total", states.bytes() / kTera}};
}

json::object zero_reduction(const json::object& c) {
  const double ranks = input_number(c, "dp");
  return {{"reduction", zero_paper(1, ranks, ZeroStage::replicated).bytes() /
                            zero_paper(1, ranks, ZeroStage::three).bytes()}};
}

// IEEE 754-2008, table 3.5: binary16 and binary32.
json::object fp16_layout(const json::object& /*c*/) {
  return {{"sign", 1}, {"exponent", 5}, {"significand", 10}};
}

json::object fp32_layout(const json::object& /*c*/) {
  return {{"sign", 1}, {"exponent", 8}, {"significand", 23}};
}

ZeroStage stage_of(std::string_view id) {
  return id.ends_with("stage1")   ? ZeroStage::one
         : id.ends_with("stage2") ? ZeroStage::two
         : id.ends_with("stage3") ? ZeroStage::three
                                  : ZeroStage::replicated;
}

json::object zero_states(const json::object& c) {
  const Estimate states = zero_paper(input_number(c, "params"), input_number(c, "dp"),
                                     stage_of(reference_id(c)), input_number(c, "K"));
  return {{"model_states", states.bytes() / kGiga}};
}

KorthikantiRun korthikanti_run(const json::object& c, double batch) {
  return {.seq = input_number(c, "seq"),
          .batch = batch,
          .hidden = input_number(c, "hidden"),
          .heads = input_number(c, "heads")};
}

/// 5 a s / h, and what selective recomputation saves of a layer.
json::object korthikanti_saving(const json::object& c) {
  const KorthikantiRun run = korthikanti_run(c, 1);
  const Estimate all = korthikanti_layer(run, KorthikantiRecompute::none);
  const Estimate kept = korthikanti_layer(run, KorthikantiRecompute::selective);
  return {{"quadratic_coefficient", (all.bytes() - kept.bytes()) / (run.seq * run.hidden)},
          {"saved_pct", 100 * (1 - kept.bytes() / all.bytes())}};
}

json::object korthikanti_bytes(const json::object& c) {
  using Kind = KorthikantiRecompute;
  const auto bytes = [&](double tp, bool sequence_parallel, Kind kind) {
    KorthikantiRun run = korthikanti_run(c, input_number(c, "batch"));
    run.tp = tp;
    run.sequence_parallel = sequence_parallel;
    return korthikanti_layer(run, kind).bytes();
  };
  return {{"none", bytes(1, false, Kind::none)},
          {"tp8", bytes(8, false, Kind::none)},
          {"tp8_sp", bytes(8, true, Kind::none)},
          {"tp8_sel", bytes(8, false, Kind::selective)},
          {"tp8_sp_sel", bytes(8, true, Kind::selective)},
          {"full", bytes(1, false, Kind::full)}};
}

AccelerateDtype dtype_of(std::string_view word) {
  constexpr std::array<std::pair<std::string_view, AccelerateDtype>, 5> kWords{{
      {"float32", AccelerateDtype::float32},
      {"float16", AccelerateDtype::float16},
      {"bfloat16", AccelerateDtype::bfloat16},
      {"int8", AccelerateDtype::int8},
      {"int4", AccelerateDtype::int4},
  }};
  for (const auto& [name, dtype] : kWords) {
    if (name == word) {
      return dtype;
    }
  }
  throw InputError("", "inputs.dtype", fmt::format("'{}' is not a dtype of Accelerate", word), "");
}

/// The user guide's table, in MiB and GiB as it has them.
json::object accelerate_guide(const json::object& c) {
  const double s = input_number(c, "fp32_bytes");
  const auto load = [s](AccelerateDtype dtype) { return accelerate_inference(s, dtype); };
  const auto train = [s](AccelerateDtype dtype) { return accelerate_training_old(s, dtype); };
  return {{"fp32_total", load(AccelerateDtype::float32) / kMebi},
          {"fp32_train", train(AccelerateDtype::float32) / kGibi},
          {"fp16_total", load(AccelerateDtype::float16) / kMebi},
          {"fp16_train", train(AccelerateDtype::float16) / kMebi}};
}

json::object accelerate_phases(const json::object& c) {
  const auto phases =
      accelerate_training(input_number(c, "fp32_bytes"), dtype_of(input_text(c, "dtype")));
  if (!phases) {
    return {};
  }
  return {{"model", phases->model},
          {"gradients", phases->gradients},
          {"optimizer", phases->optimizer},
          {"step", phases->step}};
}

json::object megatron(const json::object& c) {
  const MegatronModel model{.hidden = input_number(c, "hidden"),
                            .layers = input_number(c, "layers"),
                            .ffn = input_number(c, "ffn"),
                            .padded_vocab = input_number(c, "padded_vocab")};
  const MegatronJob job{.seq = input_number(c, "seq"),
                        .batch = input_number(c, "micro_batch"),
                        .tp = input_number(c, "tp"),
                        .pp = input_number(c, "pp"),
                        .dp = input_number(c, "dp"),
                        .microbatches = input_number(c, "num_microbatches"),
                        .distributed_optimizer = input_flag(c, "distributed_optimizer")};
  return {{"transformer_block_params", megatron_block_parameters(model)},
          {"total_params", megatron_parameters(model)},
          {"most_loaded_shard_params", megatron_shard_parameters(model, job)},
          {"weight_and_optimizer_bytes", megatron_states(model, job).bytes()},
          {"activation_bytes", megatron_activations(model, job).bytes()}};
}

constexpr std::array<RecomputeAloneEntry, 12> kOtherEntries{{
    {"4N.llama-7b", four_n_example},
    {"4N.bytes_per_param", four_n_per_parameter},
    {"limited.bloom-176b", bloom},
    {"limited.zero.", zero_reduction},
    {"limited.fp16_layout", fp16_layout},
    {"limited.fp32_layout", fp32_layout},
    {"zero.", zero_states},
    {"korthikanti.bytes.", korthikanti_bytes},
    {"korthikanti.", korthikanti_saving},
    {"accelerate.docs.", accelerate_guide},
    {"accelerate.", accelerate_phases},
    {"megatron.", megatron},
}};

}  // namespace

json::object recompute_others(const json::object& reference_case,
                              const json::array& /*all_cases*/) {
  return recompute_by_id(kOtherEntries, reference_case);
}

}  // namespace highwater
