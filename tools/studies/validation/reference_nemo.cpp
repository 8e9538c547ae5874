// The reference cases of NeMo's article on training memory.
#include <algorithm>
#include <array>
#include <limits>
#include <map>

#include <fmt/format.h>

#include "tools/studies/validation/reference_recompute.hpp"
#include "traces/error.hpp"
#include "workloads/estimates/forms/nemo.hpp"
#include "workloads/estimates/forms/zero_paper.hpp"
#include "workloads/plan/model/families/families.hpp"
#include "workloads/plan/model/parameter_count.hpp"

namespace highwater {
namespace {

namespace json = boost::json;

json::object parameters(const json::object& c) {
  GptNextConfig config;
  config.vocab_size = input_count(c, "vocab");
  config.hidden_size = input_count(c, "hidden");
  config.ffn_hidden_size = input_count(c, "ffn_hidden");
  config.num_layers = input_count(c, "layers");
  return {{"params", parameter_count(config).total()}};
}

NemoRun run_of(const json::object& c) {
  return {.seq = input_number(c, "seq"),
          .batch = input_number(c, "micro_batch"),
          .hidden = input_number(c, "hidden"),
          .layers = input_number(c, "layers"),
          .vocab = input_number(c, "vocab"),
          .tp = input_number(c, "tp"),
          .dp = input_number(c, "dp")};
}

json::object table_row(const json::object& c) {
  const NemoRun run = run_of(c);
  const double states =
      nemo_static(NemoVersion::table, input_number(c, "params"), run).bytes() / kGibi;
  const double activations = nemo_activations(NemoVersion::table, run).bytes() / kGibi;
  const double loss = nemo_cross_entropy(run).bytes() / kGibi;
  return {{"static", states},
          {"activation", activations},
          {"ce_overhead", loss},
          {"total", states + activations + loss}};
}

/// Between which numbers of parameters a model's must lie for all static figures of its rows.
struct Interval {
  double low = 0;
  double high = std::numeric_limits<double>::infinity();
};

/// The static figure that the article prints in this row of its table.
const json::object& printed_static(const json::object& row) {
  const json::value* const printed = row.at("expected").as_object().if_contains("static");
  if (printed == nullptr || !printed->at("value").is_number()) {
    throw InputError("", fmt::format("{}: expected.static", reference_id(row)), "expected a number",
                     "");
  }
  return printed->as_object();
}

Interval narrowed(Interval interval, const json::object& row) {
  const json::object& printed = printed_static(row);
  const double value = printed.at("value").to_number<double>();
  const double tolerance = printed.at("tolerance").to_number<double>();
  const double bytes_each = nemo_static(NemoVersion::table, 1, run_of(row)).bytes();
  return {std::max(interval.low, (value - tolerance) * kGibi / bytes_each),
          std::min(interval.high, (value + tolerance) * kGibi / bytes_each)};
}

json::object implied_parameters(const json::object& /*c*/, const json::array& all_cases) {
  std::map<std::string, Interval, std::less<>> intervals;
  for (const json::value& other : all_cases) {
    const json::object& row = other.as_object();
    if (reference_id(row).starts_with("nemo.table.")) {
      Interval& interval = intervals[std::string(input_text(row, "model"))];
      interval = narrowed(interval, row);
    }
  }
  json::object result;
  for (const auto& [model, interval] : intervals) {
    result[model + "_lo"] = interval.low;
    result[model + "_hi"] = interval.high;
  }
  return result;
}

json::object gpt2(const json::object& c) {
  const Estimate states = zero_paper(input_number(c, "params"), 1, ZeroStage::replicated);
  return {{"weights", states.terms.front().bytes / kGiga}, {"total", states.bytes() / kGiga}};
}

/// The case that lists the sizes of the model which the id of `c` ends with or has before ".t".
const json::object& model_of(const json::object& c, const json::array& all_cases) {
  constexpr std::string_view kParams = "nemo.params.";
  for (const json::value& other : all_cases) {
    const std::string_view id = reference_id(other.as_object());
    if (id.starts_with(kParams) &&
        reference_id(c).find("." + std::string(id.substr(kParams.size())) + ".") !=
            std::string_view::npos) {
      return other.as_object();
    }
  }
  throw InputError("", "id", "no case nemo.params.* lists the sizes of this model", "");
}

json::object bucket(const json::object& c, const json::array& all_cases) {
  const json::object& model = model_of(c, all_cases);
  const double layer =
      nemo_layer_parameters(input_number(model, "hidden"), input_number(model, "ffn_hidden"));
  return {{"bucket", nemo_bucket(layer, 1, input_number(c, "tp")) / kMega}};
}

json::object bucket_waste(const json::object& c, const json::array& all_cases) {
  const json::object& model = model_of(c, all_cases);
  const NemoRun run{.hidden = input_number(model, "hidden"),
                    .layers = input_number(model, "layers"),
                    .vocab = input_number(model, "vocab"),
                    .tp = input_number(c, "tp"),
                    .dp = input_number(c, "dp")};
  constexpr double kGradientBytes = 4;
  const double slots = input_number(c, "bucket_MB") * kMega / kGradientBytes;
  return {{"static_observed", nemo_bucketed_static(input_number(c, "params"), run, slots) / kGiga}};
}

constexpr std::array<RecomputeAloneEntry, 3> kAlone{{
    {"nemo.params.", parameters},
    {"nemo.table.", table_row},
    {"nemo.gpt2-", gpt2},
}};

constexpr std::array<RecomputeEntry, 3> kOfOthers{{
    {"nemo.implied_params", implied_parameters},
    {"nemo.bucket.waste.", bucket_waste},
    {"nemo.bucket.", bucket},
}};

}  // namespace

json::object recompute_nemo(const json::object& reference_case, const json::array& all_cases) {
  json::object alone = recompute_by_id(kAlone, reference_case);
  return alone.empty() ? recompute_by_id(kOfOthers, reference_case, all_cases) : alone;
}

}  // namespace highwater
