// The reference cases of DeepSpeed's documentation.
#include <array>
#include <cmath>

#include "tools/studies/validation/reference_recompute.hpp"
#include "traces/error.hpp"
#include "workloads/estimates/forms/deepspeed_activations.hpp"
#include "workloads/estimates/forms/deepspeed_host.hpp"
#include "workloads/estimates/forms/deepspeed_zero2.hpp"
#include "workloads/estimates/forms/deepspeed_zero3.hpp"

namespace highwater {
namespace {

namespace json = boost::json;

DeepspeedJob job_of(const json::object& c) {
  return {.gpus_per_node = input_count(c, "gpus_per_node"),
          .nodes = input_count(c, "nodes"),
          .buffer_factor = input_number(c, "buffer_factor")};
}

DeepspeedZero2Rule rule_of(std::string_view word) {
  if (word == "docs") {
    return DeepspeedZero2Rule::docs;
  }
  if (word == "code") {
    return DeepspeedZero2Rule::code;
  }
  if (word == "code_current") {
    return DeepspeedZero2Rule::code_current;
  }
  throw InputError("", "inputs.rule", "expected docs, code or code_current", "");
}

bool is_on_host(const json::object& c, std::string_view what) {
  return input_text(c, what) == "cpu";
}

DeepspeedEstimate zero2_of(const json::object& c, DeepspeedZero2Rule rule) {
  return deepspeed_zero2(input_number(c, "total_params"), job_of(c), rule,
                         is_on_host(c, "offload_optimizer"));
}

DeepspeedEstimate zero3_of(const json::object& c) {
  const auto offload = is_on_host(c, "offload_param")       ? DeepspeedOffload::both
                       : is_on_host(c, "offload_optimizer") ? DeepspeedOffload::optimizer
                                                            : DeepspeedOffload::none;
  return deepspeed_zero3(input_number(c, "total_params"), input_number(c, "largest_layer_params"),
                         job_of(c), offload, input_flag(c, "zero_init"));
}

json::object in_gib(const DeepspeedEstimate& estimate) {
  return {{"cpu", estimate.host_bytes / kGibi}, {"gpu", estimate.gpu.bytes() / kGibi}};
}

json::object in_bytes(const DeepspeedEstimate& estimate) {
  return {{"cpu_bytes", estimate.host_bytes}, {"gpu_bytes", estimate.gpu.bytes()}};
}

json::object zero2_table(const json::object& c) {
  return in_gib(zero2_of(c, DeepspeedZero2Rule::docs));
}

json::object zero2_derived(const json::object& c) {
  return in_bytes(zero2_of(c, rule_of(input_text(c, "rule"))));
}

json::object zero3_table(const json::object& c) {
  return in_gib(zero3_of(c));
}

json::object zero3_derived(const json::object& c) {
  return in_bytes(zero3_of(c));
}

/// The documentation's worked example for t5-large, which shifts right by 20 bits.
json::object t5_large(const json::object& c) {
  const double p = input_number(c, "total_params");
  const double largest = input_number(c, "largest_layer_params");
  const DeepspeedJob job{.gpus_per_node = input_count(c, "total_gpus")};
  const auto mebibytes = [&](DeepspeedOffload offload) {
    return std::floor(deepspeed_zero3(p, largest, job, offload, true).gpu.bytes() / kMebi);
  };
  return {{"total_params_M", p / kMega},
          {"largest_layer_params_M", largest / kMega},
          {"largest_layer", mebibytes(DeepspeedOffload::both)},
          {"case1", mebibytes(DeepspeedOffload::none)},
          {"case2", mebibytes(DeepspeedOffload::both)},
          {"case3", mebibytes(DeepspeedOffload::optimizer)}};
}

json::object eleven_billion(const json::object& c) {
  const auto estimate =
      deepspeed_zero2(input_number(c, "total_params"), {}, DeepspeedZero2Rule::docs, true);
  return {{"gpu", estimate.gpu.bytes() / kGiga}};
}

json::object checkpoint(const json::object& c) {
  const double file_bytes = input_number(c, "file_size") * kGiga;
  return {{"params", deepspeed_checkpoint_parameters(file_bytes) / kGiga}};
}

/// 4, 16 and 18 bytes, by what one parameter costs a job of one GPU.
json::object multiplier(const json::object& c) {
  const DeepspeedJob job{.buffer_factor = 1};
  const auto zero2 = deepspeed_zero2(1, job, DeepspeedZero2Rule::docs, false);
  const auto zero3 = deepspeed_zero3(1, 0, job, DeepspeedOffload::none, false);
  const std::string_view parts = input_text(c, "parts");
  if (parts.starts_with("init copy")) {
    return {{"bytes_per_param", zero3.host_bytes}};
  }
  if (parts.starts_with("16 + 2")) {
    return {{"bytes_per_param", zero3.gpu.bytes()}};
  }
  return {{"bytes_per_param", zero2.gpu.terms.back().bytes}};
}

json::object pinned(const json::object& c) {
  const double p = input_number(c, "total_params");
  return {{"offload_param", deepspeed_pinned_host(p, true, false)},
          {"offload_param_with_accumulation", deepspeed_pinned_host(p, true, true)},
          {"no_offload_param", deepspeed_pinned_host(p, false, false)}};
}

json::object activations(const json::object& c) {
  const Estimate estimate =
      deepspeed_activations(input_number(c, "seq"), input_number(c, "batch"),
                            input_number(c, "hidden"), input_number(c, "heads"));
  return {{"bytes", estimate.bytes()}};
}

constexpr std::array<RecomputeAloneEntry, 10> kDeepspeedEntries{{
    {"deepspeed.zero2.derived.", zero2_derived},
    {"deepspeed.zero2.11B_offload", eleven_billion},
    {"deepspeed.zero2.", zero2_table},
    {"deepspeed.zero3.derived.", zero3_derived},
    {"deepspeed.zero3.", zero3_table},
    {"deepspeed.t5-large.", t5_large},
    {"deepspeed.t5-11b.checkpoint", checkpoint},
    {"deepspeed.multiplier.", multiplier},
    {"deepspeed.pinned.", pinned},
    {"deepspeed.activation.", activations},
}};

}  // namespace

json::object recompute_deepspeed(const json::object& reference_case,
                                 const json::array& /*all_cases*/) {
  return recompute_by_id(kDeepspeedEntries, reference_case);
}

}  // namespace highwater
