#include "tools/options/solving/solve_options.hpp"

#include <algorithm>
#include <array>
#include <iterator>

#include <boost/program_options/value_semantic.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/options/memory_options.hpp"
#include "tools/options/output_option.hpp"
#include "tools/options/plan_options.hpp"
#include "tools/options/plan_source_option.hpp"
#include "tools/options/solving/margin_option.hpp"
#include "traces/parse_text.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater {
namespace {

namespace po = boost::program_options;

constexpr std::array<std::string_view, 3> kSolveOptions{"for", "frontier", "html"};

std::vector<std::string_view> field_names() {
  std::vector<std::string_view> names;
  for (const SolveField& field : solve_fields()) {
    names.push_back(field.name);
  }
  return names;
}

/// "seq:128"; absent with a complaint.
std::optional<WantedField> wanted_field(const std::string& text,
                                        std::vector<std::string>& problems) {
  const std::size_t colon = text.find(':');
  const SolveField* field = find_solve_field(text.substr(0, colon));
  if (field == nullptr) {
    problems.push_back(fmt::format("--for {}: no field to solve for; use one of {}", text,
                                   fmt::join(field_names(), ", ")));
    return std::nullopt;
  }
  if (colon == std::string::npos) {
    return WantedField{field, std::nullopt};
  }
  const auto step = parse_number<std::int64_t>(text.substr(colon + 1));
  if (!field->takes_step || !step || *step < 1) {
    problems.push_back(field->takes_step
                           ? fmt::format("--for {}: a step is a whole number from 1, as in {}:8",
                                         text, field->name)
                           : fmt::format("--for {0}: {1} has no step to choose; use --for {1}",
                                         text, field->name));
    return std::nullopt;
  }
  return WantedField{field, step};
}

std::vector<WantedField> wanted_fields(const po::variables_map& values,
                                       std::vector<std::string>& problems) {
  std::vector<WantedField> fields;
  if (!values.contains("for")) {
    return fields;
  }
  for (const std::string& text : values["for"].as<Arguments>()) {
    const auto wanted = wanted_field(text, problems);
    if (wanted && std::ranges::find(fields, wanted->field, &WantedField::field) != fields.end()) {
      problems.push_back(fmt::format("--for {}: named twice; each field is solved once", text));
    } else if (wanted) {
      fields.push_back(*wanted);
    }
  }
  return fields;
}

bool solves_for(const std::vector<WantedField>& fields, std::string_view name) {
  return std::ranges::any_of(fields,
                             [&](const WantedField& each) { return each.field->name == name; });
}

std::optional<FrontierAxes> frontier_axes(const po::variables_map& values,
                                          std::vector<std::string>& problems) {
  const auto text = text_option(values, "frontier");
  if (!text) {
    return values.contains("html") ? std::optional(FrontierAxes::checkpoint) : std::nullopt;
  }
  if (*text == "checkpoint") {
    return FrontierAxes::checkpoint;
  }
  if (*text != "checkpoint,batch") {
    problems.push_back(
        fmt::format("--frontier {}: unknown; use checkpoint, or checkpoint,batch", *text));
  }
  return FrontierAxes::checkpoint_and_batch;
}

/// What is looked for is not given.
void check_fields(const po::variables_map& values, const std::vector<WantedField>& fields,
                  std::vector<std::string>& problems) {
  for (const WantedField& each : fields) {
    const std::string option(each.field->option);
    if (values.contains(option)) {
      problems.push_back(fmt::format("--for {} looks for it; omit --{}", each.field->name, option));
    }
  }
}

/// Without a memory to fit in every value fits.
void check_memory(const SolveRequest& request, std::vector<std::string>& problems) {
  const bool has_memory =
      find_word(request.state.words, "gpu") != nullptr || request.state.memory.has_limit();
  const bool finds_memory =
      !request.fields.empty() && request.fields.front().field->name == "memory";
  if (!request.fields.empty() && !has_memory && !finds_memory) {
    problems.push_back(
        fmt::format("--for {} needs a memory limit; add --gpu, --capacity or "
                    "--memory-limit, or solve for memory first",
                    request.fields.front().field->name));
  }
  const bool is_limited = request.state.memory.memory_limit || request.state.memory.memory_fraction;
  if (is_limited && solves_for(request.fields, "memory")) {
    problems.emplace_back(
        "--for memory looks for the capacity; omit --memory-limit and --memory-fraction");
  }
  if (request.state.memory.memory_fraction && !request.state.memory.capacity &&
      find_word(request.state.words, "gpu") == nullptr) {
    problems.emplace_back(
        "--memory-fraction is a share of a device's memory; add --gpu or --capacity");
  }
}

/// Over all strategies `plan` chooses more than the number of GPUs.
void check_strategies(const SolveRequest& request, std::vector<std::string>& problems) {
  if (!solves_for(request.fields, "gpus") || names_strategy(request.state.words)) {
    return;
  }
  for (const char* chosen : {"batch", "grad-accum", "checkpoint"}) {
    if (find_word(request.state.words, chosen) != nullptr) {
      problems.push_back(
          fmt::format("--{}: over all strategies it is chosen with the number of GPUs; omit it, or "
                      "name a strategy (--dp-kind fsdp2)",
                      chosen));
    }
  }
  if (request.state.memory.memory_limit || request.state.memory.memory_fraction) {
    problems.emplace_back(
        "--memory-limit and --memory-fraction: over all strategies a GPU's whole memory is used; "
        "use --gpu or --capacity, or name a strategy (--dp-kind fsdp2)");
  }
}

/// The fields that the command line names are not the plan's file's to give.
std::vector<std::string> chosen_options(const Arguments& arguments) {
  std::vector<std::string> chosen;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    const std::string text = word.starts_with("--for=")                    ? word.substr(6)
                             : word == "--for" && i + 1 < arguments.size() ? arguments[i + 1]
                                                                           : "";
    if (const SolveField* field = find_solve_field(text.substr(0, text.find(':')))) {
      chosen.emplace_back(field->option);
    }
  }
  return chosen;
}

}  // namespace

