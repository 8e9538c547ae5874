// highwater models: which models are known by name, and what one of them consists of.
#include <ostream>

#include <boost/json.hpp>
#include <boost/program_options/value_semantic.hpp>
#include <fmt/format.h>

#include "tools/commands/commands.hpp"
#include "tools/text/metrics.hpp"
#include "traces/error.hpp"
#include "workloads/plan/catalog/named_model.hpp"
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

TextTable list_models() {
  TextTable table;
  table.columns = {"name", "family", "layers",     "hidden", "heads", "kv",
                   "ffn",  "vocab",  "parameters", "tied",   "source"};
  table.right_aligned = {false, false, true, true, true, true, true, true, true, false, false};
  for (const ModelSpec& spec : model_presets()) {
    const ModelShape shape = shape_of(spec);
    const std::string layers = shape.decoder_layers > 0
                                   ? fmt::format("{}+{}", shape.layers, shape.decoder_layers)
                                   : std::to_string(shape.layers);
    table.rows.push_back(
        {spec.name, std::string(family_name(spec)), layers, std::to_string(shape.hidden),
         std::to_string(shape.heads), std::to_string(shape.kv_heads), std::to_string(shape.ffn),
         std::to_string(shape.vocab), std::to_string(parameter_count(spec.config).total()),
         shape.tied ? "yes" : "no", spec.source});
  }
  return table;
}

boost::json::object list_json() {
  boost::json::object root{{"schema", "highwater.models/1"}};
  boost::json::array& models = root["models"].emplace_array();
  for (const ModelSpec& spec : model_presets()) {
    models.push_back(to_json(describe_model(spec)));
  }
  return root;
}

TextTable metric_rows(const MetricList& list) {
  TextTable table;
  table.columns = {"metric", "value"};
  for (const Metric& metric : list.metrics) {
    table.rows.push_back({metric.key, to_exact_text(metric.value)});
  }
  return table;
}

void write_list(OutputFormat format, std::ostream& out) {
  switch (format) {
    case OutputFormat::json:
      out << list_json() << "\n";
      return;
    case OutputFormat::csv:
      out << format_csv(list_models());
      return;
    case OutputFormat::markdown:
      out << format_markdown(list_models());
      return;
    case OutputFormat::table:
      out << format_aligned(list_models())
          << "\n'highwater models NAME' shows one; names in any case, hub ids and config.json "
             "files "
             "work, too.\n";
      return;
  }
}

std::string shape_text(const std::vector<std::int64_t>& sizes) {
  return fmt::format("{}", fmt::join(sizes, " x "));
}

TextTable parameter_table(const std::vector<ParameterInfo>& parameters) {
  TextTable table;
  table.columns = {"parameter", "shape", "elements"};
  table.right_aligned = {false, false, true};
  for (const ParameterInfo& parameter : parameters) {
    table.rows.push_back(
        {parameter.name, shape_text(parameter.sizes), std::to_string(parameter.elements)});
  }
  return table;
}

boost::json::array parameters_json(const std::vector<ParameterInfo>& parameters) {
  boost::json::array list;
  for (const ParameterInfo& parameter : parameters) {
    list.push_back({{"name", parameter.name},
                    {"shape", boost::json::value_from(parameter.sizes)},
                    {"elements", parameter.elements}});
  }
  return list;
}

void write_model(const MetricList& list, const std::vector<ParameterInfo>& parameters,
                 OutputFormat format, std::ostream& out) {
  switch (format) {
    case OutputFormat::json: {
      boost::json::object root = to_json(list);
      root["schema"] = "highwater.model/1";
      root["parameter_tensors"] = parameters_json(parameters);
      out << root << "\n";
      return;
    }
    case OutputFormat::csv:
      out << format_csv(metric_rows(list));
      return;
    case OutputFormat::markdown:
      out << format_markdown(to_table(list)) << "\n"
          << format_markdown(parameter_table(parameters));
      return;
    case OutputFormat::table:
      out << format_aligned(to_table(list)) << "\n" << format_aligned(parameter_table(parameters));
      return;
  }
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
    write_model(describe_model(spec), model_parameters(spec), format, out);
  } else {
    write_list(format, out);
  }
  return ExitCode::ok;
}

}  // namespace highwater
