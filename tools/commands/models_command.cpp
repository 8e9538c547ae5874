// highwater models: which models are known by name, and what one of them consists of.
#include <ostream>

#include <boost/json.hpp>
#include <boost/program_options/value_semantic.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/commands/commands.hpp"
#include "tools/text/metrics.hpp"
#include "tools/text/report.hpp"
#include "traces/error.hpp"
#include "workloads/plan/catalog/hf_config.hpp"
#include "workloads/plan/catalog/named_model.hpp"
#include "workloads/plan/catalog/presets.hpp"
#include "workloads/plan/model/other_model.hpp"
#include "workloads/plan/model/parameter_count.hpp"
#include "workloads/training/parameters.hpp"

namespace highwater {
namespace {

namespace po = boost::program_options;

std::uint64_t count(std::int64_t number) {
  return static_cast<std::uint64_t>(number);
}

MetricValue count(std::optional<std::int64_t> number) {
  return number ? MetricValue(count(*number)) : MetricValue();
}

MetricList describe_model(const ModelSpec& spec) {
  const ModelShape shape = shape_of(spec);
  const ParameterCount parameters = parameter_count(spec.config);
  MetricList list{spec.name, {}};
  list.add("name", "", spec.name);
  list.add("family", "family", std::string(family_name(spec)));
  list.add("layers", shape.decoder_layers > 0 ? "encoder layers" : "layers", count(shape.layers));
  if (shape.decoder_layers > 0) {
    list.add("decoder_layers", "decoder layers", count(shape.decoder_layers));
  }
  list.add("hidden", "hidden size", count(shape.hidden));
  list.add("heads", "heads", count(shape.heads));
  list.add("kv_heads", "key-value heads", count(shape.kv_heads));
  list.add("head_dim", "head size", count(shape.head_dim));
  list.add("ffn", shape.experts > 0 ? "MLP size of an expert" : "MLP size", count(shape.ffn));
  if (shape.experts > 0) {
    list.add("experts", "routed experts", count(shape.experts));
  }
  list.add("vocab", "vocabulary", count(shape.vocab));
  list.add("max_positions", "positions", count(shape.max_positions));
  list.add("tied", "tied head", shape.tied);
  list.add("parameters.total", "parameters", count(parameters.total()));
  list.add("parameters.embedding", "  embeddings", count(parameters.embedding));
  list.add("parameters.linear", "  projections", count(parameters.linear));
  list.add("parameters.norm", "  norms", count(parameters.norm));
  list.add("parameters.bias", "  biases", count(parameters.bias));
  if (parameters.buffer > 0) {
    list.add("parameters.buffer", "  not trained", count(parameters.buffer));
  }
  list.add("weights.fp32_bytes", "weights in fp32", Bytes{count(parameters.total())} * 4);
  list.add("weights.bf16_bytes", "weights in bf16", Bytes{count(parameters.total())} * 2);
  list.add("source", "source", spec.source);
  return list;
}

std::string layers_text(const ModelShape& shape) {
  return shape.decoder_layers > 0 ? fmt::format("{}+{}", shape.layers, shape.decoder_layers)
                                  : std::to_string(shape.layers);
}

/// What only PyTorch itself can run has no formula.
std::string parameters_text(const ModelSpec& spec) {
  return is_other(spec.config) ? "-" : std::to_string(parameter_count(spec.config).total());
}

std::string family_text(const ModelSpec& spec) {
  return is_other(spec.config) ? spec.config.as<OtherConfig>().model_type
                               : std::string(family_name(spec));
}

Table list_models() {
  using enum Align;
  const auto size = [](auto ModelShape::*member) {
    return [member](const ModelSpec& spec) { return shape_of(spec).*member; };
  };
  static const Columns<ModelSpec> kColumns{
      {"", "name", left, &ModelSpec::name},
      {"", "family", left, family_text},
      {"", "layers", right, [](const ModelSpec& spec) { return layers_text(shape_of(spec)); }},
      {"", "hidden", right, size(&ModelShape::hidden)},
      {"", "heads", right, size(&ModelShape::heads)},
      {"", "kv", right, size(&ModelShape::kv_heads)},
      {"", "ffn", right, size(&ModelShape::ffn)},
      {"", "vocab", right, size(&ModelShape::vocab)},
      {"", "parameters", right, parameters_text},
      {"", "tied", left, [](const ModelSpec& spec) { return shape_of(spec).tied ? "yes" : "no"; }},
      {"", "source", left, &ModelSpec::source}};
  return tabulate("", kColumns, model_presets());
}

boost::json::array models_json() {
  boost::json::array models;
  for (const ModelSpec& spec : model_presets()) {
    if (is_other(spec.config)) {  // has no formulas; the table has its sizes
      continue;
    }
    models.push_back(to_json(describe_model(spec)));
  }
  return models;
}

std::string list_report(OutputFormat format) {
  Report report(format, "highwater.models/1");
  report.table(list_models(), Gap::none);
  if (format == OutputFormat::table) {
    report.text(
        "\n'highwater models NAME' shows one; names in any case, hub ids and config.json files "
        "are accepted.\n");
  }
  report.csv(list_models);
  report.json("models", models_json);
  return report.str();
}

std::string shape_text(const std::vector<std::int64_t>& sizes) {
  return fmt::format("{}", fmt::join(sizes, " x "));
}

/// Text: "768 x 3072". JSON: the sizes.
Cell shape_cell(const ParameterInfo& parameter) {
  Cell cell = shape_text(parameter.sizes);
  cell.json = [sizes = parameter.sizes] { return boost::json::value_from(sizes); };
  return cell;
}

Table parameter_table(const std::vector<ParameterInfo>& parameters) {
  using enum Align;
  static const Columns<ParameterInfo> kColumns{
      {"name", "parameter", left, &ParameterInfo::name},
      {"shape", "shape", left, shape_cell},
      {"elements", "elements", right, &ParameterInfo::elements}};
  return tabulate("", kColumns, parameters);
}

std::string model_report(const MetricList& list, const std::vector<ParameterInfo>& parameters,
                         const std::vector<std::string>& defaults, OutputFormat format) {
  if (format == OutputFormat::json) {  // the schema stands behind the metrics
    boost::json::object root = to_json(list);
    root["schema"] = "highwater.model/1";
    root["family_defaults"] = words_json(defaults);
    root["parameter_tensors"] = rows_json(parameter_table(parameters));
    return boost::json::serialize(root) + "\n";
  }
  Report report(format, "");
  report.table(to_table(list));
  if (!defaults.empty()) {
    report.line(fmt::format("missing from the file; using the family's defaults: {}",
                            fmt::join(defaults, ", ")));
    report.line("");
  }
  report.table(parameter_table(parameters), Gap::none);
  report.csv([&] { return line_table(list); });
  return report.str();
}

}  // namespace

ExitCode run_models(const Arguments& arguments, std::ostream& out) {
  OptionParser parser(command("models"));
  parser.add_format();
  parser.positional("model", 1);
  const po::variables_map values = parser.parse(arguments);
  const OutputFormat format = output_format(values);
  if (values.contains("model")) {
    const ModelSpec spec = named_model(values["model"].as<Arguments>().front());
    if (is_other(spec.config)) {
      throw InputError(spec.source, "", why_not_covered(spec), "");
    }
    out << model_report(describe_model(spec), model_parameters(spec), spec.family_defaults, format);
  } else {
    out << list_report(format);
  }
  return ExitCode::ok;
}

}  // namespace highwater