void add_solve_options(OptionParser& parser, const Arguments& arguments) {
  const auto text = [](const char* name) { return po::value<std::string>()->value_name(name); };
  add_plan_options(parser);
  add_memory_options(parser, "what --gpu leaves to it, otherwise unlimited");
  parser.add()("for", po::value<Arguments>()->composing()->value_name("FIELD[:STEP]"),
               fmt::format("what to solve for, several in turn: {}", fmt::join(field_names(), ", "))
                   .c_str())("frontier", text("AXES"),
                             "peak memory against recomputation: checkpoint, or checkpoint,batch")(
      "margin", text("PERCENT"), "memory that an answer leaves free; default 0 %")(
      "html", output_value("FILE"), "write a page with a picture of the frontier to FILE");
  parser.choose("", chosen_options(arguments));
}

SolveQuestion read_solve_question(const po::variables_map& values) {
  SolveQuestion result;
  SolveRequest& request = result.request;
  std::vector<std::string> problems;
  if (const auto sentence = why_no_model(values)) {
    throw UsageErrors({*sentence});
  }
  request.fields = wanted_fields(values, problems);
  request.frontier = frontier_axes(values, problems);
  if (request.fields.empty() && !request.frontier && problems.empty()) {
    problems.push_back(fmt::format("nothing to solve for; add --for with one of {}, or --frontier",
                                   fmt::join(field_names(), ", ")));
  }
  check_fields(values, request.fields, problems);
  request.state.memory = read_memory_options(values, problems);
  request.state.margin = read_margin(values, 0, problems);
  request.state.words = given_plan_options(values);
  PlannedRun run = read_run(request.state.words, problems);
  request.state.model = run.plan.model;
  check_memory(request, problems);
  check_strategies(request, problems);
  result.model = text_option(values, "model").value_or("");
  result.html = output_option(values, "html");
  if (!problems.empty()) {
    throw UsageErrors(std::move(problems));
  }
  add_source_facts(values, run);
  result.notes = std::move(run.notes);
  return result;
}

bool asks_to_solve(const Arguments& arguments) {
  return std::ranges::any_of(arguments, [](const std::string& argument) {
    const std::string_view name = std::string_view(argument).substr(0, argument.find('='));
    return name.starts_with("--") &&
           std::ranges::find(kSolveOptions, name.substr(2)) != kSolveOptions.end();
  });
}

}  // namespace highwater
