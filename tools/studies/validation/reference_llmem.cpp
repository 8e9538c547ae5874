#include "tools/studies/validation/reference_llmem.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/value.hpp>
#include <boost/json/value_to.hpp>
#include <fmt/format.h>

#include "tools/studies/validation/reference_recompute.hpp"
#include "traces/error.hpp"
#include "workloads/estimates/llmem/llmem_code.hpp"
#include "workloads/estimates/llmem/llmem_selection.hpp"
#include "workloads/estimates/terms/estimate_inputs.hpp"
#include "workloads/plan/catalog/presets.hpp"
#include "workloads/plan/llmem_chunks.hpp"

namespace highwater {
namespace {

namespace json = boost::json;

constexpr double kMiB = 1024.0 * 1024.0;

// The derived peaks are for the cluster of the paper's table 3: four GPUs, DP+TP as 2 x 2.
constexpr int kGpus = 4;
constexpr int kTensorParallel = 2;

/// A number of elements, at least 1.
std::int64_t input_elements(const json::object& question, std::string_view key) {
  constexpr double kMost = 1e15;
  const double number = input_number(question, key);
  if (!(number >= 1 && number <= kMost)) {
    throw InputError("", fmt::format("inputs.{}", key), "expected a number of elements", "");
  }
  return static_cast<std::int64_t>(number);
}

LlmemInventory inventory_of(const json::object& question) {
  const ModelSpec& spec = model_preset(input_text(question, "model"));
  return llmem_inventory(spec, model_parameters(spec));
}

LlmemBatch batch_of(const json::object& question) {
  return {.bs = static_cast<double>(input_count(question, "bs")),
          .sl = static_cast<double>(input_count(question, "seq"))};
}

json::object chunks(const json::object& question) {
  const std::vector<std::int64_t> sizes = llmem_local_sizes(inventory_of(question), 1);
  const ChunkSearch search{.smallest = input_elements(question, "min_chunk_elems"),
                           .range = input_elements(question, "range_elems"),
                           .step = input_elements(question, "interval")};
  const std::int64_t size = gemini_chunk_size(sizes, input_count(question, "dp"), search);
  const std::vector<std::int64_t> packed = gemini_chunks(sizes, size);
  const auto capacity = std::accumulate(packed.begin(), packed.end(), std::int64_t{0});
  const auto parameters = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
  return {{"chunk_elems", size},
          {"num_chunks", packed.size()},
          {"capacity_elems", capacity},
          {"param_elems", parameters},
          {"waste_elems", capacity - parameters}};
}

json::object parts(const json::object& question) {
  const LlmemInventory inventory = inventory_of(question);
  const LlmemBatch batch = batch_of(question);
  const std::int64_t cs = gemini_chunk_size(llmem_local_sizes(inventory, 1));
  const LlmemParts values = llmem_parts(inventory, cs, batch);
  json::object result{{"chunk_elems", cs},
                      {"m_p16", values.m_p16},
                      {"m_p32", values.m_p32},
                      {"m_p", values.m_p},
                      {"m_os", values.m_os},
                      {"m_out", values.m_out},
                      {"m_lm", values.m_lm},
                      {"m_back", llmem_back(inventory, batch, 1)},
                      {"m_back_tp2", llmem_back(inventory, batch, 2)},
                      {"m_back_tp4", llmem_back(inventory, batch, 4)}};
  const LlmemJob job{
      .m_base = static_cast<double>(kLlmemBase.count()), .n = kGpus, .tp_n = kTensorParallel};
  for (const LlmemMethod method : kLlmemMethods) {
    result[fmt::format("peak_{}_base1100MiB_4gpu", to_string(method))] =
        llmem_peak(method, inventory, cs, batch, job).bytes();
  }
  return result;
}

json::object code(const json::object& question) {
  const LlmemInventory inventory = inventory_of(question);
  const LlmemJob job{.m_base = 0, .n = input_count(question, "gpus"), .tp_n = 1};
  const LlmemCodeParts values =
      llmem_code_parts(inventory, llmem_code_chunks(inventory, job), batch_of(question), job);
  return {{"param_bytes", values.param_bytes()}, {"out_bytes", values.outputs},
          {"head_bytes", values.logits},         {"back_bytes", values.back},
          {"input_bytes", values.inputs},        {"chunk_bytes", values.chunk_bytes()}};
}

double error_percent(const json::object& question, std::string_view estimate) {
  const double truth = input_number(question, "ground_truth");
  return 100 * std::abs(input_number(question, estimate) - truth) / truth;
}

json::object errors(const json::object& question) {
  return {{"llmem_error_pct", error_percent(question, "llmem")},
          {"dnnmem_error_pct", error_percent(question, "dnnmem")}};
}

// The errors of one estimator in all rows of table 2 that name a model.
std::vector<double> all_errors(const json::array& all_cases, std::string_view estimate) {
  std::vector<double> values;
  for (const json::value& item : all_cases) {
    const json::object& other = item.as_object();
    const json::object& inputs = other.at("inputs").as_object();
    if (reference_id(other).starts_with("llmem.table2.") && inputs.contains(estimate)) {
      values.push_back(error_percent(other, estimate));
    }
  }
  return values;
}

/// @throws InputError where no row of table 2 is among the cases
std::vector<double> some_errors(const json::array& all_cases, std::string_view estimate) {
  std::vector<double> values = all_errors(all_cases, estimate);
  if (values.empty()) {
    throw InputError("the reference cases", "llmem.table2", "the table has no rows", "");
  }
  return values;
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// The method with the shortest measured time; none ran: what is left is offloading.
std::string fastest(const json::object& question) {
  const json::object& times = input_object(question, "times_s");
  std::string best = llmem_label(std::nullopt, {});
  double shortest = 0;
  for (const auto& [label, time] : times) {
    if (time.is_number() && (shortest == 0 || time.to_number<double>() < shortest)) {
      shortest = time.to_number<double>();
      best = label;
    }
  }
  return best;
}

json::object selection(const json::object& question) {
  const LlmemCluster cluster{.capacity = input_count(question, "capacity_MiB") * kMiB,
                             .n = input_count(question, "gpus"),
                             .tp_n = kTensorParallel};
  const LlmemJob job{
      .m_base = static_cast<double>(kLlmemBase.count()), .n = cluster.n, .tp_n = cluster.tp_n};
  const LlmemSelection selected = llmem_select(
      llmem_accounting(inventory_of(question), input_count(question, "seq"), job), cluster);
  return {{"selection", llmem_label(selected.printed, cluster)},
          {"fastest_measured", fastest(question)}};
}

// Quoted from the paper: batch sizes, graph and context are not given.
json::object quoted(const json::object& reference_case) {
  json::object result;
  for (const auto& [key, quantity] : reference_case.at("expected").as_object()) {
    result[key] = quantity.as_object().at("value");
  }
  return result;
}

struct Rule {
  std::string_view prefix;  ///< of the ids that it computes
  json::object (*compute)(const json::object& question);
};

constexpr std::array<Rule, 5> kRules{{{"llmem.chunks.", chunks},
                                      {"llmem.parts.", parts},
                                      {"llmem.code.", code},
                                      {"llmem.table2.", errors},
                                      {"llmem.table3.", selection}}};

}  // namespace

json::object recompute_llmem(const json::object& reference_case, const json::array& all_cases) {
  const std::string_view id = reference_id(reference_case);
  if (id == "llmem.table2.average_dnnmem_error") {
    return {{"pct", mean(some_errors(all_cases, "dnnmem"))}};
  }
  if (id == "llmem.table2.max_llmem_error") {
    return {{"pct", std::ranges::max(some_errors(all_cases, "llmem"))}};
  }
  if (id.starts_with("llmem.dnnmem_bert.")) {
    return quoted(reference_case);
  }
  const auto* const rule = std::ranges::find_if(
      kRules, [id](const Rule& candidate) { return id.starts_with(candidate.prefix); });
  if (rule == kRules.end()) {
    throw InputError("the reference cases", id, "unknown LLMem case",
                     "use the tables.json of this version");
  }
  return rule->compute(reference_case);
}

}  // namespace highwater
